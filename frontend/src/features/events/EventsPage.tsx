import { useNavigate, useSearch } from '@tanstack/react-router'
import type { EventSearch } from '@/components/events/categories'
import { EventFilters } from '@/components/events/EventFilters'
import { EventList } from '@/components/events/EventList'
import { FilterInput } from '@/components/ui/FilterInput'
import { PageHeader } from '@/components/ui/PageHeader'
import { Panel } from '@/components/ui/Panel'
import classes from './events.module.css'

export function EventsPage() {
  const { pipeline, ...search } = useSearch({ from: '/events' })
  const navigate = useNavigate({ from: '/events' })
  const set = (next: EventSearch & { pipeline?: string }) => void navigate({ search: next, replace: true })
  return (
    <div className={classes.page}>
      <PageHeader title="Events" beside={<span className="dim">newest first</span>} />
      <div className={classes.filters}>
        <FilterInput
          className={classes.filter}
          label="Only this pipeline"
          placeholder="Name of one pipeline"
          value={pipeline ?? ''}
          onChange={(next) => set({ ...search, pipeline: next || undefined })}
        />
        <EventFilters search={search} onChange={(change) => set({ pipeline, ...change })} />
      </div>
      <Panel title={pipeline ? `Events of ${pipeline}` : 'Events of every pipeline'} flush>
        <EventList pipeline={pipeline} search={search} onClear={() => set({ pipeline })} />
      </Panel>
    </div>
  )
}
