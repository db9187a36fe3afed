import { useEffect, useMemo, useRef, type ReactNode } from 'react'
import type { Run } from '@/api/types'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { bytes, count } from '@/lib/format'
import {
  addressOf,
  headOf,
  hitsOf,
  levelOf,
  MAX_LINES,
  type Hit,
  type LogLine,
  type LogState,
} from './buffer'
import { Hits } from './Hits'
import { LogTools } from './LogTools'
import { wantedOf, type LogSearch } from './search'
import { useHit } from './useHit'
import { useLog } from './useLog'
import classes from './log.module.css'

interface LogViewProps {
  run: Run
  search: LogSearch
  follow: boolean
  /** Changes what the address says. */
  go: (change: Partial<LogSearch>) => void
}

/** The lines. While it follows, the end stays in view; scrolling up stops the following. */
export function LogView({ run, search, follow, go }: LogViewProps) {
  const { log, readAgain } = useLog(run.id, wantedOf(search), follow)
  const box = useRef<HTMLDivElement>(null)
  const lastTop = useRef(0)
  const { lines } = log
  const hits = useMemo(() => hitsOf(lines, search.find ?? ''), [lines, search.find])
  const hit = useHit(hits, box)
  const target = useMemo(
    () => search.at && lines.find(({ text }) => addressOf(text) === search.at)?.number,
    [lines, search.at],
  )

  useEffect(() => {
    if (follow && box.current) box.current.scrollTop = box.current.scrollHeight
  }, [follow, lines])
  useEffect(() => {
    if (target) box.current?.querySelector('[data-target]')?.scrollIntoView({ block: 'center' })
  }, [target])

  const onScroll = () => {
    const element = box.current
    if (!element) return
    if (follow && element.scrollTop < lastTop.current - 4) go({ follow: false })
    lastTop.current = element.scrollTop
  }
  const linkToHit = () => {
    const index = lines.findIndex(({ number }) => number === hit.current?.line)
    const head = headOf(lines, index)
    if (head) go({ at: addressOf(head.text) ?? undefined, follow: undefined })
  }
  return (
    <>
      <LogTools search={search} components={log.components} go={go}>
        {search.find && <Hits hit={hit} count={hits.length} onLink={linkToHit} />}
      </LogTools>
      <Body log={log} title={search.at ? 'The line is not there' : 'There is no log'} onRetry={readAgain}>
        <div
          ref={box}
          className={classes.box}
          data-wrap={search.wrap}
          role="group"
          aria-label={`Log of run ${run.number}`}
          tabIndex={0}
          onScroll={onScroll}
        >
          <Lines
            run={run}
            lines={lines}
            hits={hits}
            find={search.find ?? ''}
            current={hit.current}
            target={target || null}
          />
          {log.rest && <div className={classes.line}>{log.rest}</div>}
          {lines.length === 0 && !log.rest && <Empty title={nothing(search)} />}
        </div>
        <p className={classes.foot}>{footOf(log, search)}</p>
      </Body>
    </>
  )
}

interface BodyProps {
  log: LogState
  title: string
  onRetry: () => void
  children: ReactNode
}

/** The lines, or why there are none. */
function Body({ log, title, onRetry, children }: BodyProps) {
  if (log.error && !log.loaded) return <ErrorNote error={log.error} onRetry={onRetry} />
  if (!log.loaded) return <Loading rows={8} />
  if (log.missing) return <Empty title={title}>{log.missing}</Empty>
  return (
    <>
      {log.error && <ErrorNote error={log.error} onRetry={onRetry} />}
      {children}
    </>
  )
}

interface LinesProps {
  run: Run
  lines: LogLine[]
  hits: Hit[]
  find: string
  current: Hit | null
  target: number | null
}

function Lines({ run, lines, hits, find, current, target }: LinesProps) {
  const byLine = useMemo(() => grouped(hits), [hits])
  return lines.map(({ number, text }) => {
    const address = addressOf(text)
    return (
      <div
        key={number}
        className={classes.line}
        data-level={levelOf(text)}
        data-target={number === target || undefined}
      >
        {address && (
          <a
            className={classes.link}
            href={`?run=${run.id}&at=${encodeURIComponent(address)}`}
            tabIndex={-1}
            aria-label="Link to this line"
          >
            #
          </a>
        )}
        <Marked text={text} hits={byLine.get(number)} length={find.length} current={current} />
      </div>
    )
  })
}

function grouped(hits: Hit[]): Map<number, Hit[]> {
  const found = new Map<number, Hit[]>()
  for (const hit of hits) {
    const line = found.get(hit.line)
    if (line) line.push(hit)
    else found.set(hit.line, [hit])
  }
  return found
}

/** A line with what was searched for marked in it. */
function Marked({
  text,
  hits,
  length,
  current,
}: {
  text: string
  hits?: Hit[]
  length: number
  current: Hit | null
}) {
  if (!hits) return text || ' '
  const parts = hits.map((hit, index) => (
    <span key={hit.start}>
      {text.slice(index === 0 ? 0 : hits[index - 1]!.start + length, hit.start)}
      <mark data-current={hit === current || undefined}>{text.slice(hit.start, hit.start + length)}</mark>
    </span>
  ))
  return (
    <>
      {parts}
      {text.slice(hits.at(-1)!.start + length)}
    </>
  )
}

/** Why no line is shown. */
function nothing({ find, only, level, component, since }: LogSearch): string {
  if (!(only && find) && !level && !component && !since) return 'The log is empty'
  return 'No line matches the filters'
}

function footOf(log: LogState, search: LogSearch): string {
  const shown = `${count(log.lines.length)} lines shown of a log of ${bytes(log.total)}`
  const searched =
    log.searched < log.total && !search.at ? `. Its last ${bytes(log.searched)} were searched` : ''
  const dropped = log.dropped ? `. The page keeps the last ${count(MAX_LINES)} lines` : ''
  return `${shown}${searched}${dropped}.`
}
