import { IconAlertTriangle } from '@tabler/icons-react'
import type { Shadow, ShadowPlan } from '@/api/types'
import { DifferenceItem } from '@/components/previews/DifferenceItem'
import { KINDS } from '@/components/previews/words'
import { Empty } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { Table } from '@/components/ui/Table'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { count, duration, NONE, rate } from '@/lib/format'
import { EnginePage } from '../EngineSteps'
import classes from '../migrations.module.css'
import type { StepProps } from './props'

/** Both revisions on the records that the old agent delivers, before anything changes. */
export function ShadowPage(props: StepProps) {
  const { shadow, plan } = props.migration
  const wanted = plan?.shadow
  return (
    <EnginePage {...props} page="shadow">
      {wanted && <Comparison wanted={wanted} shadow={shadow} />}
      {shadow && <Samples shadow={shadow} />}
    </EnginePage>
  )
}

function Comparison({ wanted, shadow }: { wanted: ShadowPlan; shadow: Shadow | null }) {
  const most = wanted.records
    ? `${count(wanted.records)} records, ${duration(wanted.seconds * 1_000)} at most`
    : duration(wanted.seconds * 1_000)
  return (
    <Panel title="Comparison" note={`${most}; nothing is written`} flush={shadow !== null}>
      {shadow ? (
        <Table
          label="Comparison of both revisions"
          head={
            <>
              <th>What</th>
              <th className="num">Number</th>
            </>
          }
        >
          {figures(wanted, shadow).map(([what, number]) => (
            <tr key={what}>
              <th scope="row">{what}</th>
              <td className="num">{number}</td>
            </tr>
          ))}
        </Table>
      ) : (
        <Empty title="Nothing has been compared yet" />
      )}
      {shadow && <Notes shadow={shadow} />}
    </Panel>
  )
}

function figures(wanted: ShadowPlan, shadow: Shadow): [string, string][] {
  const { counts, share, rate: now, rate_before: before } = shadow
  const goal = wanted.records ? ` of ${count(wanted.records)}` : ''
  const allowed = wanted.most_different ?? null
  return [
    ['Records compared', `${count(counts.records)}${goal}`],
    ['Identical', count(counts.identical)],
    ['Different', count(counts.different)],
    ['Delivered by the old revision only', count(counts.only_old)],
    ['Delivered by the new revision only', count(counts.only_new)],
    ...Object.entries(counts.kinds).map(([kind, number]): [string, string] => [
      `Differs: ${KINDS[kind as keyof typeof KINDS]}`,
      count(number),
    ]),
    ['Share that differs', percent(share)],
    ['Share that may differ', allowed === null ? 'No limit' : percent(allowed)],
    ['Rate of the old agent before', before === null ? NONE : rate(before)],
    ['Rate of the old agent now', now === null ? NONE : rate(now)],
  ]
}

const percent = (share: number | null): string => (share === null ? NONE : `${(100 * share).toFixed(2)} %`)

/** What is left out of the comparison, and what it does not fit to. */
function Notes({ shadow }: { shadow: Shadow }) {
  const left = Object.entries(shadow.not_compared).flatMap(([source, { headers = [], key, body }]) =>
    [...headers.map((name) => `header ${name}`), key && 'key', body && 'body']
      .filter(Boolean)
      .map((part) => `${source}: ${part}`),
  )
  return (
    <div className={classes.form}>
      {left.length > 0 && (
        <p className={classes.note}>Not compared, since no run repeats it: {left.join(', ')}.</p>
      )}
      {shadow.unlike_ledger > 0 && (
        <>
          <ToneBadge tone="warn" icon={IconAlertTriangle} plain>
            Unlike the ledger
          </ToneBadge>
          {shadow.notes.map((note) => (
            <p key={note} className={classes.note}>
              {note}
            </p>
          ))}
        </>
      )}
      {shadow.findings.map(({ message }) => (
        <p key={message} className={classes.note}>
          {message}
        </p>
      ))}
    </div>
  )
}

function Samples({ shadow }: { shadow: Shadow }) {
  if (shadow.samples.length === 0) return null
  return (
    <Panel
      title="Events that differ"
      note={shadow.shows_records ? 'some of them' : 'you may not see what they hold'}
    >
      {shadow.samples.map(({ source, difference }, number) => (
        <DifferenceItem
          key={`${source} ${difference.topic} ${difference.partition} ${difference.offset} ${difference.copy_number}`}
          found={{ ...difference, number }}
        />
      ))}
    </Panel>
  )
}
