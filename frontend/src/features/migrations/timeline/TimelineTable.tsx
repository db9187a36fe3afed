import type { Timeline, SeriesPoint } from '@/api/types'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { between, count, rate } from '@/lib/format'
import { entriesOf } from './words'

/** The same as the chart, in words. */
export function TimelineTable({ timeline, points }: { timeline: Timeline; points: SeriesPoint[] }) {
  return (
    <>
      <Table
        label="Timeline"
        maxHeight={420}
        head={
          <>
            <th>What</th>
            <th>Since</th>
            <th>Until</th>
            <th className="num">Duration</th>
            <th>Details</th>
          </>
        }
      >
        {entriesOf(timeline).map(({ key, what, since, until, details }) => (
          <tr key={key}>
            <th scope="row">{what}</th>
            <td>
              <Moment at={since} />
            </td>
            <td>{until === null ? 'not over' : <Moment at={until} />}</td>
            <td className="num">{between(since, until)}</td>
            <td>{details}</td>
          </tr>
        ))}
      </Table>
      {points.length > 0 && (
        <Table
          label="Rate and lag"
          maxHeight={320}
          head={
            <>
              <th>Time</th>
              <th className="num">Records/s</th>
              <th className="num">Lag</th>
            </>
          }
        >
          {points.map((point) => (
            <tr key={point.at}>
              <th scope="row">
                <Moment at={point.at} />
              </th>
              <td className="num">{rate(point.records_per_second)}</td>
              <td className="num">{count(point.lag_records)}</td>
            </tr>
          ))}
        </Table>
      )}
    </>
  )
}
