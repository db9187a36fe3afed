import { CloseButton, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { IconSearch } from '@tabler/icons-react'
import { useEffect, useState } from 'react'
import { EventList } from '@/components/events/EventList'
import { PageHeader } from '@/components/ui/PageHeader'
import { Panel } from '@/components/ui/Panel'
import classes from './events.module.css'

const TYPING_PAUSE_MS = 300

export function EventsPage() {
  const { pipeline } = useSearch({ from: '/events' })
  const navigate = useNavigate({ from: '/events' })
  return (
    <div className={classes.page}>
      <PageHeader
        title="Events"
        beside={<span className="dim">everything that happened, newest first</span>}
      />
      <PipelineFilter
        value={pipeline ?? ''}
        onChange={(next) => void navigate({ search: { pipeline: next || undefined }, replace: true })}
      />
      <Panel title={pipeline ? `Events of ${pipeline}` : 'Events of every pipeline'} flush>
        <EventList pipeline={pipeline} />
      </Panel>
    </div>
  )
}

function PipelineFilter({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const [text, setText] = useState(value)
  const settle = useDebouncedCallback(onChange, TYPING_PAUSE_MS)
  useEffect(() => setText(value), [value])
  const type = (next: string) => {
    setText(next)
    settle(next.trim())
  }
  return (
    <TextInput
      className={classes.filter}
      aria-label="Only this pipeline"
      placeholder="Name of one pipeline"
      leftSection={<IconSearch size={14} aria-hidden />}
      rightSection={text && <CloseButton size="xs" aria-label="Every pipeline" onClick={() => type('')} />}
      value={text}
      onChange={(event) => type(event.currentTarget.value)}
    />
  )
}
