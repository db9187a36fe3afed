import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import type { Quarantine, Suspect } from '@/api/types'
import { detail, T0 } from '@/testing/factories'
import { show } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { QuarantineDialog } from './QuarantineDialog'
import { QuarantinePanel } from './QuarantinePanel'
import { parseRange } from './ranges'

const suspect = (fields: Partial<Suspect> = {}): Suspect => ({
  source: 'shop',
  channel: 'main',
  topic: 'orders-in',
  partition: 0,
  start: 48_210,
  end: 48_211,
  records: 1,
  ...fields,
})
const first = {
  source: 'shop',
  channel: 'main',
  topic: 'orders-in',
  partition: 0,
  start: 48_210,
  end: 48_211,
}
const second = suspect({ partition: 1, start: 7, end: 10, records: 3 })

it('records are written as the command line takes them', () => {
  expect(parseRange('shop.main:orders-in/0:48210')).toEqual(first)
  expect(parseRange(' a.b.main:x:y/3:7-9 ')).toEqual({
    source: 'a.b',
    channel: 'main',
    topic: 'x:y',
    partition: 3,
    start: 7,
    end: 10,
  })
  for (const wrong of ['', 'shop:orders-in/0:1', 'shop.main:orders-in:1', 'shop.main:t/0:9-7'])
    expect(parseRange(wrong)).toBeNull()
})

describe('records that a pipeline crashes at', () => {
  it('are set aside as they were ticked and written, once the name was typed', async () => {
    const asked = vi.fn()
    const closed = vi.fn()
    given.post('/pipelines/orders/quarantine', async (request) => {
      asked(await request.json())
      return { offered: [], ranges: [], operation: null }
    })
    show(<QuarantineDialog name="orders" offered={[suspect(), second]} onClose={closed} />)
    expect(await screen.findByRole('button', { name: 'Quarantine 4 records' })).toBeInTheDocument()
    await userEvent.click(screen.getByRole('checkbox', { name: 'Quarantine orders-in/1 offsets 7 to 9' }))
    await userEvent.type(screen.getByLabelText('Other records'), 'shop.main:orders-in/2:5-6')
    await userEvent.type(screen.getByLabelText('Reason'), 'bad bytes')
    await userEvent.type(screen.getByLabelText('Type orders to confirm'), 'orders')
    await userEvent.click(screen.getByRole('button', { name: 'Quarantine 3 records' }))
    await waitFor(() => expect(closed).toHaveBeenCalled())
    const third = { ...first, partition: 2, start: 5, end: 7 }
    expect(asked.mock.calls).toEqual([[{ ranges: [first, third], reason: 'bad bytes', start: true }]])
  })

  it('are not sent while some cannot be read, and a refusal says what is wrong with each', async () => {
    const finding = { path: 'ranges[0]', code: 'BEHIND_POSITION', message: 'It is at 50,000 already.' }
    given.post('/pipelines/orders/quarantine', () =>
      problem(422, 'range_invalid', 'Nothing was put in quarantine.', { findings: [finding] }),
    )
    show(<QuarantineDialog name="orders" offered={[suspect()]} onClose={() => {}} />)
    await userEvent.type(await screen.findByLabelText('Type orders to confirm'), 'orders')
    await userEvent.type(screen.getByLabelText('Other records'), 'x')
    const act = screen.getByRole('button', { name: 'Quarantine 1 record' })
    expect(act).toHaveAccessibleDescription('The other records are not valid ranges.')
    await userEvent.clear(screen.getByLabelText('Other records'))
    await userEvent.click(screen.getByRole('button', { name: 'Quarantine 1 record' }))
    expect(await screen.findByText('It is at 50,000 already.')).toBeInTheDocument()
  })
})

describe('the quarantine', () => {
  const inside: Quarantine['ranges'][number] = {
    ...second,
    cause: 'bad bytes',
    passed: false,
    created_at: T0,
    created_by: 'ana',
  }

  it('says what is in it, why, and whether it was passed', async () => {
    given.get('/pipelines/orders', () => detail({ phase: 'FAILED' }))
    given.get('/pipelines/orders/quarantine', () => ({ offered: [], ranges: [inside], operation: null }))
    show(<QuarantinePanel name="orders" readOnly={null} />)
    const row = within(await screen.findByRole('row', { name: /orders-in\/1/ }))
    expect(row.getByText('bad bytes')).toBeInTheDocument()
    expect(row.getByText('Ahead')).toBeInTheDocument()
  })

  it('takes nothing in while a run exists, and says so', async () => {
    given.get('/pipelines/orders', () => detail())
    given.get('/pipelines/orders/quarantine', () => ({ offered: [], ranges: [], operation: null }))
    show(<QuarantinePanel name="orders" readOnly={null} />)
    expect(await screen.findByText('No records in quarantine')).toBeInTheDocument()
    await waitFor(() =>
      expect(screen.getByRole('button', { name: 'Quarantine records' })).toHaveAccessibleDescription(
        /Stop the pipeline first/,
      ),
    )
  })
})
