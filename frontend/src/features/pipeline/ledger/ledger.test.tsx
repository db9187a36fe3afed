import { screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import type { ChannelLedgerTotals, ComponentTotals, LedgerBatch } from '@/api/types'
import { NONE } from '@/lib/format'
import { channelTotals, ledgerTotals } from '@/testing/factories'
import { show } from '@/testing/render'
import { partsText } from './parts'
import { Summary } from './Summary'

const FIRST = 'sources.shop.interceptors[0]'

const part = (fields: Partial<ComponentTotals>): ComponentTotals => ({
  component: FIRST,
  type: 'regex_filter',
  first_revision: 1,
  last_revision: 4,
  added: 0,
  routed_elsewhere: 0,
  filtered: 0,
  unrouted: 0,
  dead_lettered: 0,
  ...fields,
})

const summary = (...components: ComponentTotals[]) => (
  <Summary
    name="orders"
    ledgerTotals={ledgerTotals({
      channels: [channelTotals({ filtered: 1_210, components, not_by_component: { filtered: 10 } })],
    })}
  />
)

describe('the totals of a channel', () => {
  it('show the parts of each component when a user asks for them', async () => {
    show(summary(part({ filtered: 1_200 })))
    expect(screen.queryByText(FIRST)).not.toBeInTheDocument()
    const button = screen.getByRole('button', { name: 'By component' })
    expect(button).toHaveAttribute('aria-expanded', 'false')
    await userEvent.click(button)
    expect(button).toHaveAttribute('aria-expanded', 'true')
    const row = screen.getByRole('row', { name: /interceptors\[0\]/ })
    expect(row).toHaveTextContent('regex_filter')
    expect(row).not.toHaveTextContent('revision')
    expect(within(row).getByText('1,200')).toBeInTheDocument()
    expect(screen.getByRole('row', { name: /Not counted by component/ })).toHaveTextContent('10')
  })

  it('name the revisions where another component has stood at the same path', async () => {
    const other = part({ type: 'python', first_revision: 5, last_revision: 5, filtered: 7 })
    show(summary(part({ filtered: 3 }), other))
    await userEvent.click(screen.getByRole('button', { name: 'By component' }))
    expect(screen.getByText('regex_filter, revisions 1 to 4')).toBeInTheDocument()
    expect(screen.getByText('python, revision 5')).toBeInTheDocument()
  })

  it('show the bytes that were delivered, and of how many records nobody has counted them', () => {
    const shown = (fields: Partial<ChannelLedgerTotals>) =>
      show(<Summary name="orders" ledgerTotals={ledgerTotals({ channels: [channelTotals(fields)] })} />)
    const row = () => screen.getByRole('row', { name: /shop/ })
    const { unmount } = shown({ delivered_bytes: 3_145_728 })
    expect(within(row()).getByText('3 MiB')).toBeInTheDocument()
    expect(row()).not.toHaveTextContent('not counted')
    unmount()
    const partly = shown({ delivered_bytes: 0, delivered_without_bytes: 1_200 })
    expect(within(row()).getByText('0 B')).toBeInTheDocument()
    expect(row()).toHaveTextContent('1,200 records not counted')
    partly.unmount()
    shown({ delivered_bytes: null, delivered_without_bytes: 990 })
    expect(within(row()).getByText(NONE, { exact: false })).toHaveTextContent('990 records not counted')
  })

  it('offer nothing where components decide nothing', () => {
    show(<Summary name="orders" ledgerTotals={ledgerTotals({ channels: [channelTotals()] })} />)
    expect(screen.queryByRole('button', { name: 'By component' })).not.toBeInTheDocument()
  })
})

describe('the parts of a batch', () => {
  const batch = (filtered: number, components: LedgerBatch['components']) =>
    ({ filtered, components }) as LedgerBatch

  it('are named, or said to be unknown', () => {
    const components = { [FIRST]: { filtered: 1_200 }, 'sources.shop.selector': { unrouted: 1 } }
    expect(partsText('filtered', batch(1_200, components))).toBe(`${FIRST}: 1,200`)
    expect(partsText('filtered', batch(3, null))).toBe('Not counted by component')
    expect(partsText('filtered', batch(0, null))).toBeUndefined()
  })
})
