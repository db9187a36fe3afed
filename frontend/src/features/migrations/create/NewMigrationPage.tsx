import { Radio, Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { migrationQuery } from '@/api/migrations'
import { pipelineQuery, pipelinesQuery } from '@/api/pipelines'
import type { MigrationKind } from '@/api/types'
import { ErrorNote, Loading, Unread } from '@/components/ui/Feedback'
import { PageHeader } from '@/components/ui/PageHeader'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { KINDS } from '@/domain/migrations'
import { MigrationForm } from './MigrationForm'
import classes from '../migrations.module.css'

const FIRST = 'Choose a pipeline first.'

/** The first step: of which pipeline what changes. Both are in the address; nothing is touched by planning. */
export function NewMigrationPage() {
  const search = useSearch({ from: '/migrations/new' })
  const navigate = useNavigate({ from: '/migrations/new' })
  const { from } = search
  const earlier = useQuery({ ...migrationQuery(from ?? ''), enabled: from !== undefined })
  const { pipeline: name = earlier.data?.pipeline, kind = earlier.data?.kind ?? 'revision' } = search
  const same = earlier.data?.pipeline === name && earlier.data?.kind === kind
  const pipeline = useQuery({ ...pipelineQuery(name ?? ''), enabled: name !== undefined })
  return (
    <div className={classes.page}>
      <PageHeader
        title={name ? `New migration of ${name}` : 'New migration'}
        before={
          <nav aria-label="Breadcrumb" className={classes.crumbs}>
            <Link to="/migrations">Migrations</Link>
          </nav>
        }
        beside={<span className="dim">Planning changes nothing.</span>}
      />
      <Panel title="Change">
        <div className={classes.form}>
          <PipelineSelect
            value={name}
            onChange={(next) => void navigate({ search: { pipeline: next, kind }, replace: true })}
          />
          <Radio.Group
            label="Kind"
            value={kind}
            onChange={(next) =>
              void navigate({
                search: { pipeline: name, kind: next as MigrationKind, from: earlier.data && from },
                replace: true,
              })
            }
          >
            <div className={classes.kinds}>
              {Object.entries(KINDS).map(([value, { label, meaning }]) => (
                <Radio key={value} size="xs" value={value} label={label} description={meaning} />
              ))}
            </div>
          </Radio.Group>
        </div>
      </Panel>
      {pipeline.error && !pipeline.data && (
        <ErrorNote error={pipeline.error} onRetry={() => void pipeline.refetch()} />
      )}
      {earlier.error && !earlier.data && (
        <ErrorNote error={earlier.error} onRetry={() => void earlier.refetch()} />
      )}
      {((name && !pipeline.data && !pipeline.error) || earlier.isLoading) && <Loading />}
      {!name && !earlier.isLoading && (
        <div className={classes.footer}>
          <span className={classes.why}>{FIRST}</span>
          <ReasonButton variant="default" reason={FIRST}>
            Next: Plan migration
          </ReasonButton>
        </div>
      )}
      {pipeline.data && (from === undefined || earlier.data) && (
        <MigrationForm
          key={`${pipeline.data.name} ${kind}`}
          pipeline={pipeline.data}
          kind={kind}
          given={same ? search : { ...search, from: undefined }}
          asked={same ? earlier.data : undefined}
        />
      )}
    </div>
  )
}

interface PipelineSelectProps {
  value: string | undefined
  onChange: (name: string) => void
}

function PipelineSelect({ value, onChange }: PipelineSelectProps) {
  const query = useQuery(pipelinesQuery)
  if (!query.data) return <Unread query={query} what="pipelines" />
  return (
    <Select
      label="Pipeline"
      placeholder="Choose a pipeline"
      searchable
      limit={100}
      data={query.data.map(({ name }) => name)}
      value={value ?? null}
      onChange={(name) => name && onChange(name)}
      maw={420}
    />
  )
}
