import { ActionIcon, Menu } from '@mantine/core'
import { IconDots } from '@tabler/icons-react'
import { useState } from 'react'
import type { OperationKind, Pipeline } from '@/api/types'
import { refusal } from '@/components/actions/allowed'
import { ACTION_ICONS } from '@/components/actions/icons'
import { StopDialog } from '@/components/actions/StopDialog'
import { useAction } from '@/components/actions/useAction'
import { ACTION_KINDS, ACTION_WORDS } from '@/components/actions/words'
import { ReasonItem } from '@/components/ui/ReasonItem'

/** The actions of one row. What may not be done now is listed with the reason. */
export function RowActions({ pipeline }: { pipeline: Pipeline }) {
  const action = useAction(pipeline.name)
  const [stopping, setStopping] = useState(false)
  const ask = (kind: OperationKind) => (kind === 'stop' ? setStopping(true) : action.mutate({ kind }))
  return (
    <>
      <Menu position="bottom-end" width={240}>
        <Menu.Target>
          <ActionIcon
            variant="subtle"
            color="gray"
            size={28}
            loading={action.isPending}
            aria-label={`Actions for ${pipeline.name}`}
          >
            <IconDots size={16} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {ACTION_KINDS.map((kind) => (
            <ReasonItem
              key={kind}
              icon={ACTION_ICONS[kind]}
              label={ACTION_WORDS[kind].verb}
              reason={refusal(pipeline, kind)}
              onClick={() => ask(kind)}
            />
          ))}
        </Menu.Dropdown>
      </Menu>
      {stopping && (
        <StopDialog
          name={pipeline.name}
          onClose={() => setStopping(false)}
          onConfirm={(drain) => {
            setStopping(false)
            action.mutate({ kind: 'stop', drain })
          }}
        />
      )}
    </>
  )
}
