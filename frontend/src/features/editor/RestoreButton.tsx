import { Button, Popover, Text } from '@mantine/core'
import { useState } from 'react'

interface RestoreButtonProps {
  label: string
  changed: boolean
  onRestore: () => void
}

/** Throws away what was written, after one question. */
export function RestoreButton({ label, changed, onRestore }: RestoreButtonProps) {
  const [asking, setAsking] = useState(false)
  if (!changed) return null
  return (
    <Popover opened={asking} onChange={setAsking} position="bottom-end" trapFocus withRoles>
      <Popover.Target>
        <Button variant="default" onClick={() => setAsking(!asking)}>
          {label}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <Text size="sm" mb={8}>
          Your changes are discarded.
        </Text>
        <Button
          color="red.8"
          onClick={() => {
            setAsking(false)
            onRestore()
          }}
        >
          Discard changes
        </Button>
      </Popover.Dropdown>
    </Popover>
  )
}
