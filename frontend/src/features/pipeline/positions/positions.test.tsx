import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import type { ReactNode } from 'react'
import { vi } from 'vitest'
import type { PositionPlan, Positions } from '@/api/types'
import { picksOf, targetOf } from '@/components/positions/picks'
import { show, showRouted } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { T0 } from '@/testing/factories'
import { ChangePanel } from './ChangePanel'
import { DecideDialog } from './DecideDialog'

const place = { source: 'shop', channel: 'main', topic: 'orders' }
const move = { ...place, partition: 2, old: 100, new: 1_304 }

const plan = (fields: Partial<PositionPlan> = {}): PositionPlan => ({
  id: '1',
  pipeline: 'orders',
  state: 'ANSWERED',
  to: { goal: 'earliest' },
  hash: 'abc123',
  skip: 1_204,
  replay: 0,
  gone: 1_204,
  possible_duplicates: 7,
  partitions: [{ ...move, skip: 1_204, replay: 0, gone: 1_204 }],
  impossible: [],
  asked_by: 'ana',
  asked_at: T0,
  expires_at: null,
  ...fields,
})

const known = { ledger: 50, checkpoint: 50, group: null, log_start: 0, log_end: 90 }
const row = (partition: number, fields = {}) => ({
  ...{ ...place, ...known, partition, verdict: 'AGREES', codes: [] },
  ...fields,
})

const positions = (fields: Partial<Positions> = {}): Positions => ({
  pipeline: 'orders',
  taken_at: T0,
  fresh: true,
  error: null,
  findings: [],
  partitions: [row(0), row(1)],
  choices: [],
  ...fields,
})

const panel = (found = positions(), resting: string | null = null) => (
  <ChangePanel name="orders" positions={found} note="" readOnly={null} resting={resting} />
)

const asMoves = (...effects: [number, number, number][]) =>
  effects.map(([at, skip, replay], partition) => ({
    ...{ ...place, partition, old: 50, new: at, skip, replay, gone: 0 },
  }))

/** Answers each plan by its target, and keeps what was asked. */
function counting(answers: Record<string, PositionPlan>): string[] {
  const asked: string[] = []
  given.post('/pipelines/orders/positions/plan', async (request) => {
    const { to } = (await request.json()) as { to: string }
    asked.push(to)
    return answers[to] ?? problem(422, 'bad_target', `No answer for ${to}.`)
  })
  return asked
}

const effectOf = (partition: number) =>
  within(screen.getByRole('row', { name: new RegExp(`orders/${partition}`) }))
    .getAllByRole('cell')
    .at(-1)

async function draw(drawn: ReactNode) {
  showRouted(drawn)
  await screen.findByRole('button', { name: 'Review change' })
}

it('leads to the records of a partition from its position on', async () => {
  await draw(panel())
  expect(screen.getByRole('link', { name: 'Records of orders/0 from 50 on' })).toHaveAttribute(
    'href',
    expect.stringMatching(
      /^\/pipelines\/orders\/records\?of=sources\.shop&topic=orders&partition=.*0.*&offset=.*50/,
    ),
  )
})

