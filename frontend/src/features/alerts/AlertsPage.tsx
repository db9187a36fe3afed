import { Button, SegmentedControl, Select } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Fragment, useState } from 'react'
import { alertRulesQuery, alertsQuery, type AlertFilter } from '@/api/alerts'
import type { Alert, Severity } from '@/api/types'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { FilterInput } from '@/components/ui/FilterInput'
import { LoadMore } from '@/components/ui/LoadMore'
import { PageHeader } from '@/components/ui/PageHeader'
import { StaleFigures } from '@/components/ui/StaleFigures'
import { Panel } from '@/components/ui/Panel'
import { ruleWords } from '@/domain/matchers'
import { SEVERITIES } from '@/domain/severities'
import { count } from '@/lib/format'
import { usePollInterval } from '@/lib/live/LiveProvider'
import { AcknowledgeDialog } from './AcknowledgeDialog'
import { AlertCards, type Selection } from './AlertCards'
import { BulkAcknowledge } from './BulkAcknowledge'
import { grouped, type Grouping } from './grouping'
import { NotifyButton } from './NotifyButton'
import { SilenceDialog } from './SilenceDialog'
import { Silences } from './Silences'
import { useAlertKeys } from './useAlertKeys'
import classes from './alerts.module.css'

const ALL = 'ALL'
const STATES = [
  { value: ALL, label: 'All' },
  { value: 'OPEN', label: 'Open' },
  { value: 'ACKNOWLEDGED', label: 'Acknowledged' },
  { value: 'SILENCED', label: 'Silenced' },
  { value: 'RESOLVED', label: 'Resolved' },
]
const TITLES = { OPEN: 'Open', ACKNOWLEDGED: 'Acknowledged', SILENCED: 'Silenced', [ALL]: 'Firing' }
const GROUPED = [
  { value: 'pipeline', label: 'By pipeline' },
  { value: 'rule', label: 'By rule' },
]

type Asked = { kind: 'acknowledge' | 'silence'; alert: Alert }

/** What the rules have found over all pipelines: what fires, who was told, and what was resolved lately. */
export function AlertsPage() {
  const search = useSearch({ from: '/alerts' })
  const navigate = useNavigate({ from: '/alerts' })
  const [asked, setAsked] = useState<Asked | null>(null)
  const [chosen, setChosen] = useState<Alert[]>([])
  const inbox = useAlertKeys()
  const { state, severity, label, rule, pipeline, group } = search
  const filter = { severity, label, rule, pipeline }
  const set = (change: Partial<typeof search>) =>
    void navigate({ search: { ...search, ...change }, replace: true })
  const onAsk = (kind: Asked['kind']) => (alert: Alert) => setAsked({ kind, alert })
  const list = { group, onAcknowledge: onAsk('acknowledge'), onSilence: onAsk('silence') }
  const narrowed = Boolean(severity ?? label ?? rule ?? pipeline)
  const selection: Selection = {
    has: ({ id }) => chosen.some((each) => each.id === id),
    toggle: (alert) =>
      setChosen((old) =>
        old.some(({ id }) => id === alert.id) ? old.filter(({ id }) => id !== alert.id) : [...old, alert],
      ),
  }
  return (
    <div className={classes.page} ref={inbox}>
      <PageHeader
        title="Alerts"
        beside={<span className="dim">conditions that require action, over all pipelines</span>}
        actions={
          <>
            <NotifyButton />
            <Button component={Link} to="/alerts/rules" variant="default">
              Alert rules
            </Button>
          </>
        }
      >
        <div className={classes.filters}>
          <SegmentedControl
            aria-label="State"
            data={STATES}
            value={state ?? ALL}
            onChange={(value) => set({ state: value === ALL ? undefined : (value as typeof state) })}
          />
          <Select
            aria-label="Severity"
            placeholder="Every severity"
            data={Object.entries(SEVERITIES).map(([value, { word }]) => ({ value, label: word }))}
            value={severity ?? null}
            onChange={(value) => set({ severity: (value as Severity | null) ?? undefined })}
            clearable
            clearButtonProps={{ 'aria-label': 'Every severity' }}
          />
          <RuleSelect value={rule} onChange={(value) => set({ rule: value })} />
          <FilterInput
            label="Pipeline"
            placeholder="Pipeline"
            value={pipeline ?? ''}
            onChange={(value) => set({ pipeline: value || undefined })}
          />
          <FilterInput
            label="Label"
            placeholder="Label, such as team:shop"
            value={label ?? ''}
            onChange={(value) => set({ label: value || undefined })}
          />
          <Select
            aria-label="Group"
            placeholder="Not grouped"
            data={GROUPED}
            value={group ?? null}
            onChange={(value) => set({ group: (value as Grouping | null) ?? undefined })}
            clearable
            clearButtonProps={{ 'aria-label': 'Not grouped' }}
          />
        </div>
      </PageHeader>
      {state !== 'RESOLVED' && (
        <AlertList
          title={TITLES[state ?? ALL]}
          empty={narrowed || state === 'SILENCED' ? 'No alerts match' : 'No alerts fire'}
          filter={{ ...filter, state: state === 'SILENCED' ? undefined : state }}
          silenced={state === 'SILENCED'}
          selection={selection}
          {...list}
        />
      )}
      {(state === undefined || state === 'RESOLVED') && (
        <AlertList
          title="Recently resolved"
          empty={narrowed ? 'No resolved alerts match' : 'No resolved alerts'}
          filter={{ ...filter, state: 'RESOLVED' }}
          {...list}
        />
      )}
      <BulkAcknowledge chosen={chosen} onClear={() => setChosen([])} />
      <Silences />
      {asked?.kind === 'acknowledge' && (
        <AcknowledgeDialog alert={asked.alert} onClose={() => setAsked(null)} />
      )}
      {asked?.kind === 'silence' && <SilenceDialog alert={asked.alert} onClose={() => setAsked(null)} />}
    </div>
  )
}

