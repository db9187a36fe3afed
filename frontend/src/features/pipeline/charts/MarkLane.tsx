import { Popover, UnstyledButton } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { useMemo } from 'react'
import { Moment, useClockTime } from '@/components/ui/Time'
import { plural } from '@/lib/format'
import { clusters, toneOf, wordsOf, type Cluster, type Mark } from './marks'
import { AXIS_PX, RIGHT_PX } from './TimeChart'
import type { Span } from './range'
import classes from './charts.module.css'

const BUTTON_PX = 26

/** What happened, in one lane above the charts. Events that lie close together share a button, which lists them. */
export function MarkLane({ marks, span, leftOut }: { marks: Mark[]; span: Span; leftOut: boolean }) {
  const { ref: lane, width } = useElementSize()
  const found = useMemo(() => clusters(marks, span, width, BUTTON_PX), [marks, span, width])
  return (
    <div className={classes.laneRow}>
      <span className={classes.laneName} style={{ width: AXIS_PX }}>
        Events
      </span>
      <div ref={lane} className={classes.lane} style={{ marginRight: RIGHT_PX }}>
        {width > 0 && found.map((cluster) => <Marker key={cluster.marks[0]!.id} cluster={cluster} />)}
        {marks.length === 0 && <span className={classes.laneNone}>None in this range</span>}
      </div>
      {leftOut && <span className={classes.laneNote}>The newest {marks.length}; there are older ones.</span>}
    </div>
  )
}

function Marker({ cluster: { place, marks } }: { cluster: Cluster }) {
  const clock = useClockTime()
  const [first] = marks
  const words = marks.length === 1 ? wordsOf(first!) : plural(marks.length, 'event')
  return (
    <Popover position="bottom" withArrow withinPortal shadow="md">
      <Popover.Target>
        <UnstyledButton
          className={classes.marker}
          style={{ left: `${place * 100}%`, width: BUTTON_PX - 2, height: BUTTON_PX - 2 }}
          data-tone={toneOf(marks)}
          aria-label={`${words} at ${clock(first!.at)}`}
          title={words}
        >
          {marks.length === 1 ? <span className={classes.dot} /> : marks.length}
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown className={classes.events}>
        <ul aria-label="Events">
          {marks.map((mark) => (
            <li key={mark.id}>
              <Moment at={mark.at} /> <strong>{wordsOf(mark)}</strong>
              <div className={classes.message}>{mark.message}</div>
            </li>
          ))}
        </ul>
      </Popover.Dropdown>
    </Popover>
  )
}