describe('the new position of each partition', () => {
  it('is picked by offset, start, end or time, and counted as it is chosen', async () => {
    const mixed = 'offsets=orders/0:60,orders/1:earliest'
    const asked = counting({
      'offsets=orders/0:60': plan({ skip: 10, gone: 0, partitions: asMoves([60, 10, 0], [50, 0, 0]) }),
      [mixed]: plan({ skip: 10, replay: 50, gone: 0, partitions: asMoves([60, 10, 0], [0, 0, 50]) }),
    })
    await draw(panel())
    expect(screen.getByText('Every partition continues where it stands.')).toBeInTheDocument()
    await userEvent.selectOptions(screen.getByLabelText('New position of orders/0'), 'Offset')
    await userEvent.clear(screen.getByLabelText('Offset of orders/0'))
    expect(screen.getByRole('button', { name: 'Review change' })).toHaveAccessibleDescription(
      'Enter an offset.',
    )
    await userEvent.type(screen.getByLabelText('Offset of orders/0'), '60')
    expect(screen.getByText('Counting skipped and reread records…')).toBeInTheDocument()
    await waitFor(() => expect(effectOf(0)).toHaveTextContent('skips 10continues at 60'))
    expect(effectOf(1)).toHaveTextContent('unchanged')
    await userEvent.selectOptions(screen.getByLabelText('New position of orders/1'), 'Log start')
    expect(effectOf(0)).not.toHaveTextContent('skips')
    await waitFor(() => expect(effectOf(1)).toHaveTextContent('rereads 50continues at 0'))
    expect(screen.getByLabelText('Expected impact')).toHaveTextContent('Skipped10Reread50')
    expect(asked.at(-1)).toBe(mixed)
  })

  it('is picked for all at once, and for the selected ones', async () => {
    const asked = counting({
      latest: plan({ partitions: asMoves([90, 40, 0], [90, 40, 0]) }),
      'offsets=orders/0:latest,orders/1:earliest': plan({ partitions: asMoves([90, 40, 0], [0, 0, 50]) }),
    })
    await draw(panel())
    await userEvent.selectOptions(screen.getByLabelText('New position of all partitions'), 'Log end')
    await waitFor(() => expect(effectOf(1)).toHaveTextContent('skips 40'))
    await userEvent.click(screen.getByRole('checkbox', { name: 'Select orders/1' }))
    await userEvent.selectOptions(
      screen.getByLabelText('New position of the selected partitions'),
      'Log start',
    )
    await waitFor(() => expect(effectOf(1)).toHaveTextContent('rereads 50'))
    expect(asked).toEqual(['latest', 'offsets=orders/0:latest,orders/1:earliest'])
    await userEvent.click(screen.getByRole('button', { name: 'Leave all positions' }))
    expect(effectOf(1)).toHaveTextContent('unchanged')
  })

  it('that cannot be is told at its partition, and what nobody could count is unknown', async () => {
    const finding = { path: 'sources.shop', code: 'position_impossible', suggestion: '' }
    given.post('/pipelines/orders/positions/plan', () =>
      problem(422, 'position_impossible', 'Some partitions cannot continue there.', {
        findings: [{ ...finding, message: 'main orders/1: The group has no position of it.' }],
      }),
    )
    await draw(panel())
    await userEvent.selectOptions(screen.getByLabelText('New position of all partitions'), 'Committed offset')
    await waitFor(() => expect(effectOf(1)).toHaveTextContent('The group has no position of it.'))
    expect(effectOf(0)).toHaveTextContent('unknown')
    expect(screen.getByRole('button', { name: 'Review change' })).toHaveAccessibleDescription(/not known/)
    given.post('/pipelines/orders/positions/plan', () =>
      plan({ state: 'PENDING', hash: null, partitions: [] }),
    )
    await userEvent.selectOptions(screen.getByLabelText('New position of all partitions'), 'Log end')
    expect(
      await screen.findByText(/did not respond within 30 s, so the effect is unknown/),
    ).toBeInTheDocument()
    expect(effectOf(0)).toHaveTextContent('unknown')
  })

  it('is applied only while the pipeline rests, and it says why', async () => {
    counting({ latest: plan({ partitions: asMoves([90, 40, 0], [90, 40, 0]) }) })
    await draw(panel(positions(), 'Stop it first.'))
    const review = screen.getByRole('button', { name: 'Review change' })
    expect(review).toHaveAccessibleDescription('Choose a new position first.')
    await userEvent.selectOptions(screen.getByLabelText('New position of all partitions'), 'Log end')
    await waitFor(() =>
      expect(screen.getByRole('button', { name: 'Review change' })).toHaveAccessibleDescription(
        'Stop it first.',
      ),
    )
  })

  it('is offered where the pipeline is blocked, the best first', async () => {
    const asked = counting({ earliest: plan() })
    const offer = { to: 'earliest', skip: 1_204, replay: 0, partitions: [] }
    const choices = [{ ...offer, recommended: true, reason: 'It skips the fewest.' }]
    await draw(panel(positions({ choices })))
    const offers = screen.getByRole('list', { name: 'Start positions' })
    expect(offers).toHaveTextContent('Log start: skips 1,204, rereads 0Recommended. It skips the fewest.')
    await userEvent.click(screen.getByRole('button', { name: 'Choose: Log start' }))
    await waitFor(() => expect(asked).toEqual(['earliest']))
  })

  it('is of one source at a time where several read', async () => {
    const asked = vi.fn()
    given.post('/pipelines/orders/positions/plan', async (request) => {
      asked(await request.json())
      return plan()
    })
    await draw(panel(positions({ partitions: [row(0), row(0, { source: 'web' })] })))
    expect(screen.getAllByRole('row')).toHaveLength(2)
    await userEvent.selectOptions(screen.getByLabelText('New position of all partitions'), 'Log end')
    await waitFor(() => expect(asked).toHaveBeenCalledWith({ to: 'latest', source: 'shop' }))
  })
})

