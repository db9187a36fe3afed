import {
  Button,
  Menu,
  SegmentedControl,
  Text,
  useMantineColorScheme,
  type MantineColorScheme,
} from '@mantine/core'
import { IconChevronDown, IconLogout, IconUser } from '@tabler/icons-react'
import { logOut, useSession } from '@/lib/session'
import { ROLE_WORDS } from '@/domain/roles'
import { setTimeZone, useTimeZone, type TimeZone } from '@/lib/preferences'
import classes from './shell.module.css'

const THEMES = [
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
  { value: 'auto', label: 'Auto' },
]
const ZONES = [
  { value: 'local', label: 'Local' },
  { value: 'utc', label: 'UTC' },
]

/** Who is logged in, how times and colours are shown, and the way out. */
export function UserMenu() {
  const { session } = useSession()
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const zone = useTimeZone()
  return (
    <Menu position="bottom-end" width={260} closeOnItemClick={false}>
      <Menu.Target>
        <Button
          variant="subtle"
          color="gray"
          className={classes.user}
          leftSection={<IconUser size={15} aria-hidden />}
          rightSection={<IconChevronDown size={13} aria-hidden />}
        >
          {session?.user}
          {session?.role && <span className={classes.role}>{ROLE_WORDS[session.role]}</span>}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Choice
          label="Colours"
          value={colorScheme}
          data={THEMES}
          onChange={(value) => setColorScheme(value as MantineColorScheme)}
        />
        <Choice
          label="Times"
          value={zone}
          data={ZONES}
          onChange={(value) => setTimeZone(value as TimeZone)}
        />
        <Menu.Divider />
        <Menu.Item leftSection={<IconLogout size={15} aria-hidden />} onClick={() => void logOut()}>
          Log out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

interface ChoiceProps {
  label: string
  value: string
  data: { value: string; label: string }[]
  onChange: (value: string) => void
}

function Choice({ label, value, data, onChange }: ChoiceProps) {
  return (
    <div className={classes.choice}>
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      <SegmentedControl aria-label={label} value={value} data={data} onChange={onChange} />
    </div>
  )
}
