import { ActionIcon, Input } from '@mantine/core'
import { IconTrash } from '@tabler/icons-react'
import { useId, type ReactNode } from 'react'
import classes from '../../migrations.module.css'

interface LinesProps {
  label: string
  description: string
  error?: string | null
  add?: ReactNode
  children: ReactNode
}

/** A list that a user writes, line by line. */
export function Lines({ label, description, error, add, children }: LinesProps) {
  const id = useId()
  return (
    <div role="group" aria-labelledby={id}>
      <Input.Label id={id} labelElement="div">
        {label}
      </Input.Label>
      <Input.Description>{description}</Input.Description>
      <ul className={classes.lines}>{children}</ul>
      {error && <Input.Error mb={6}>{error}</Input.Error>}
      {add}
    </div>
  )
}

export function RemoveLine({ label, onClick }: { label: string; onClick: () => void }) {
  return (
    <ActionIcon variant="subtle" color="gray" size={30} aria-label={label} onClick={onClick}>
      <IconTrash size={15} aria-hidden />
    </ActionIcon>
  )
}
