import { Link } from '@tanstack/react-router'
import type { Run } from '@/api/types'
import { Moment } from '@/components/ui/Time'
import { useNow } from '@/lib/clock'
import { Cause, Outcome } from './Outcome'
import { spansOf, spanWords, type Span } from './spans'
import classes from './runs.module.css'

const TICKS = [0, 0.25, 0.5, 0.75, 1]

/** The runs as bars on one axis of time, newest first: how long each phase took, and why the run ended. */
export function RunBars({ name, runs }: { name: string; runs: Run[] }) {
  const now = useNow()
  const bars = runs.map((run) => ({ run, spans: spansOf(run, now) }))
  const all = bars.flatMap(({ spans }) => spans)
  if (all.length === 0) return null
  const from = Math.min(...all.map((span) => span.from))
  const length = Math.max(...all.map((span) => span.to)) - from
  const share = (moment: number) => (moment - from) / length
  return (
    <div className={classes.chart}>
      <ul className={classes.bars} aria-label="Runs over time">
        {bars.map(({ run, spans }) => (
          <li key={run.id} className={classes.run}>
            <Link
              to="/pipelines/$name/log"
              params={{ name }}
              search={{ run: run.id }}
              className={classes.number}
            >
              Run {run.number}
            </Link>
            <Bar spans={spans} share={share} />
            <div className={classes.words}>
              <Outcome run={run} /> <span>{spanWords(spans)}</span>
              {run.ended_at && (
                <div>
                  <Cause run={run} />
                </div>
              )}
            </div>
          </li>
        ))}
      </ul>
      <div className={classes.axis} aria-hidden>
        {TICKS.map((tick) => (
          <span key={tick} style={{ left: `${100 * tick}%` }}>
            <Moment at={new Date(from + tick * length).toISOString()} />
          </span>
        ))}
      </div>
    </div>
  )
}

/** What it shows is said beside it. */
function Bar({ spans, share }: { spans: Span[]; share: (moment: number) => number }) {
  return (
    <div className={classes.track} aria-hidden>
      {spans.map(({ kind, from, to }) => (
        <div
          key={kind}
          className={classes.span}
          data-kind={kind}
          title={spanWords([{ kind, from, to }])}
          style={{ left: `${100 * share(from)}%`, width: `${100 * (share(to) - share(from))}%` }}
        />
      ))}
    </div>
  )
}
