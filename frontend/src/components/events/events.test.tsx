import { screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import type { HeadgateEvent } from '@/api/types'
import { T0 } from '@/testing/factories'
import { show, showRouted } from '@/testing/render'
import { given } from '@/testing/server'
import { CATEGORIES, readEventSearch } from './categories'
import { EventFilters } from './EventFilters'
import { EventList } from './EventList'

const event = (fields: Partial<HeadgateEvent> = {}): HeadgateEvent => ({
  id: 1,
  at: T0,
  kind: 'phase.changed',
  pipeline: 'orders',
  actor: 'system',
  run: null,
  message: 'Paused.',
  data: {},
  ...fields,
})

/** Answers every list with these events, and keeps the query of each request. */
function answering(results: HeadgateEvent[]): URLSearchParams[] {
  const asked: URLSearchParams[] = []
  given.get('/events', (request) => {
    asked.push(new URL(request.url).searchParams)
    return { results, next: null }
  })
  return asked
}

describe('the filter in the address', () => {
  it.each([
    [{}, {}],
    [{ category: 'faults,states' }, { category: 'states,faults' }],
    [{ category: 'faults,weather' }, { category: 'faults' }],
    [{ category: 'weather' }, {}],
    [{ kind: 'migration.*' }, { kind: 'migration.*' }],
    [{ kind: 'phase.changed', category: 'faults' }, { kind: 'phase.changed' }],
    [{ kind: 'No kind!', category: 'faults' }, { category: 'faults' }],
    [{ kind: 7, category: ['faults'] }, {}],
  ])('reads %j as %j', (search, read) => expect(readEventSearch(search)).toEqual(read))
})

describe('the chips', () => {
  const change = vi.fn<(search: object) => void>()
  beforeEach(() => change.mockClear())

  it('name every category and show which are chosen', () => {
    show(<EventFilters search={{ category: 'states,faults' }} onChange={change} />)
    const chosen = screen.getAllByRole('checkbox', { checked: true })
    expect(chosen.map((chip) => chip.getAttribute('value'))).toEqual(['states', 'faults'])
    expect(screen.getAllByRole('checkbox')).toHaveLength(Object.keys(CATEGORIES).length)
  })

  it('add and remove a category', async () => {
    show(<EventFilters search={{ category: 'states' }} onChange={change} />)
    await userEvent.click(screen.getByRole('checkbox', { name: 'Migrations' }))
    expect(change).toHaveBeenLastCalledWith({ category: 'states,migrations', kind: undefined })
    await userEvent.click(screen.getByRole('checkbox', { name: 'State changes' }))
    expect(change).toHaveBeenLastCalledWith({ category: undefined, kind: undefined })
  })

  it('leave a kind that only the address names to be chosen', async () => {
    show(<EventFilters search={{ kind: 'guard.group_moved' }} onChange={change} />)
    expect(screen.getByRole('combobox', { name: 'Kind of event' })).toHaveValue('guard.group_moved')
    await userEvent.click(screen.getByLabelText('Every kind'))
    expect(change).toHaveBeenLastCalledWith({ kind: undefined, category: undefined })
  })
})

describe('the list', () => {
  it('asks for what the filter says', async () => {
    const asked = answering([event()])
    showRouted(<EventList pipeline="orders" search={{ category: 'states,faults' }} onClear={() => {}} />)
    expect(await screen.findByText('Paused.')).toBeVisible()
    expect(asked[0]!.getAll('category')).toEqual(['states', 'faults'])
    expect(asked[0]!.get('pipeline')).toBe('orders')
    expect(asked[0]!.has('kind')).toBe(false)
  })

  it('offers every kind where none matches', async () => {
    const asked = answering([])
    const clear = vi.fn<() => void>()
    showRouted(<EventList search={{ kind: 'sink.failed' }} onClear={clear} />)
    const empty = (await screen.findByText('No events match')).parentElement!
    await userEvent.click(within(empty).getByRole('button', { name: 'Show every kind' }))
    expect(clear).toHaveBeenCalledOnce()
    expect(asked[0]!.getAll('kind')).toEqual(['sink.failed'])
  })

  it('without a filter says that nothing has happened yet', async () => {
    answering([])
    showRouted(<EventList search={{}} onClear={() => {}} />)
    expect(await screen.findByText('No events yet')).toBeVisible()
    expect(screen.queryByRole('button', { name: 'Show every kind' })).toBeNull()
  })
})
