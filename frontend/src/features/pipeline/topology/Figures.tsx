import { IconAlertTriangle, IconCircleCheck, IconCircleX, IconLoader2, type Icon } from '@tabler/icons-react'
import type { TopologyNode } from '@/api/types'
import { ToneBadge } from '@/components/ui/ToneBadge'
import type { Tone } from '@/domain/phases'
import { rate } from '@/lib/format'
import { taken, type NodeState } from './nodes'
import classes from './topology.module.css'

const KINDS: Record<TopologyNode['kind'], string> = {
  source: 'source',
  interceptor: 'interceptor',
  selector: 'selector',
  channel: 'channel',
  sink_group: 'sink group',
  sink: 'sink',
}
const ICONS: Partial<Record<Tone, Icon>> = { bad: IconCircleX, warn: IconAlertTriangle, busy: IconLoader2 }
const percent = new Intl.NumberFormat('en-US', { style: 'percent', maximumFractionDigits: 1 })

/** What it is called: an interceptor and a selector have no name but their type. */
export function titleOf({ kind, type, name }: TopologyNode): string {
  return kind === 'interceptor' || kind === 'selector' ? type : name
}

/** What it is: "kafka source", "interceptors[1]". */
export function kindOf({ kind, type, name }: TopologyNode): string {
  if (kind === 'interceptor') return name
  return kind === 'selector' ? KINDS[kind] : `${type} ${KINDS[kind]}`
}

export function State({ state }: { state: NodeState }) {
  return (
    <ToneBadge tone={state.tone} icon={ICONS[state.tone] ?? IconCircleCheck} plain>
      {state.word}
    </ToneBadge>
  )
}

/** What it receives each second, and what it takes out of that. */
export function Figures({ node, seconds }: { node: TopologyNode; seconds: number }) {
  return (
    <span className={classes.figures}>
      <span>
        {node.kind === 'source' ? 'reads' : 'receives'} {rate(node.received / seconds)}/s
      </span>
      {taken(node).map(({ word, records, share }) => (
        <span key={word} data-taken={word !== 'added' || undefined}>
          {word} {rate(records / seconds)}/s{share !== null && ` (${percent.format(share)})`}
        </span>
      ))}
      {node.kind === 'sink' && <span>delivers {rate(node.passed / seconds)}/s</span>}
    </span>
  )
}