it('writes picks as one target and reads them back', () => {
  const places = ['a/0', 'a/1']
  const time = { kind: 'time', value: '2026-01-31T11:30:00.000Z' } as const
  const start = { kind: 'earliest', value: '' } as const
  const offset = { kind: 'offset', value: '7' } as const
  const written = [
    [{}, null],
    [{ 'a/0': start, 'a/1': start }, 'earliest'],
    [{ 'a/0': time, 'a/1': time }, `timestamp=${time.value}`],
    [{ 'a/0': offset, 'a/1': offset }, 'offsets=a/0:7,a/1:7'],
    [{ 'a/1': time }, `offsets=a/1:${time.value}`],
  ] as const
  for (const [picks, target] of written) {
    expect(targetOf(picks, places)).toBe(target)
    expect(picksOf(target ?? '', places)).toEqual(picks)
  }
  expect(picksOf('before=12-30m', places)).toBeNull()
  expect(picksOf('timestamp=-30m', places)).toBeNull()
})

describe('a decision', () => {
  const decide = (fields: Partial<PositionPlan> = {}, handlers = {}) => (
    <DecideDialog
      name="orders"
      plan={plan(fields)}
      {...{ onClose: () => {}, onStale: () => {}, onApplied: () => {}, ...handlers }}
    />
  )

  it('that skips records asks for the name, and shows the result of each partition', async () => {
    const asked = vi.fn()
    const onApplied = vi.fn()
    given.post('/pipelines/orders/positions/apply', async (request) => {
      asked(await request.json())
      return plan()
    })
    show(decide({}, { onApplied }))
    expect(screen.getByText(/never delivered; this cannot be undone/)).toBeInTheDocument()
    expect(screen.getByRole('row', { name: /orders\/2/ })).toHaveTextContent('1,304')
    expect(screen.getByRole('button', { name: 'Apply positions' })).toHaveAccessibleDescription(
      'Type the name first.',
    )
    await userEvent.type(screen.getByLabelText('Type orders to confirm'), 'orders')
    await userEvent.click(screen.getByRole('button', { name: 'Apply positions' }))
    expect(await screen.findByRole('dialog', { name: 'Positions of orders applied' })).toBeInTheDocument()
    expect(screen.getByRole('row', { name: /orders\/2/ })).toHaveTextContent('Applied')
    expect(asked.mock.calls).toEqual([[{ hash: 'abc123' }]])
    expect(onApplied).toHaveBeenCalled()
  })

  it('that skips nothing is confirmed by a click', async () => {
    given.post('/pipelines/orders/positions/apply', () => plan())
    show(decide({ skip: 0, gone: 0, replay: 50 }))
    expect(screen.queryByLabelText(/Type orders/)).toBeNull()
    await userEvent.click(screen.getByRole('button', { name: 'Apply positions' }))
    expect(await screen.findByRole('dialog', { name: 'Positions of orders applied' })).toBeInTheDocument()
  })

  it('that became stale is refused in words and leads to a new count', async () => {
    given.post('/pipelines/orders/positions/apply', () =>
      problem(409, 'plan_stale', 'Something has changed since.', { hint: 'Plan again.' }),
    )
    const onStale = vi.fn()
    show(decide({ skip: 0, gone: 0 }, { onStale }))
    await userEvent.click(screen.getByRole('button', { name: 'Apply positions' }))
    expect(await screen.findByRole('alert')).toHaveTextContent('Something has changed since.')
    expect(screen.getByRole('button', { name: 'Apply positions' })).toHaveAccessibleDescription(/out of date/)
    await userEvent.click(screen.getByRole('button', { name: 'Count again' }))
    expect(onStale).toHaveBeenCalled()
  })
})

it('says of each partition whether its witnesses agree', async () => {
  const lost = { verdict: 'BELOW_LOG_START', codes: ['BELOW_LOG_START'] }
  await draw(panel(positions({ partitions: [row(0), row(1, lost), row(2, { verdict: 'UNKNOWN' })] })))
  expect(screen.getByRole('row', { name: /orders\/0/ })).toHaveTextContent('agrees')
  expect(screen.getByRole('row', { name: /orders\/1/ })).toHaveTextContent('BELOW_LOG_START')
  expect(screen.getByRole('row', { name: /orders\/2/ })).toHaveTextContent('not inspected')
})
