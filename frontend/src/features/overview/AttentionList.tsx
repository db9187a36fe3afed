import { Link } from '@tanstack/react-router'
import { IconArrowRight } from '@tabler/icons-react'
import { useState } from 'react'
import type { Pipeline } from '@/api/types'
import { Ago } from '@/components/ui/Time'
import { Panel } from '@/components/ui/Panel'
import { PhaseBadge } from '@/components/ui/PhaseBadge'
import { plural } from '@/lib/format'
import { needingAttention, whyAttention } from './attention'
import classes from './attention.module.css'

const FIRST = 5

/** What requires action, before anything else; nothing at all when nothing does. */
export function AttentionList({ pipelines }: { pipelines: Pipeline[] }) {
  const [all, setAll] = useState(false)
  const urgent = needingAttention(pipelines)
  if (urgent.length === 0) return null
  const shown = all ? urgent : urgent.slice(0, FIRST)
  const hidden = urgent.length - FIRST
  return (
    <Panel title="Action required" note={plural(urgent.length, 'pipeline')} flush>
      <ul className={classes.list}>
        {shown.map((pipeline) => (
          <li key={pipeline.name} className={classes.item}>
            <span className={classes.phase}>
              <PhaseBadge phase={pipeline.phase} />
            </span>
            <div className={classes.words}>
              <Link to="/pipelines/$name" params={{ name: pipeline.name }} className={classes.name}>
                {pipeline.name}
              </Link>
              <span className={classes.reason}>{whyAttention(pipeline)}</span>
            </div>
            <span className={classes.since}>
              <Ago at={pipeline.phase_since} />
            </span>
            <Link
              to="/pipelines/$name"
              params={{ name: pipeline.name }}
              className={classes.open}
              aria-label={`Open ${pipeline.name}`}
            >
              Open
              <IconArrowRight size={14} aria-hidden />
            </Link>
          </li>
        ))}
      </ul>
      {hidden > 0 && (
        <button type="button" className={classes.more} aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? 'Show fewer' : `Show ${hidden} more`}
        </button>
      )}
    </Panel>
  )
}
