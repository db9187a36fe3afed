import { Button, SegmentedControl } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { IconPlus } from '@tabler/icons-react'
import { migrationsQuery } from '@/api/migrations'
import { useReadOnly } from '@/components/teams/useReadOnly'
import { CodeBlock } from '@/components/ui/CodeBlock'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { FilterInput } from '@/components/ui/FilterInput'
import { LoadMore } from '@/components/ui/LoadMore'
import { PageHeader } from '@/components/ui/PageHeader'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { usePollInterval } from '@/lib/live/LiveProvider'
import { MigrationTable } from '@/components/migrations/MigrationTable'
import classes from './migrations.module.css'

const STATES = [
  { value: 'all', label: 'All' },
  { value: 'open', label: 'Open' },
  { value: 'final', label: 'Completed' },
]

/** Every change of a running pipeline in stages, newest first. */
export function MigrationsPage() {
  const { state, pipeline } = useSearch({ from: '/migrations' })
  const navigate = useNavigate({ from: '/migrations' })
  const readOnly = useReadOnly(pipeline ?? null)
  const query = useInfiniteQuery({
    ...migrationsQuery({ state, pipeline }),
    refetchInterval: usePollInterval(),
  })
  const migrations = query.data?.pages.flatMap(({ results }) => results) ?? []
  const filtered = state !== undefined || pipeline !== undefined
  return (
    <div className={classes.page}>
      <PageHeader
        title="Migrations"
        beside={<span className="dim">controlled changes of running pipelines</span>}
        actions={
          <>
            <Button variant="default" renderRoot={(props) => <Link to="/migrations/rules" {...props} />}>
              Freezes and approvals
            </Button>
            <ReasonButton
              leftSection={<IconPlus size={14} aria-hidden />}
              reason={readOnly}
              onClick={() => void navigate({ to: '/migrations/new', search: { pipeline } })}
            >
              New migration
            </ReasonButton>
          </>
        }
      />
      <Panel
        title="Migrations"
        note="newest first"
        flush
        actions={
          <>
            <FilterInput
              label="Pipeline"
              placeholder="Pipeline"
              value={pipeline ?? ''}
              onChange={(name) =>
                void navigate({ search: { state, pipeline: name || undefined }, replace: true })
              }
            />
            <SegmentedControl
              aria-label="State"
              data={STATES}
              value={state ?? 'all'}
              onChange={(value) =>
                void navigate({ search: { pipeline, state: stateOf(value) }, replace: true })
              }
            />
          </>
        }
      >
        {query.error && !query.data && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
        {query.isPending && <Loading />}
        {query.data && migrations.length === 0 && (filtered ? <NoneHere /> : <NoneYet />)}
        {migrations.length > 0 && <MigrationTable migrations={migrations} label="Migrations" />}
        <LoadMore query={query} />
      </Panel>
    </div>
  )
}

export function stateOf(value: unknown): 'open' | 'final' | undefined {
  return value === 'open' || value === 'final' ? value : undefined
}

function NoneHere() {
  return <Empty title="No migration matches the filter">Change the filter to see more.</Empty>
}

function NoneYet() {
  return (
    <Empty title="No migrations yet">
      A migration changes a component, the host or the agent's software of a running pipeline. It pauses the
      pipeline, verifies the pause, applies the change and resumes at the exact offset where the pipeline
      stopped. It rolls back if the change fails.
      <div className={classes.command}>
        <CodeBlock
          code='headgate migrations plan orders -f orders.yaml --reason "a new topic"'
          label="Plan a migration on the command line"
        />
      </div>
    </Empty>
  )
}
