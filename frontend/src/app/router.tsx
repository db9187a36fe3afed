import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import type { AuditFilter } from '@/api/audit'
import { readEventSearch, type EventSearch } from '@/components/events/categories'
import { OverviewPage } from '@/features/overview/OverviewPage'
import { readOverviewSearch } from '@/features/overview/filter'
import { readChartSearch } from '@/features/pipeline/charts/search'
import { logSearch } from '@/features/pipeline/log/search'
import { NotFound, RouteError } from './RouteStates'
import { Shell } from './shell/Shell'

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound, errorComponent: RouteError })

const text = (value: unknown) => (value === undefined || value === '' ? undefined : String(value))

const overview = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: OverviewPage,
  validateSearch: readOverviewSearch,
})

const fleet = createRoute({
  getParentRoute: () => root,
  path: '/fleet',
  component: lazyRouteComponent(() => import('@/features/overview/FleetPage'), 'FleetPage'),
  validateSearch: readOverviewSearch,
})

const create = createRoute({
  getParentRoute: () => root,
  path: '/pipelines/new',
  component: lazyRouteComponent(() => import('@/features/editor/CreatePage'), 'CreatePage'),
})

const edit = createRoute({
  getParentRoute: () => root,
  path: '/pipelines/$name/edit',
  component: lazyRouteComponent(() => import('@/features/editor/RevisePage'), 'RevisePage'),
  validateSearch: (search): { host?: string; revision?: number } => ({
    host: text(search.host),
    revision: whole(search.revision),
  }),
})

const pipeline = createRoute({
  getParentRoute: () => root,
  path: '/pipelines/$name',
  component: lazyRouteComponent(() => import('@/features/pipeline/PipelinePage'), 'PipelinePage'),
})

const whole = (value: unknown) =>
  Number.isInteger(Number(value)) && Number(value) > 0 ? Number(value) : undefined

const DEAD_LETTER_STATES = ['NEW', 'RETRIED', 'DISCARDED'] as const
type DeadLetterState = (typeof DEAD_LETTER_STATES)[number]
const deadLetterState = (value: unknown) => DEAD_LETTER_STATES.find((state) => state === value)

const DELIVERY_STATES = ['WAITING', 'SENDING', 'DELIVERED', 'FAILED', 'SUPPRESSED'] as const
type DeliveryState = (typeof DELIVERY_STATES)[number]

const TOPOLOGY_VIEWS = ['graph', 'tree'] as const

const topology = createRoute({
  getParentRoute: () => pipeline,
  path: '/',
  component: lazyRouteComponent(() => import('@/features/pipeline/topology/TopologyTab'), 'TopologyTab'),
  validateSearch: (search): { minutes?: number; node?: string; view?: 'graph' | 'tree' } => ({
    minutes: whole(search.minutes),
    node: text(search.node),
    view: TOPOLOGY_VIEWS.find((view) => view === search.view),
  }),
})

const live = createRoute({
  getParentRoute: () => pipeline,
  path: 'throughput',
  component: lazyRouteComponent(() => import('@/features/pipeline/live/LiveTab'), 'LiveTab'),
  validateSearch: readChartSearch,
})

const FLOW_VIEWS = ['graph', 'table'] as const

interface LedgerSearch {
  channel?: string
  run?: number
  minutes?: number
  view?: 'graph' | 'table'
  flow?: string
}

const ledgerTotals = createRoute({
  getParentRoute: () => pipeline,
  path: 'ledger',
  component: lazyRouteComponent(() => import('@/features/pipeline/ledger/LedgerTab'), 'LedgerTab'),
  validateSearch: (search): LedgerSearch => ({
    channel: text(search.channel),
    run: whole(search.run),
    minutes: whole(search.minutes),
    view: FLOW_VIEWS.find((view) => view === search.view),
    flow: text(search.flow),
  }),
})

const positions = createRoute({
  getParentRoute: () => pipeline,
  path: 'positions',
  component: lazyRouteComponent(() => import('@/features/pipeline/positions/PositionsTab'), 'PositionsTab'),
})

const deadLetters = createRoute({
  getParentRoute: () => pipeline,
  path: 'dead-letters',
  component: lazyRouteComponent(
    () => import('@/features/pipeline/deadletters/DeadLettersTab'),
    'DeadLettersTab',
  ),
  validateSearch: (search): { component?: string; cause?: string; state?: DeadLetterState } => ({
    component: text(search.component),
    cause: text(search.cause),
    state: deadLetterState(search.state),
  }),
})

const records = createRoute({
  getParentRoute: () => pipeline,
  path: 'records',
  component: lazyRouteComponent(() => import('@/features/pipeline/records/RecordsTab'), 'RecordsTab'),
  validateSearch: (search): { of?: string; topic?: string; partition?: string; offset?: string } => ({
    of: text(search.of),
    topic: text(search.topic),
    partition: text(search.partition),
    offset: text(search.offset),
  }),
})

