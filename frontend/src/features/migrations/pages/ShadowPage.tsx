import { IconAlertTriangle } from '@tabler/icons-react'
import type { Shadow, ShadowPlan } from '@/api/types'
import { DifferenceItem } from '@/components/previews/DifferenceItem'
import { KINDS, partNames, placeOf } from '@/components/previews/words'
import { Empty } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { Table } from '@/components/ui/Table'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { count, duration, percent, rate } from '@/lib/format'
import { EnginePage } from '../EngineSteps'
import classes from '../migrations.module.css'
import type { StepProps } from './props'

/** Of shares, which may be small. */
const DIGITS = 2

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
    ['Share that differs', percent(share, DIGITS)],
    ['Share that may differ', allowed === null ? 'No limit' : percent(allowed, DIGITS)],
    ['Rate of the old agent before', rate(before)],
    ['Rate of the old agent now', rate(now)],
  ]
}

/** What is left out of the comparison, and what it does not fit to. */
function Notes({ shadow }: { shadow: Shadow }) {
  const left = Object.entries(shadow.not_compared).flatMap(([source, parts]) =>
    partNames(parts).map((part) => `${source}: ${part}`),
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
      {shadow.samples.map(({ source, difference }, number) => {
        const found = { ...difference, number }
        return <DifferenceItem key={`${source} ${placeOf(found)}`} found={found} />
      })}
    </Panel>
  )
}
