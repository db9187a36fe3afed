import { ActionIcon, Tooltip } from '@mantine/core'
import { IconCode } from '@tabler/icons-react'
import { useState } from 'react'
import type { ActionKind, Pipeline } from '@/api/types'
import { useGovernedDialog } from '@/components/governance/useGovernedDialog'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { refusal } from './allowed'
import { CallsDialog } from './CallsDialog'
import { EndDialog } from './EndDialog'
import { ACTION_ICONS } from './icons'
import { useAction } from './useAction'
import { ACTION_KINDS, verbOf } from './words'

/** Every life-cycle action of a pipeline; the one that fits best is filled, one that may not be taken says why. */
export function ActionButtons({ pipeline }: { pipeline: Pipeline }) {
  const governed = useGovernedDialog(pipeline.name)
  const action = useAction(pipeline.name, governed.ask)
  const [dialog, setDialog] = useState<'stop' | 'restart' | 'calls' | null>(null)
  const main = mainAction(pipeline)
  const ask = (kind: ActionKind) =>
    kind === 'stop' || kind === 'restart' ? setDialog(kind) : action.mutate({ kind })
  return (
    <>
      {ACTION_KINDS.map((kind) => {
        const Shape = ACTION_ICONS[kind]
        return (
          <ReasonButton
            key={kind}
            variant={kind === main ? 'filled' : 'default'}
            leftSection={<Shape size={14} aria-hidden />}
            reason={refusal(pipeline, kind)}
            loading={action.isPending && action.variables.kind === kind}
            onClick={() => ask(kind)}
          >
            {verbOf(kind, pipeline.phase)}
          </ReasonButton>
        )
      })}
      <Tooltip label="Show API call: curl and CLI command">
        <ActionIcon variant="default" size={30} aria-label="Show API call" onClick={() => setDialog('calls')}>
          <IconCode size={15} aria-hidden />
        </ActionIcon>
      </Tooltip>
      {governed.dialog}
      {dialog === 'calls' && (
        <CallsDialog name={pipeline.name} first={main ?? 'start'} onClose={() => setDialog(null)} />
      )}
      {(dialog === 'stop' || dialog === 'restart') && (
        <EndDialog
          name={pipeline.name}
          kind={dialog}
          onClose={() => setDialog(null)}
          onConfirm={(body) => {
            setDialog(null)
            action.mutate({ kind: dialog, body })
          }}
        />
      )}
    </>
  )
}

/** The action a user most likely came for. */
export function mainAction(pipeline: Pipeline): ActionKind | undefined {
  return (['resume', 'start', 'pause'] as const).find((kind) => refusal(pipeline, kind) === null)
}
