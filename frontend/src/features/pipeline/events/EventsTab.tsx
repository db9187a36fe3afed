import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { EventFilters } from '@/components/events/EventFilters'
import { EventList } from '@/components/events/EventList'
import { Panel } from '@/components/ui/Panel'

export function EventsTab() {
  const { name } = useParams({ from: '/pipelines/$name' })
  const search = useSearch({ from: '/pipelines/$name/events' })
  const navigate = useNavigate({ from: '/pipelines/$name/events' })
  return (
    <>
      <EventFilters search={search} onChange={(next) => void navigate({ search: next, replace: true })} />
      <Panel title="Events" note="newest first" flush>
        <EventList
          pipeline={name}
          search={search}
          onClear={() => void navigate({ search: {}, replace: true })}
        />
      </Panel>
    </>
  )
}