const trace = createRoute({
  getParentRoute: () => pipeline,
  path: 'trace',
  component: lazyRouteComponent(() => import('@/features/pipeline/trace/TraceTab'), 'TraceTab'),
  validateSearch: (search): { at?: string } => ({ at: text(search.at) }),
})

const runs = createRoute({
  getParentRoute: () => pipeline,
  path: 'runs',
  component: lazyRouteComponent(() => import('@/features/pipeline/runs/RunsTab'), 'RunsTab'),
})

const pipelineEvents = createRoute({
  getParentRoute: () => pipeline,
  path: 'events',
  component: lazyRouteComponent(() => import('@/features/pipeline/events/EventsTab'), 'EventsTab'),
  validateSearch: readEventSearch,
})

const log = createRoute({
  getParentRoute: () => pipeline,
  path: 'log',
  component: lazyRouteComponent(() => import('@/features/pipeline/log/LogTab'), 'LogTab'),
  validateSearch: logSearch,
})

const revisions = createRoute({
  getParentRoute: () => pipeline,
  path: 'revisions',
  component: lazyRouteComponent(() => import('@/features/pipeline/revisions/RevisionsTab'), 'RevisionsTab'),
  validateSearch: (search): { from?: number; to?: number } => ({
    from: whole(search.from),
    to: whole(search.to),
  }),
})

const definition = createRoute({
  getParentRoute: () => pipeline,
  path: 'definition',
  component: lazyRouteComponent(
    () => import('@/features/pipeline/definition/DefinitionTab'),
    'DefinitionTab',
  ),
})

const events = createRoute({
  getParentRoute: () => root,
  path: '/events',
  component: lazyRouteComponent(() => import('@/features/events/EventsPage'), 'EventsPage'),
  validateSearch: (search): EventSearch & { pipeline?: string } => ({
    pipeline: text(search.pipeline),
    ...readEventSearch(search),
  }),
})

const AUDIT_FILTERS = [
  'actor',
  'action',
  'object',
  'pipeline',
  'team',
  'token',
  'outcome',
  'text',
  'since',
  'until',
] as const

const audit = createRoute({
  getParentRoute: () => root,
  path: '/audit',
  component: lazyRouteComponent(() => import('@/features/audit/AuditPage'), 'AuditPage'),
  validateSearch: (search): AuditFilter =>
    Object.fromEntries(AUDIT_FILTERS.map((name) => [name, text(search[name])])),
})

const auditRow = createRoute({
  getParentRoute: () => root,
  path: '/audit/$id',
  component: lazyRouteComponent(() => import('@/features/audit/AuditRowPage'), 'AuditRowPage'),
})

const hosts = createRoute({
  getParentRoute: () => root,
  path: '/hosts',
  component: lazyRouteComponent(() => import('@/features/hosts/HostsPage'), 'HostsPage'),
})

const MIGRATION_STATES = ['open', 'final'] as const
const SEVERITIES = ['critical', 'warning', 'info'] as const
const ALERT_STATES = ['OPEN', 'ACKNOWLEDGED', 'SILENCED', 'RESOLVED'] as const
const ALERT_GROUPS = ['pipeline', 'rule'] as const

interface AlertsSearch {
  state?: (typeof ALERT_STATES)[number]
  severity?: (typeof SEVERITIES)[number]
  label?: string
  rule?: string
  pipeline?: string
  group?: (typeof ALERT_GROUPS)[number]
}

const alerts = createRoute({
  getParentRoute: () => root,
  path: '/alerts',
  component: lazyRouteComponent(() => import('@/features/alerts/AlertsPage'), 'AlertsPage'),
  validateSearch: (search): AlertsSearch => ({
    state: ALERT_STATES.find((state) => state === search.state),
    severity: SEVERITIES.find((severity) => severity === search.severity),
    label: text(search.label),
    rule: text(search.rule),
    pipeline: text(search.pipeline),
    group: ALERT_GROUPS.find((group) => group === search.group),
  }),
})

const alertRules = createRoute({
  getParentRoute: () => root,
  path: '/alerts/rules',
  component: lazyRouteComponent(() => import('@/features/alerts/rules/RulesPage'), 'RulesPage'),
  validateSearch: (search): { text?: string } => ({ text: text(search.text) }),
})

const groups = createRoute({
  getParentRoute: () => root,
  path: '/groups',
  component: lazyRouteComponent(() => import('@/features/groups/GroupsPage'), 'GroupsPage'),
})

const migrations = createRoute({
  getParentRoute: () => root,
  path: '/migrations',
  component: lazyRouteComponent(() => import('@/features/migrations/MigrationsPage'), 'MigrationsPage'),
  validateSearch: (search): { state?: 'open' | 'final'; pipeline?: string } => ({
    state: MIGRATION_STATES.find((state) => state === search.state),
    pipeline: text(search.pipeline),
  }),
})

const MIGRATION_KINDS = ['revision', 'host', 'cluster', 'position', 'software'] as const

