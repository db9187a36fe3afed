import { IconAlertTriangle, IconClock } from '@tabler/icons-react'
import type { MigrationPlan, Prediction, PredictedTotals } from '@/api/types'
import { Panel } from '@/components/ui/Panel'
import { Table } from '@/components/ui/Table'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { bytes, count, NONE, percent } from '@/lib/format'
import classes from './migrations.module.css'

/** What is predicted of the records of each source, under the present and the new revision. */
export function Predictions({ plan }: { plan: MigrationPlan }) {
  return plan.predictions.map((prediction) => (
    <Panel
      key={prediction.source}
      title={`Prediction for ${prediction.source}`}
      note={prediction.after ? `${count(prediction.records)} records of the last 10 minutes` : undefined}
      flush={Boolean(prediction.after)}
    >
      <Found prediction={prediction} />
    </Panel>
  ))
}

function Found({ prediction }: { prediction: Prediction }) {
  const { before, after, pending, reason } = prediction
  if (before && after) return <Figures source={prediction.source} before={before} after={after} />
  const words = pending
    ? 'The host previews the change. The plan is updated when the result arrives.'
    : `Not predicted, because ${reason}.`
  return (
    <div className={classes.form}>
      <ToneBadge tone={pending ? 'busy' : 'warn'} icon={pending ? IconClock : IconAlertTriangle} plain>
        {pending ? 'In progress' : 'Not predicted'}
      </ToneBadge>
      <p className={classes.note}>{words}</p>
    </div>
  )
}

interface FiguresProps {
  source: string
  before: PredictedTotals
  after: PredictedTotals
}

function Figures({ source, before, after }: FiguresProps) {
  return (
    <Table
      label={`Prediction for ${source}`}
      head={
        <>
          <th>Outcome</th>
          <th>Component</th>
          <th className="num">Present revision</th>
          <th className="num">New revision</th>
        </>
      }
    >
      {rows(before, after).map(({ outcome, component, old, now }) => (
        <tr key={`${outcome} ${component}`}>
          <th scope="row">{outcome}</th>
          <td>{component || NONE}</td>
          <td className="num">{old}</td>
          <td className="num">{now}</td>
        </tr>
      ))}
    </Table>
  )
}

interface Row {
  outcome: string
  component: string
  old: string
  now: string
}

function rows(before: PredictedTotals, after: PredictedTotals): Row[] {
  const row = (outcome: string, figure: (side: PredictedTotals) => string, component = ''): Row => ({
    ...{ outcome, component },
    old: figure(before),
    now: figure(after),
  })
  const paths = [...new Set([...Object.keys(before.filtered), ...Object.keys(after.filtered)])].sort()
  return [
    row(
      'Delivered',
      ({ delivered, events }) => `${count(delivered)} of ${count(events)}${share(delivered, events)}`,
    ),
    ...paths.map((path) => row('Filtered', ({ filtered }) => count(filtered[path] ?? 0), path)),
    row('Dead letters', ({ dead_letters }) => count(dead_letters)),
    row('Unrouted', ({ unrouted }) => count(unrouted)),
    row('Output records', ({ channels }) =>
      count(Object.values(channels).reduce((sum, each) => sum + each, 0)),
    ),
    row('Output bytes', ({ size }) => bytes(size)),
  ]
}

const share = (part: number, whole: number): string => (whole > 0 ? ` (${percent(part / whole)})` : '')
