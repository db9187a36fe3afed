import { useElementSize } from '@mantine/hooks'
import { memo, useMemo, type KeyboardEvent } from 'react'
import { count } from '@/lib/format'
import { graphOf } from './graph'
import { drawn, type Box, type Ribbon } from './layout'
import { flowWords, keyOf, OUTCOMES, sharesOf, shareWords, type Way } from './ways'
import classes from './flow.module.css'

interface GraphProps {
  ways: Way[]
  selected: string | undefined
  onSelect: (key: string) => void
}

/** The least that is seen of a ribbon, and the least that a pointer hits. */
const THINNEST = 1.5
const TARGET = 24
const CHARACTER = 6.4

/** Records from the left, where they were read, to the right, what became of them. Every ribbon is a button. */
export const FlowGraph = memo(function FlowGraph({ ways, selected, onSelect }: GraphProps) {
  const { ref, width: given } = useElementSize()
  const { width, height, boxes, ribbons } = useMemo(() => drawn(graphOf(ways), given), [ways, given])
  const share = useMemo(() => sharesOf(ways), [ways])
  const thin = ribbons.some(({ parts }) => parts.some((part) => part.width < THINNEST))
  return (
    <div className={classes.graph}>
      <div ref={ref} />
      <svg
        role="group"
        aria-label="Records from where they were read to what became of them"
        width={width}
        height={height}
      >
        {ribbons.map((ribbon) => (
          <Flow
            key={keyOf(ribbon.way)}
            ribbon={ribbon}
            words={flowWords(ribbon.way, share(ribbon.way))}
            selected={keyOf(ribbon.way) === selected}
            onSelect={onSelect}
          />
        ))}
        {boxes.map((box) => (
          <PlaceBox key={box.id} box={box} all={boxes} />
        ))}
      </svg>
      {thin && (
        <p className={classes.note}>The thinnest lines are wider than their share. The numbers are exact.</p>
      )}
    </div>
  )
})

interface FlowProps {
  ribbon: Ribbon
  words: string
  selected: boolean
  onSelect: (key: string) => void
}

function Flow({ ribbon: { way, parts }, words, selected, onSelect }: FlowProps) {
  const select = () => onSelect(keyOf(way))
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' && event.key !== ' ') return
    event.preventDefault()
    select()
  }
  return (
    <g
      role="button"
      tabIndex={0}
      aria-label={words}
      aria-haspopup="dialog"
      className={classes.ribbon}
      data-tone={OUTCOMES[way.outcome].tone}
      data-selected={selected || undefined}
      onClick={select}
      onKeyDown={onKeyDown}
    >
      <title>{words}</title>
      {parts.map(({ d, width }) => (
        <path key={`target ${d}`} d={d} className={classes.target} strokeWidth={Math.max(TARGET, width)} />
      ))}
      {parts.map(({ d, width }) => (
        <path key={d} d={d} strokeWidth={Math.max(THINNEST, width)} />
      ))}
    </g>
  )
}

/** A bar with its name and number; the ribbons say both to screen readers. */
function PlaceBox({ box, all }: { box: Box; all: Box[] }) {
  const { x, y, width, height, words, outcome, records, column, room } = box
  const whole = all.reduce((sum, each) => sum + (each.column === column ? each.records : 0), 0)
  const left = x + width + 6
  const middle = y + height / 2
  return (
    <g aria-hidden className={classes.place} data-tone={outcome ? OUTCOMES[outcome].tone : undefined}>
      <rect x={x} y={y} width={width} height={Math.max(2, height)} rx={2} />
      <text x={left} y={middle - 3} className={classes.words}>
        {shortened(words, room)}
      </text>
      <text x={left} y={middle + 12}>
        {count(records)} ({shareWords(records / whole)})
      </text>
    </g>
  )
}

function shortened(words: string, room: number): string {
  const most = Math.floor(room / CHARACTER)
  return words.length <= most ? words : `${words.slice(0, most - 1)}…`
}
