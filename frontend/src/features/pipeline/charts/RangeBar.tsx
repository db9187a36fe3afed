import { ActionIcon, Button, Group, Popover, SegmentedControl, TextInput, Tooltip } from '@mantine/core'
import {
  IconArrowBackUp,
  IconCalendar,
  IconChevronLeft,
  IconChevronRight,
  IconZoomIn,
  IconZoomOut,
} from '@tabler/icons-react'
import { useState } from 'react'
import { useShortTime } from '@/components/ui/Time'
import { useTimeZone } from '@/lib/preferences'
import { instantOf, minuteOf } from '@/lib/time'
import { isLive, presetOf, PRESETS, type Preset, type RangeSearch, type Span } from './range'
import classes from './charts.module.css'

interface RangeBarProps {
  search: RangeSearch
  span: Span
  onRange: (search: RangeSearch) => void
  onKey: (key: string) => void
}

const BUTTONS = [
  { key: '<', label: 'Earlier', icon: IconChevronLeft },
  { key: '>', label: 'Later', icon: IconChevronRight },
  { key: '+', label: 'Zoom in', icon: IconZoomIn },
  { key: '-', label: 'Zoom out', icon: IconZoomOut },
]

/** Presets that end now, a range of your own, and steps from one to the next. */
export function RangeBar({ search, span, onRange, onKey }: RangeBarProps) {
  const live = isLive(search)
  return (
    <Group gap={6} className={classes.bar}>
      <SegmentedControl
        aria-label="Range"
        data={PRESETS.map(({ value, label }) => ({ value, label }))}
        value={live ? presetOf(search) : ''}
        onChange={(value) => onRange({ last: value as Preset })}
      />
      <CustomRange span={span} live={live} last={search.last} onRange={onRange} />
      <ActionIcon.Group>
        {BUTTONS.map(({ key, label, icon: Icon }) => (
          <Tooltip key={key} label={label}>
            <ActionIcon variant="default" size={30} aria-label={label} onClick={() => onKey(key)}>
              <Icon size={15} aria-hidden />
            </ActionIcon>
          </Tooltip>
        ))}
        {!live && (
          <Tooltip label="Back to now">
            <ActionIcon variant="default" size={30} aria-label="Back to now" onClick={() => onKey('0')}>
              <IconArrowBackUp size={15} aria-hidden />
            </ActionIcon>
          </Tooltip>
        )}
      </ActionIcon.Group>
    </Group>
  )
}

interface CustomRangeProps {
  span: Span
  live: boolean
  last: Preset | undefined
  onRange: (search: RangeSearch) => void
}

function CustomRange({ span, live, last, onRange }: CustomRangeProps) {
  const zone = useTimeZone()
  const short = useShortTime()
  const [opened, setOpened] = useState(false)
  const [fields, setFields] = useState({ from: '', to: '' })
  const iso = (seconds: number) => new Date(seconds * 1_000).toISOString()
  const [from, to] = [instantOf(fields.from, zone), instantOf(fields.to, zone)]
  const problem = from && to && from >= to ? 'The end must be after the beginning.' : null
  const open = (next: boolean) => {
    if (next) setFields({ from: minuteOf(iso(span.from), zone), to: minuteOf(iso(span.to), zone) })
    setOpened(next)
  }
  const apply = () => {
    setOpened(false)
    onRange({ last, from, to })
  }
  return (
    <Popover opened={opened} onChange={open} position="bottom-end" withArrow trapFocus shadow="md">
      <Popover.Target>
        <Button
          variant={live ? 'default' : 'light'}
          leftSection={<IconCalendar size={14} aria-hidden />}
          onClick={() => open(!opened)}
        >
          {live ? 'Custom' : `${short(iso(span.from))} to ${short(iso(span.to))}`}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <form
          className={classes.custom}
          onSubmit={(event) => {
            event.preventDefault()
            if (from && to && !problem) apply()
          }}
        >
          {(['from', 'to'] as const).map((name) => (
            <TextInput
              key={name}
              type="datetime-local"
              label={`${name === 'from' ? 'From' : 'To'}${zone === 'utc' ? ' (UTC)' : ''}`}
              value={fields[name]}
              error={name === 'to' ? problem : null}
              onChange={(event) => setFields({ ...fields, [name]: event.currentTarget.value })}
            />
          ))}
          <Button type="submit" disabled={!from || !to || problem !== null}>
            Show range
          </Button>
        </form>
      </Popover.Dropdown>
    </Popover>
  )
}
