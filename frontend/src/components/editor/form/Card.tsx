import { ActionIcon, Tooltip } from '@mantine/core'
import { IconArrowDown, IconArrowUp, IconChevronRight, IconTrash } from '@tabler/icons-react'
import { useEffect, useId, useState, type ReactNode } from 'react'
import { plural } from '@/lib/format'
import { startsWith, writePath, type Path } from '../text/paths'
import { fieldId, useFindings, useForm } from './context'
import classes from './form.module.css'

interface CardProps {
  path: Path
  title: string
  /** What it is, beside its title. */
  note?: string
  initiallyOpen?: boolean
  actions?: ReactNode
  children: ReactNode
}

/** A part of the form that can be closed; it opens for what a user wants to see in it. */
export function Card({ path, title, note, initiallyOpen = false, actions, children }: CardProps) {
  const { revealed } = useForm()
  const [open, setOpen] = useState(initiallyOpen)
  const id = useId()
  const findings = useFindings(path, 'below')
  useEffect(() => {
    if (revealed && startsWith(revealed.path, path)) setOpen(true)
    // oxlint-disable-next-line react/exhaustive-deps -- a path is another array each time
  }, [revealed])
  return (
    <div className={classes.card} role="group" aria-labelledby={`${id}-title`}>
      <div className={classes.cardHead}>
        <button
          type="button"
          id={fieldId(writePath(path))}
          className={classes.toggle}
          aria-expanded={open}
          aria-controls={id}
          onClick={() => setOpen(!open)}
        >
          <IconChevronRight size={14} className={classes.chevron} data-open={open || undefined} aria-hidden />
          <span id={`${id}-title`} className={classes.cardTitle}>
            {title}
          </span>{' '}
          {note && <span className={classes.cardNote}>{note}</span>}{' '}
          {findings.length > 0 && (
            <span
              className={classes.count}
              data-tone={findings.some(({ severity }) => severity === 'error') ? 'bad' : 'warn'}
            >
              {plural(findings.length, 'finding')}
            </span>
          )}
        </button>
        {actions}
      </div>
      <div id={id} className={classes.cardBody} hidden={!open}>
        {open && children}
      </div>
    </div>
  )
}

interface EntryActionsProps {
  name: string
  parent: Path
  index: number
  count: number
  onRemove: () => void
}

/** Moves an entry up and down among the others, and removes it. */
export function EntryActions({ name, parent, index, count, onRemove }: EntryActionsProps) {
  const { edit, readOnly } = useForm()
  const exchange = (first: number) => edit([{ kind: 'exchange', path: parent, index: first }])
  return (
    <div className={classes.entryActions}>
      {count > 1 && (
        <>
          <Action
            label={`Move ${name} up`}
            disabled={readOnly || index === 0}
            onClick={() => exchange(index - 1)}
          >
            <IconArrowUp size={14} />
          </Action>
          <Action
            label={`Move ${name} down`}
            disabled={readOnly || index === count - 1}
            onClick={() => exchange(index)}
          >
            <IconArrowDown size={14} />
          </Action>
        </>
      )}
      <Action label={`Remove ${name}`} disabled={readOnly} onClick={onRemove}>
        <IconTrash size={14} />
      </Action>
    </div>
  )
}

interface ActionProps {
  label: string
  disabled?: boolean
  onClick: () => void
  children: ReactNode
}

export function Action({ label, disabled, onClick, children }: ActionProps) {
  return (
    <Tooltip label={label} openDelay={400}>
      <ActionIcon variant="subtle" color="gray" aria-label={label} disabled={disabled} onClick={onClick}>
        {children}
      </ActionIcon>
    </Tooltip>
  )
}