interface NewMigrationSearch {
  pipeline?: string
  kind?: (typeof MIGRATION_KINDS)[number]
  revision?: number
  host?: string
  to?: string
  from?: string
}

const newMigration = createRoute({
  getParentRoute: () => root,
  path: '/migrations/new',
  component: lazyRouteComponent(
    () => import('@/features/migrations/create/NewMigrationPage'),
    'NewMigrationPage',
  ),
  validateSearch: (search): NewMigrationSearch => ({
    pipeline: text(search.pipeline),
    kind: MIGRATION_KINDS.find((kind) => kind === search.kind),
    revision: whole(search.revision),
    host: text(search.host),
    to: text(search.to),
    from: text(search.from),
  }),
})

const migrationRules = createRoute({
  getParentRoute: () => root,
  path: '/migrations/rules',
  component: lazyRouteComponent(() => import('@/features/migrations/rules/RulesPage'), 'RulesPage'),
})

const evacuation = createRoute({
  getParentRoute: () => root,
  path: '/evacuations/$id',
  component: lazyRouteComponent(() => import('@/features/hosts/evacuation/EvacuationPage'), 'EvacuationPage'),
})

const migration = createRoute({
  getParentRoute: () => root,
  path: '/migrations/$id',
  component: lazyRouteComponent(() => import('@/features/migrations/MigrationPage'), 'CurrentStep'),
})

const migrationStep = createRoute({
  getParentRoute: () => root,
  path: '/migrations/$id/$step',
  component: lazyRouteComponent(() => import('@/features/migrations/MigrationPage'), 'MigrationPage'),
  validateSearch: (search): { timeline?: 'table'; range?: 'pause' } => ({
    timeline: search.timeline === 'table' ? 'table' : undefined,
    range: search.range === 'pause' ? 'pause' : undefined,
  }),
})

const secrets = createRoute({
  getParentRoute: () => root,
  path: '/secrets',
  component: lazyRouteComponent(() => import('@/features/secrets/SecretsPage'), 'SecretsPage'),
})

const receivers = createRoute({
  getParentRoute: () => root,
  path: '/receivers',
  component: lazyRouteComponent(() => import('@/features/receivers/ReceiversPage'), 'ReceiversPage'),
  validateSearch: (search): { id?: number; state?: DeliveryState } => ({
    id: whole(search.id),
    state: DELIVERY_STATES.find((state) => state === search.state),
  }),
})

const account = createRoute({
  getParentRoute: () => root,
  path: '/account',
  component: lazyRouteComponent(() => import('@/features/account/AccountPage'), 'AccountPage'),
})

const guide = createRoute({
  getParentRoute: () => root,
  path: '/guide',
  component: lazyRouteComponent(() => import('@/features/guide/GuidePage'), 'GuidePage'),
})

const installation = createRoute({
  getParentRoute: () => root,
  path: '/installation',
  component: lazyRouteComponent(() => import('@/features/installation/InstallationPage'), 'InstallationPage'),
})

const health = createRoute({
  getParentRoute: () => installation,
  path: '/',
  component: lazyRouteComponent(() => import('@/features/installation/HealthTab'), 'HealthTab'),
})

const settings = createRoute({
  getParentRoute: () => installation,
  path: 'settings',
  component: lazyRouteComponent(() => import('@/features/installation/SettingsTab'), 'SettingsTab'),
  validateSearch: (search): { text?: string; changed?: true } => ({
    text: text(search.text),
    changed: search.changed === true ? true : undefined,
  }),
})

const clusters = createRoute({
  getParentRoute: () => installation,
  path: 'clusters',
  component: lazyRouteComponent(() => import('@/features/installation/ClustersTab'), 'ClustersTab'),
})

const reach = createRoute({
  getParentRoute: () => installation,
  path: 'reach',
  component: lazyRouteComponent(() => import('@/features/installation/ReachTab'), 'ReachTab'),
})

const interceptors = createRoute({
  getParentRoute: () => installation,
  path: 'interceptors',
  component: lazyRouteComponent(() => import('@/features/installation/InterceptorsTab'), 'InterceptorsTab'),
})

const access = createRoute({
  getParentRoute: () => root,
  path: '/access',
  component: lazyRouteComponent(() => import('@/features/access/AccessPage'), 'AccessPage'),
})

const pipelineTabs = pipeline.addChildren([
  topology,
  live,
  ledgerTotals,
  positions,
  deadLetters,
  records,
  trace,
  runs,
  pipelineEvents,
  log,
  revisions,
  definition,
])

export const router = createRouter({
  routeTree: root.addChildren([
    overview,
    fleet,
    create,
    edit,
    pipelineTabs,
    migrations,
    newMigration,
    migrationRules,
    migration,
    migrationStep,
    evacuation,
    alerts,
    alertRules,
    events,
    audit,
    auditRow,
    groups,
    hosts,
    secrets,
    receivers,
    account,
    access,
    installation.addChildren([health, settings, clusters, reach, interceptors]),
    guide,
  ]),
  defaultPreload: 'intent',
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
