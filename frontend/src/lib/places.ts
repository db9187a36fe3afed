import {
  IconBell,
  IconHammer,
  IconHistory,
  IconId,
  IconKey,
  IconLayoutGrid,
  IconListSearch,
  IconServer2,
  IconSettings,
  IconTopologyStar3,
  IconTransfer,
  IconUsersGroup,
  IconWebhook,
  type Icon,
} from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { sessionQuery } from '@/api/session'
import { cannotAdminister, cannotAdministerAll, cannotReadAudit, cannotSeeSecrets } from '@/domain/roles'

type Path =
  | '/'
  | '/alerts'
  | '/audit'
  | '/events'
  | '/fleet'
  | '/groups'
  | '/hosts'
  | '/migrations'
  | '/secrets'
  | '/receivers'
  | '/access'
  | '/installation'
  | '/guide'

export interface Place {
  to: Path
  label: string
  icon: Icon
  under: string[]
}

const PLACES: Place[] = [
  { to: '/', label: 'Pipelines', icon: IconTopologyStar3, under: ['/pipelines/'] },
  { to: '/fleet', label: 'Fleet', icon: IconLayoutGrid, under: [] },
  { to: '/migrations', label: 'Migrations', icon: IconTransfer, under: ['/migrations/'] },
  { to: '/alerts', label: 'Alerts', icon: IconBell, under: ['/alerts/'] },
  { to: '/events', label: 'Events', icon: IconHistory, under: [] },
  { to: '/groups', label: 'Consumer groups', icon: IconUsersGroup, under: [] },
  { to: '/hosts', label: 'Hosts', icon: IconServer2, under: [] },
  { to: '/secrets', label: 'Secrets', icon: IconKey, under: [] },
  { to: '/receivers', label: 'Receivers', icon: IconWebhook, under: [] },
  { to: '/access', label: 'Users and teams', icon: IconId, under: [] },
  { to: '/audit', label: 'Audit', icon: IconListSearch, under: ['/audit/'] },
  { to: '/installation', label: 'Installation', icon: IconSettings, under: ['/installation/'] },
  { to: '/guide', label: 'Guided demo', icon: IconHammer, under: [] },
]

/** The parts of a pipeline's page. */
export const PIPELINE_TABS = [
  { to: '/pipelines/$name', label: 'Topology', exact: true },
  { to: '/pipelines/$name/throughput', label: 'Throughput and lag', exact: false },
  { to: '/pipelines/$name/ledger', label: 'Ledger', exact: false },
  { to: '/pipelines/$name/positions', label: 'Positions', exact: false },
  { to: '/pipelines/$name/dead-letters', label: 'Dead letters', exact: false },
  { to: '/pipelines/$name/records', label: 'Records', exact: false },
  { to: '/pipelines/$name/trace', label: 'Trace', exact: false },
  { to: '/pipelines/$name/runs', label: 'Runs', exact: false },
  { to: '/pipelines/$name/events', label: 'Events', exact: false },
  { to: '/pipelines/$name/log', label: 'Log', exact: false },
  { to: '/pipelines/$name/revisions', label: 'Revisions', exact: false },
  { to: '/pipelines/$name/definition', label: 'Definition', exact: false },
] as const

/** The parts of the page of the installation, each with why this session may not see it; null when it may. */
export const INSTALLATION_TABS = [
  { to: '/installation', label: 'Health', exact: true, hidden: () => null },
  { to: '/installation/settings', label: 'Settings', exact: false, hidden: cannotAdministerAll },
  { to: '/installation/clusters', label: 'Spark clusters', exact: false, hidden: cannotSeeSecrets },
  { to: '/installation/reach', label: 'Reach', exact: false, hidden: cannotSeeSecrets },
  { to: '/installation/interceptors', label: 'Interceptors', exact: false, hidden: cannotSeeSecrets },
] as const

/** The pages that the user may open, in the order of the sidebar. */
export function usePlaces(): Place[] {
  const { data: session } = useQuery(sessionQuery)
  const hidden: Partial<Record<Path, string | null>> = {
    '/secrets': cannotSeeSecrets(session),
    '/receivers': cannotAdminister(session),
    '/audit': cannotReadAudit(session),
    '/guide': session?.demo_pipeline ? null : 'There is no demo here.',
  }
  return PLACES.filter(({ to }) => !hidden[to])
}
