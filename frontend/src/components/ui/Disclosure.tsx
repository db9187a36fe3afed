import { Button, Collapse } from '@mantine/core'
import { type ReactNode, useId, useState } from 'react'

interface DisclosureProps {
  label: string
  /** What the button says while it is open; the same unless given. */
  openLabel?: string
  icon?: ReactNode
  children: ReactNode
}

/** A quiet button that shows what few users need; its content exists only while it is open. */
export function Disclosure({ label, openLabel = label, icon, children }: DisclosureProps) {
  const [open, setOpen] = useState(false)
  const id = useId()
  return (
    <div>
      <Button
        variant="subtle"
        color="gray"
        c="dimmed"
        px={6}
        leftSection={icon}
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
      >
        {open ? openLabel : label}
      </Button>
      <Collapse expanded={open} id={id}>
        {open && children}
      </Collapse>
    </div>
  )
}
