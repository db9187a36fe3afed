import { useEffect, useMemo, useRef } from 'react'
import type { Run } from '@/api/types'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { bytes, count } from '@/lib/format'
import { isAtLeast, levelOf, MAX_LINES, type LogLevel } from './buffer'
import { useLog } from './useLog'
import classes from './log.module.css'

interface LogViewProps {
  run: Run
  follow: boolean
  find: string
  level: LogLevel | null
  onScrollAway: () => void
}

/** The lines. While it follows, the end stays in view; scrolling up stops the following. */
export function LogView({ run, follow, find, level, onScrollAway }: LogViewProps) {
  const log = useLog(run.id, follow)
  const box = useRef<HTMLDivElement>(null)
  const lastTop = useRef(0)
  const shown = useMemo(() => {
    const wanted = find.toLowerCase()
    return log.lines.filter((line) => isAtLeast(line, level) && line.text.toLowerCase().includes(wanted))
  }, [log.lines, find, level])

  useEffect(() => {
    if (follow && box.current) box.current.scrollTop = box.current.scrollHeight
  }, [follow, shown])

  const onScroll = () => {
    const element = box.current
    if (!element) return
    if (follow && element.scrollTop < lastTop.current - 4) onScrollAway()
    lastTop.current = element.scrollTop
  }
  if (log.error && !log.loaded) return <ErrorNote error={log.error} />
  if (!log.loaded) return <Loading rows={8} />
  if (log.missing) return <Empty title="There is no log">{log.missing}</Empty>
  return (
    <>
      {log.error && <ErrorNote error={log.error} />}
      <div
        ref={box}
        className={classes.box}
        role="group"
        aria-label={`Log of run ${run.number}`}
        tabIndex={0}
        onScroll={onScroll}
      >
        {shown.map(({ number, text }) => (
          <div key={number} className={classes.line} data-level={levelOf(text)}>
            {text || ' '}
          </div>
        ))}
        {log.rest && <div className={classes.line}>{log.rest}</div>}
        {shown.length === 0 && !log.rest && <Empty title={nothing(log.lines.length, find, level)} />}
      </div>
      <p className={classes.foot}>
        {count(shown.length)} lines shown of a log of {bytes(log.size)}
        {log.dropped && `. The page keeps the last ${count(MAX_LINES)} lines. The download has all lines.`}
      </p>
    </>
  )
}

/** Why no line is shown. */
function nothing(lines: number, find: string, level: LogLevel | null): string {
  if (lines === 0) return 'The log is empty'
  if (find) return level === null ? 'No line matches' : `No line at ${level} or above matches`
  return `No line at ${level} or above`
}
