import { IconCircleCheck, IconPlayerPlay, IconPlugConnectedX } from '@tabler/icons-react'
import type { FailedSink, SinkGroup as Group } from '@/api/types'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { useNow } from '@/lib/clock'
import { plural } from '@/lib/format'
import { activeWords, nextAttempt } from '../sinkGroups'
import classes from './live.module.css'

/** Which sinks of a group may take batches, which have failed, why, and when they are tried again. */
export function SinkGroup({ group }: { group: Group }) {
  return (
    <div role="group" aria-label={`Sink group ${group.name}`} className={classes.group}>
      <span className={classes.groupName}>
        {group.name} <span className={classes.processor}>{group.processor.replaceAll('_', ' ')}</span>
      </span>
      <ul aria-label="Live sinks" className={classes.pool}>
        {group.live.map((sink) => (
          <li key={sink}>
            <LiveSink sink={sink} active={sink === group.active} processor={group.processor} />
          </li>
        ))}
        {group.live.length === 0 && <li className={classes.none}>No sink is live. The batch is held.</li>}
      </ul>
      {group.failed.length > 0 && (
        <ul aria-label="Failed sinks" className={classes.pool}>
          {group.failed.map((failed) => (
            <Failed key={failed.sink} failed={failed} />
          ))}
        </ul>
      )}
    </div>
  )
}

function LiveSink({ sink, active, processor }: { sink: string; active: boolean; processor: string }) {
  return active ? (
    <ToneBadge tone="ok" icon={IconPlayerPlay}>
      {sink}: {activeWords(processor)}
    </ToneBadge>
  ) : (
    <ToneBadge tone="idle" icon={IconCircleCheck}>
      {sink}: live
    </ToneBadge>
  )
}

function Failed({ failed }: { failed: FailedSink }) {
  const again = nextAttempt(failed.until, useNow())
  return (
    <li>
      <ToneBadge tone="bad" icon={IconPlugConnectedX}>
        {failed.sink}: failed {plural(failed.failures, 'time')} in a row
      </ToneBadge>{' '}
      <span className={classes.again}>{again}.</span> <span className={classes.cause}>{failed.cause}</span>
    </li>
  )
}
