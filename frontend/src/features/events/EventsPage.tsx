import { useNavigate, useSearch } from '@tanstack/react-router'
import { EventList } from '@/components/events/EventList'
import { FilterInput } from '@/components/ui/FilterInput'
import { PageHeader } from '@/components/ui/PageHeader'
import { Panel } from '@/components/ui/Panel'
import classes from './events.module.css'

export function EventsPage() {
  const { pipeline } = useSearch({ from: '/events' })
  const navigate = useNavigate({ from: '/events' })
  return (
    <div className={classes.page}>
      <PageHeader title="Events" beside={<span className="dim">newest first</span>} />
      <FilterInput
        className={classes.filter}
        label="Only this pipeline"
        placeholder="Name of one pipeline"
        value={pipeline ?? ''}
        onChange={(next) => void navigate({ search: { pipeline: next || undefined }, replace: true })}
      />
      <Panel title={pipeline ? `Events of ${pipeline}` : 'Events of every pipeline'} flush>
        <EventList pipeline={pipeline} />
      </Panel>
    </div>
  )
}
