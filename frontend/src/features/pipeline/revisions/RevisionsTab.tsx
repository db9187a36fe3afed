import { Button, Select, VisuallyHidden } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { IconFileUpload } from '@tabler/icons-react'
import { pipelineQuery } from '@/api/pipelines'
import { revisionsQuery } from '@/api/revisions'
import type { Revision } from '@/api/types'
import { refusal } from '@/components/actions/allowed'
import { ErrorNote, Loading } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { Diff } from './Diff'
import classes from '../pipeline.module.css'

/** Every revision, and what changed between two of them. */
export function RevisionsTab() {
  const { name } = useParams({ from: '/pipelines/$name' })
  const { data: revisions, error, refetch } = useQuery(revisionsQuery(name))
  if (error && !revisions) return <ErrorNote error={error} onRetry={() => void refetch()} />
  if (!revisions) return <Loading />
  return (
    <div className={classes.stack}>
      <Panel title="Revisions" note="revisions are immutable" flush actions={<Publish name={name} />}>
        <RevisionTable revisions={revisions} name={name} />
      </Panel>
      {revisions.length > 1 && <Compare name={name} revisions={revisions} />}
    </div>
  )
}

function Publish({ name }: { name: string }) {
  const navigate = useNavigate()
  const { data: pipeline } = useQuery(pipelineQuery(name))
  if (!pipeline) return null
  return (
    <ReasonButton
      variant="default"
      leftSection={<IconFileUpload size={14} aria-hidden />}
      reason={refusal(pipeline, 'edit')}
      onClick={() => void navigate({ to: '/pipelines/$name/edit', params: { name } })}
    >
      Publish new revision
    </ReasonButton>
  )
}

function RevisionTable({ revisions, name }: { revisions: Revision[]; name: string }) {
  const newest = Math.max(...revisions.map(({ number }) => number))
  return (
    <Table
      label="Revisions"
      maxHeight={300}
      head={
        <>
          <th>Revision</th>
          <th>Published</th>
          <th>By</th>
          <th>Note</th>
          <th>Digest</th>
          <th>Changes</th>
          <th>
            <VisuallyHidden>Actions</VisuallyHidden>
          </th>
        </>
      }
    >
      {revisions.map(({ number, created_at, created_by, note, digest }) => (
        <tr key={number}>
          <td>{number}</td>
          <td>
            <Moment at={created_at} />
          </td>
          <td>{created_by}</td>
          <td>{note || <span className="dim">–</span>}</td>
          <td className="mono" title={digest}>
            {digest.slice(0, 12)}
          </td>
          <td>
            {number > 1 ? (
              <Link
                to="/pipelines/$name/revisions"
                params={{ name }}
                search={{ from: number - 1, to: number }}
                resetScroll={false}
                aria-label={`Compare with ${number - 1}: what changed in revision ${number}`}
              >
                Compare with {number - 1}
              </Link>
            ) : (
              <span className="dim">the first</span>
            )}
          </td>
          <td>
            {number < newest && (
              <Link
                to="/pipelines/$name/edit"
                params={{ name }}
                search={{ revision: number }}
                aria-label={`Restore revision ${number}: edit its text as a new revision`}
              >
                Restore
              </Link>
            )}
          </td>
        </tr>
      ))}
    </Table>
  )
}

function Compare({ name, revisions }: { name: string; revisions: Revision[] }) {
  const search = useSearch({ from: '/pipelines/$name/revisions' })
  const navigate = useNavigate({ from: '/pipelines/$name/revisions' })
  const newest = Math.max(...revisions.map(({ number }) => number))
  const to = search.to ?? newest
  const from = search.from ?? Math.max(1, to - 1)
  const data = revisions.map(({ number }) => ({ value: String(number), label: `Revision ${number}` }))
  const go = (next: { from: number; to: number }) =>
    void navigate({ search: next, replace: true, resetScroll: false })
  return (
    <Panel
      title="What changed"
      flush
      actions={
        <>
          <Select
            aria-label="From"
            w={130}
            data={data}
            value={String(from)}
            onChange={(value) => go({ from: Number(value), to })}
          />
          <span className="dim">to</span>
          <Select
            aria-label="To"
            w={130}
            data={data}
            value={String(to)}
            onChange={(value) => go({ from, to: Number(value) })}
          />
          <Button variant="subtle" color="gray" c="dimmed" onClick={() => go({ from: to, to: from })}>
            Swap
          </Button>
        </>
      }
    >
      <Diff name={name} from={from} to={to} />
    </Panel>
  )
}
