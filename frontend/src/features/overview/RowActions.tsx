import { Menu } from '@mantine/core'
import { IconDots } from '@tabler/icons-react'
import { useRef, useState } from 'react'
import type { ActionKind, Pipeline } from '@/api/types'
import { refusal } from '@/components/actions/allowed'
import { EndDialog } from '@/components/actions/EndDialog'
import { ForceStopDialog } from '@/components/actions/ForceStopDialog'
import { ACTION_ICONS } from '@/components/actions/icons'
import { useAction } from '@/components/actions/useAction'
import { ACTION_KINDS, ACTION_WORDS } from '@/components/actions/words'
import { useGovernedDialog } from '@/components/governance/useGovernedDialog'
import { ReasonItem } from '@/components/ui/ReasonItem'
import classes from './table.module.css'

/** Actions that are asked about first. */
const ASKED: ActionKind[] = ['stop', 'restart', 'force-stop']

/**
 * The actions of one row. What may not be done now is listed with the reason. The menu is made only when it is opened:
 * one in every row would make scrolling heavy.
 */
export function RowActions({ pipeline }: { pipeline: Pipeline }) {
  const governed = useGovernedDialog(pipeline.name)
  const action = useAction(pipeline.name, governed.ask)
  const button = useRef<HTMLButtonElement>(null)
  const [open, setOpen] = useState(false)
  const [asking, setAsking] = useState<ActionKind | null>(null)
  const ask = (kind: ActionKind) => (ASKED.includes(kind) ? setAsking(kind) : action.mutate({ kind }))
  const close = () => {
    setOpen(false)
    requestAnimationFrame(() => button.current?.focus())
  }
  const dots = (
    <button
      ref={button}
      type="button"
      className={classes.dots}
      aria-label={`Actions for ${pipeline.name}`}
      aria-haspopup="menu"
      aria-expanded={open}
      aria-busy={action.isPending}
      onClick={() => setOpen(true)}
    >
      <IconDots size={16} aria-hidden />
    </button>
  )
  return (
    <>
      {open ? (
        <Menu opened onClose={close} position="bottom-end" width={250} returnFocus={false}>
          <Menu.Target>{dots}</Menu.Target>
          <Menu.Dropdown>
            {[...ACTION_KINDS, 'force-stop' as const].map((kind) => (
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
      ) : (
        dots
      )}
      {governed.dialog}
      {asking === 'force-stop' && <ForceStopDialog pipeline={pipeline} onClose={() => setAsking(null)} />}
      {(asking === 'stop' || asking === 'restart') && (
        <EndDialog
          name={pipeline.name}
          kind={asking}
          onClose={() => setAsking(null)}
          onConfirm={(body) => {
            setAsking(null)
            action.mutate({ kind: asking, body })
          }}
        />
      )}
    </>
  )
}
