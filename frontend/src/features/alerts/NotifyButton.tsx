import { Button, Checkbox, Popover, Stack, Text } from '@mantine/core'
import { IconBell, IconBellRinging } from '@tabler/icons-react'
import { useState } from 'react'
import type { Severity } from '@/api/types'
import { SEVERITIES } from '@/domain/severities'
import { permission, setNotified, useNotifiedSeverities, type Permission } from '@/lib/notifications'

const REFUSED: Partial<Record<Permission, string>> = {
  denied:
    'Your browser blocks notifications of this page. Allow them in the settings of the site, then reload.',
  unsupported: 'Your browser shows no notifications of this page. They need HTTPS, or localhost.',
}

/** Asks the browser for notifications of new alerts, by severity. */
export function NotifyButton() {
  const severities = useNotifiedSeverities()
  const [allowed, setAllowed] = useState<Permission>(permission)
  const on = severities.length > 0 && allowed === 'granted'
  const refused = REFUSED[allowed]
  const choose = async (severity: Severity, wanted: boolean) => {
    const now = wanted && permission() === 'default' ? await Notification.requestPermission() : permission()
    setAllowed(now)
    setNotified(severity, wanted && now === 'granted')
  }
  return (
    <Popover position="bottom-end" width={300} trapFocus withRoles={false}>
      <Popover.Target>
        <Button
          variant="default"
          leftSection={on ? <IconBellRinging size={14} aria-hidden /> : <IconBell size={14} aria-hidden />}
        >
          {on ? 'Notifications on' : 'Notify me'}
        </Button>
      </Popover.Target>
      <Popover.Dropdown role="group" aria-label="Browser notifications">
        <Stack gap="xs">
          <Text size="sm">
            This browser notifies you of new alerts while the dashboard is open in a tab in the background.
            For anything else, use receivers.
          </Text>
          {refused && (
            <Text size="sm" role="alert">
              {refused}
            </Text>
          )}
          {Object.entries(SEVERITIES).map(([severity, { word }]) => (
            <Checkbox
              key={severity}
              label={word}
              disabled={refused !== undefined}
              checked={allowed === 'granted' && severities.includes(severity as Severity)}
              onChange={(event) => void choose(severity as Severity, event.currentTarget.checked)}
            />
          ))}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  )
}
