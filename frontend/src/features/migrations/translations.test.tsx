import { screen } from '@testing-library/react'
import type { PartitionTranslation } from '@/api/types'
import { finding, migration, migrationPlan, session } from '@/testing/factories'
import { showRouted } from '@/testing/render'
import { given } from '@/testing/server'
import { PlanPage } from './pages/PlanPage'
import { summary } from './translations'

const row = (partition: number, fields: Partial<PartitionTranslation> = {}): PartitionTranslation => ({
  ...{ source: 'shop', channel: 'main', old_topic: 'orders', topic: 'old.orders', partition },
  ...{ stopped_at: 48_000, new: 1_048_000, by: 'mapping', exact: true, skip: 0, replay: 0, behind: 0 },
  ...{ code: '', reason: '', suggestion: '', cluster_id: '', topic_id: '' },
  evidence: { pair: [47_990, 1_047_990], expected: 1_048_000, compared: 32, last_read: 47_999 },
  ...fields,
})
const rows = [
  row(0),
  row(1, {
    ...{ by: 'timestamp', exact: false, replay: 7 },
    evidence: { timestamp: 1_700_000_000_000, times_of: 'producer', compared: 7, last_read: 47_999 },
  }),
  row(2, { new: null, exact: false, behind: 1_204, evidence: {} }),
  row(3, { new: null, exact: false, code: 'NO_SYNC', reason: 'There is no pair.', evidence: {} }),
  row(4, { by: 'given', exact: false, skip: null, replay: null, evidence: { proof: '' } }),
]
const shown = (plan: Parameters<typeof migrationPlan>[0], spec: object) =>
  showRouted(
    <PlanPage
      migration={migration({ kind: 'cluster', spec: { ...spec }, plan: migrationPlan(plan) })}
      readOnly={null}
    />,
  )

beforeEach(() => given.get('/session', () => session()))

it('shows where each partition goes on in the other cluster, and what proves it', async () => {
  shown(
    { translation: rows, warnings: [finding({ code: 'MIRROR_BEHIND', severity: 'warning' })] },
    { source: 'shop' },
  )
  const words = (place: string) => screen.getByText(`orders/${place}`).closest('tr')
  expect(await screen.findByText('orders/0')).toBeInTheDocument()
  expect(words('0')).toHaveTextContent(
    /new topic old\.orders.*48,000.*1,048,000.*exact.*last pair 47,990 → 1,047,990/,
  )
  expect(words('0')).toHaveTextContent(/last record read 47,9993200$/)
  expect(words('1')).toHaveTextContent(/counted.*a time of the producer.*707$/)
  expect(words('2')).toHaveTextContent(/48,000–1,204 records not mirrored yet/)
  expect(words('3')).toHaveTextContent(/NO_SYNC.*There is no pair/)
  expect(words('4')).toHaveTextContent(/not verified.*given–unknownunknown/)
  expect(screen.getByText('MIRROR_BEHIND')).toBeInTheDocument()
  expect(screen.getByText(summary(rows))).toHaveTextContent(
    '1 of 5 partitions exact, 1 not mirrored yet, 1 cannot be translated',
  )
})

it("shows where a sink's topics end there, and says when nothing is known yet", async () => {
  const end = {
    sink: 'out',
    topic: 'there',
    partition: 0,
    start: 3,
    end: 48_003,
    cluster_id: '',
    topic_id: '',
  }
  const { unmount } = shown({ sink_ends: [end] }, { sink: 'out' })
  expect((await screen.findByText('there/0')).closest('tr')).toHaveTextContent('48,003up to 48,000')
  unmount()
  shown({ blockers: [finding({ code: 'COUNTING' })] }, { sink: 'out' })
  expect(await screen.findByText('The host is inspecting both clusters')).toBeInTheDocument()
})