/** The rules that users can set, by their names. */
function RuleSelect({ value, onChange }: { value?: string; onChange: (rule?: string) => void }) {
  const { data, error } = useQuery(alertRulesQuery)
  const names = new Set([...(data?.map(({ rule }) => rule as string) ?? []), ...(value ? [value] : [])])
  return (
    <Select
      aria-label="Rule"
      placeholder="Every rule"
      data={[...names].map((rule) => ({ value: rule, label: ruleWords(rule) }))}
      value={value ?? null}
      onChange={(rule) => onChange(rule ?? undefined)}
      nothingFoundMessage={
        data ? 'No such rule' : error ? 'The rules could not be read' : 'Loading the rules'
      }
      searchable
      clearable
      clearButtonProps={{ 'aria-label': 'Every rule' }}
    />
  )
}

interface AlertListProps {
  title: string
  empty: string
  filter: AlertFilter
  group: Grouping | undefined
  /** Only alerts whose messages a silence holds back. */
  silenced?: boolean
  selection?: Selection
  onAcknowledge: (alert: Alert) => void
  onSilence: (alert: Alert) => void
}

function AlertList({ title, empty, filter, group, silenced = false, ...cards }: AlertListProps) {
  const every = usePollInterval()
  const query = useInfiniteQuery({ ...alertsQuery(filter), refetchInterval: every })
  const found = query.data?.pages.flatMap(({ results }) => results) ?? []
  const alerts = silenced ? found.filter(({ silence }) => silence !== null) : found
  return (
    <Panel title={title} note="newest first" flush>
      {query.error && !query.data && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
      <StaleFigures query={query} every={every} />
      {query.isPending && <Loading />}
      {query.data && alerts.length === 0 && (
        <Empty title={empty}>
          {filter.state !== 'RESOLVED' &&
            'An alert appears here when a rule finds a cause, and is sent to receivers.'}
        </Empty>
      )}
      {grouped(alerts, group).map((each) => (
        <Fragment key={each.title}>
          {each.title && (
            <h3 className={classes.group}>
              {each.title} <span className="dim">{count(each.alerts.length)}</span>
            </h3>
          )}
          <AlertCards label={each.title || title} alerts={each.alerts} {...cards} />
        </Fragment>
      ))}
      <LoadMore query={query} />
    </Panel>
  )
}
