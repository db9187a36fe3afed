import { Select } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type DifferenceFilter, differencesQuery } from '@/api/previews'
import type { DifferenceKind, Preview, PreviewCount, PreviewResult } from '@/api/types'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { LoadMore } from '@/components/ui/LoadMore'
import { Table } from '@/components/ui/Table'
import { count, plural } from '@/lib/format'
import { DifferenceItem } from './DifferenceItem'
import { type SavedTest, savedTest } from './savedTest'
import { KINDS, partNames, resultWords } from './words'
import classes from './previews.module.css'

interface OutcomeProps {
  name: string
  preview: Preview
  result: PreviewResult
  onSave?: (test: SavedTest) => void
}

/** Counts of both revisions, then the events that differ. */
export function Outcome({ name, preview, result, onSave }: OutcomeProps) {
  const notes = [...result.notes, ...notCompared(result)]
  if (!preview.shows_records) notes.push('Your role or token does not show what events hold.')
  return (
    <>
      <p role="status">
        {plural(result.records, 'record')} of {result.source} {result.records === 1 ? 'was' : 'were'} read;{' '}
        {plural(result.differing, 'event differs', 'events differ')}.
      </p>
      {notes.length > 0 && (
        <ul className={classes.notes}>
          {notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
      {result.records === 0 ? (
        <Empty title="No records">The selected part of the log holds none. Select another one.</Empty>
      ) : (
        <Counts rows={result.counts} base={preview.base} />
      )}
      {result.differing > 0 && <Differences name={name} id={preview.id} result={result} onSave={onSave} />}
    </>
  )
}

function notCompared({ not_compared: found }: PreviewResult): string[] {
  const parts = partNames(found)
  return parts.length > 0 ? [`Not compared, since each run gives another value: ${parts.join(', ')}.`] : []
}

function Counts({ rows, base }: { rows: PreviewCount[]; base: number }) {
  const most = Math.max(1, ...rows.flatMap(({ before, after }) => [before, after]))
  const head = (
    <>
      <th>Outcome</th>
      <th>Component</th>
      <th className="num">Revision {base}</th>
      <th className="num">New</th>
      <th aria-hidden />
    </>
  )
  return (
    <Table label="Events by outcome and component" head={head}>
      {rows.map(({ result, component, before, after }) => (
        <tr key={`${result} ${component}`}>
          <td>{resultWords(result)}</td>
          <td>{component || '-'}</td>
          <td className="num">{count(before)}</td>
          <td className="num">{count(after)}</td>
          <td aria-hidden>
            <div className={classes.bars}>
              <div className={classes.bar} style={{ width: `${(100 * before) / most}%` }} />
              <div className={classes.bar} data-new style={{ width: `${(100 * after) / most}%` }} />
            </div>
          </td>
        </tr>
      ))}
    </Table>
  )
}

interface DifferencesProps {
  name: string
  id: string
  result: PreviewResult
  onSave?: (test: SavedTest) => void
}

function Differences({ name, id, result, onSave }: DifferencesProps) {
  const [filter, setFilter] = useState<DifferenceFilter>({})
  const query = useInfiniteQuery(differencesQuery(name, id, filter))
  const rows = query.data?.pages.flatMap(({ results }) => results)
  const kinds = Object.entries(result.kinds).map(([kind, events]) => ({
    value: kind,
    label: `${KINDS[kind as DifferenceKind]} (${count(events)})`,
  }))
  const components = Object.entries(result.components).map(([path, events]) => ({
    value: path,
    label: `${path} (${count(events)})`,
  }))
  return (
    <>
      <div className={classes.form}>
        <Select
          label="Difference"
          placeholder="All"
          clearable
          data={kinds}
          value={filter.kind ?? null}
          onChange={(kind) => setFilter({ ...filter, kind: (kind as DifferenceKind | null) ?? undefined })}
        />
        <Select
          label="Only what this component changed"
          placeholder="All"
          clearable
          data={components}
          value={filter.component ?? null}
          onChange={(component) => setFilter({ ...filter, component: component ?? undefined })}
          miw={320}
        />
      </div>
      {query.error && !rows && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
      {!rows && !query.error && <Loading />}
      {rows?.length === 0 && <Empty title="No such difference">Choose another kind or component.</Empty>}
      {rows?.map((row) => (
        <DifferenceItem
          key={row.number}
          found={row}
          onSave={onSave && ((found) => onSave(savedTest(found, result)))}
        />
      ))}
      <LoadMore query={query} label="Show more" />
    </>
  )
}
