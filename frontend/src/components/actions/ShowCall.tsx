import { Button, Collapse } from '@mantine/core'
import { IconCode } from '@tabler/icons-react'
import { useId, useState } from 'react'
import type { Call } from '@/domain/calls'
import { CallTabs } from './CallTabs'

/** "Show the call" inside a form or a dialog. */
export function ShowCall({ call, subject }: { call: Call; subject: string }) {
  const [open, setOpen] = useState(false)
  const id = useId()
  return (
    <div>
      <Button
        variant="subtle"
        color="gray"
        c="dimmed"
        px={6}
        leftSection={<IconCode size={14} aria-hidden />}
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
      >
        {open ? 'Hide the call' : 'Show the call'}
      </Button>
      <Collapse expanded={open} id={id}>
        {open && <CallTabs call={call} subject={subject} />}
      </Collapse>
    </div>
  )
}
