import { Menu, Text } from '@mantine/core'
import type { Icon } from '@tabler/icons-react'
import classes from './reason.module.css'

interface ReasonItemProps {
  icon: Icon
  label: string
  reason: string | null
  onClick: () => void
}

/** An entry of a menu that, when it may not be used, stays listed and says why. */
export function ReasonItem({ icon: Shape, label, reason, onClick }: ReasonItemProps) {
  const refused = reason !== null
  return (
    <Menu.Item
      leftSection={<Shape size={15} aria-hidden />}
      aria-disabled={refused}
      className={refused ? classes.refused : undefined}
      closeMenuOnClick={!refused}
      onClick={refused ? undefined : onClick}
    >
      {label}
      {refused && (
        <Text size="xs" c="dimmed">
          {reason}
        </Text>
      )}
    </Menu.Item>
  )
}
