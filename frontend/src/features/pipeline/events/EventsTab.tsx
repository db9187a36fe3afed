import { useParams } from '@tanstack/react-router'
import { Panel } from '@/components/ui/Panel'
import { EventList } from '@/components/events/EventList'

export function EventsTab() {
  const { name } = useParams({ from: '/pipelines/$name' })
  return (
    <Panel title="Events" note="newest first" flush>
      <EventList pipeline={name} />
    </Panel>
  )
}
