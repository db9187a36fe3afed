import {
  Button,
  Divider,
  Popover,
  SegmentedControl,
  Text,
  useMantineColorScheme,
  type MantineColorScheme,
} from '@mantine/core'
import { IconChevronDown, IconLogout, IconShieldLock, IconUser } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { logOut, useSession } from '@/lib/session'
import { ROLE_WORDS } from '@/domain/roles'
import {
  setDensity,
  setTimeZone,
  useDensity,
  useTimeZone,
  type Density,
  type TimeZone,
} from '@/lib/preferences'
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
const DENSITIES = [
  { value: 'comfortable', label: 'Comfortable' },
  { value: 'compact', label: 'Compact' },
]

/** Who is logged in, how times and colours are shown, and the way out. */
export function UserMenu() {
  const { session } = useSession()
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const zone = useTimeZone()
  const density = useDensity()
  return (
    <Popover position="bottom-end" width={270} trapFocus withinPortal={false} withRoles={false}>
      <Popover.Target>
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
      </Popover.Target>
      <Popover.Dropdown p={6} role="group" aria-label="Account and display settings">
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
        <Choice
          label="Density"
          value={density}
          data={DENSITIES}
          onChange={(value) => setDensity(value as Density)}
        />
        <Divider my={4} />
        <Button
          component={Link}
          to="/account"
          variant="subtle"
          color="gray"
          fullWidth
          justify="flex-start"
          className={classes.user}
          leftSection={<IconShieldLock size={15} aria-hidden />}
        >
          Account
        </Button>
        <Button
          variant="subtle"
          color="gray"
          fullWidth
          justify="flex-start"
          className={classes.user}
          leftSection={<IconLogout size={15} aria-hidden />}
          onClick={() => void logOut()}
        >
          Log out
        </Button>
      </Popover.Dropdown>
    </Popover>
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
