import { Problem } from '@/api/problem'
import type { Phase } from '@/api/types'
import { operation, pipeline } from '@/testing/factories'
import { needingAttention, whyAttention } from './attention'
import { runBulk, type BulkResult } from './bulk'
import { countPhases, filterPipelines, readOverviewSearch, sortPipelines, togglePhase } from './filter'

const names = (rows: { name: string }[]) => rows.map(({ name }) => name)

const ROWS = [
  pipeline({ name: 'orders-10', labels: { team: 'payments' } }),
  pipeline({ name: 'orders-2', phase: 'BLOCKED', host: 'bravo' }),
  pipeline({ name: 'clicks', phase: 'STOPPED', labels: { team: 'web' }, description: 'Page views' }),
]

describe('the filters of the overview', () => {
  it('survive whatever is written into the address', () => {
    expect(readOverviewSearch({ q: 12, phase: '', sort: 'nonsense', down: 'true' })).toEqual({
      q: '12',
      phase: undefined,
      label: undefined,
      sort: undefined,
      down: true,
    })
  })

  it('find by name, description, host, label and word, all of them at once', () => {
    expect(names(filterPipelines(ROWS, { q: 'page' }))).toEqual(['clicks'])
    expect(names(filterPipelines(ROWS, { q: 'orders bravo' }))).toEqual(['orders-2'])
    expect(names(filterPipelines(ROWS, { q: 'blocked' }))).toEqual(['orders-2'])
    expect(names(filterPipelines(ROWS, { q: 'team:web' }))).toEqual(['clicks'])
  })

  it('narrow by several phases and by a label with or without its value', () => {
    expect(names(filterPipelines(ROWS, { phase: 'BLOCKED,STOPPED' }))).toEqual(['orders-2', 'clicks'])
    expect(names(filterPipelines(ROWS, { label: 'team:payments' }))).toEqual(['orders-10'])
    expect(names(filterPipelines(ROWS, { label: 'team' }))).toEqual(['orders-10', 'clicks'])
  })

  it('toggle a phase in the address and leave no empty filter behind', () => {
    const on = togglePhase({ q: 'x' }, 'BLOCKED')
    expect(on).toEqual({ q: 'x', phase: 'BLOCKED' })
    expect(togglePhase(on, 'BLOCKED')).toEqual({ q: 'x', phase: undefined })
  })

  it('sort names as people count', () => {
    expect(names(sortPipelines(ROWS, { sort: 'name' }))).toEqual(['clicks', 'orders-2', 'orders-10'])
    expect(names(sortPipelines(ROWS, { sort: 'name', down: true }))).toEqual([
      'orders-10',
      'orders-2',
      'clicks',
    ])
  })

  it('find the place of a name that came later', () => {
    sortPipelines(ROWS, { sort: 'name' })
    const later = [...ROWS, pipeline({ name: 'orders-9' })]
    expect(names(sortPipelines(later, { sort: 'name' }))).toEqual([
      'clicks',
      'orders-2',
      'orders-9',
      'orders-10',
    ])
  })

  it('sort what needs action first and what is stopped last, if nothing else is asked for', () => {
    expect(names(sortPipelines(ROWS, {}))).toEqual(['orders-2', 'orders-10', 'clicks'])
  })

  it('count only phases that occur', () => {
    expect(countPhases(ROWS).map(({ phase, count }) => [phase, count])).toEqual([
      ['STOPPED', 1],
      ['RUNNING', 1],
      ['BLOCKED', 1],
    ])
  })
})

describe('what needs a person', () => {
  it('comes most urgent first, then the one that waits longest', () => {
    const at = (name: string, phase: Phase, since: string) => pipeline({ name, phase, phase_since: since })
    const rows = [
      at('late', 'FAILED', '2026-11-21T12:00:00Z'),
      at('fine', 'RUNNING', '2026-11-21T09:00:00Z'),
      at('early', 'FAILED', '2026-11-21T10:00:00Z'),
      at('urgent', 'BLOCKED', '2026-11-21T12:30:00Z'),
    ]
    expect(names(needingAttention(rows))).toEqual(['urgent', 'early', 'late'])
  })

  it('says in words what the server said, and that nobody supervises', () => {
    expect(whyAttention(pipeline({ phase: 'BLOCKED', phase_message: 'Sink lake refused.' }))).toBe(
      'Sink lake refused.',
    )
    expect(whyAttention(pipeline({ supervised: false }))).toContain('Not supervised: the worker on alpha')
    expect(whyAttention(pipeline({ phase: 'FAILED', phase_message: 'Gone.', supervised: false }))).toMatch(
      /^Gone\. Not/,
    )
  })
})

describe('a bulk action', () => {
  it('reports one result per pipeline and is not stopped by a failure', async () => {
    const results: BulkResult[] = []
    const rows = [
      pipeline({ name: 'a' }),
      pipeline({ name: 'b' }, []),
      pipeline({ name: 'c' }),
      pipeline({ name: 'd' }),
      pipeline({ name: 'e' }),
    ]
    const send = async (name: string) => {
      if (name === 'c') throw new Problem(403, { detail: 'It is governed.', hint: 'Ask for approval.' })
      if (name === 'd') throw new Problem(503, { detail: 'The database is away.' })
      return operation({ pipeline: name })
    }
    await runBulk('pause', rows, (result) => results.push(result), send)
    const byName = Object.fromEntries(results.map((result) => [result.name, result]))
    expect(byName).toMatchObject({
      a: { state: 'accepted' },
      b: { state: 'refused', text: 'No pause now.' },
      c: { state: 'refused', text: 'It is governed. Ask for approval.' },
      d: { state: 'failed', text: 'The database is away.' },
      e: { state: 'accepted' },
    })
  })

  it('never has more than four requests in flight', async () => {
    let inFlight = 0
    let most = 0
    const send = async (name: string) => {
      inFlight += 1
      most = Math.max(most, inFlight)
      await Promise.resolve()
      inFlight -= 1
      return operation({ pipeline: name })
    }
    const rows = Array.from({ length: 30 }, (_, index) => pipeline({ name: `p${index}` }))
    let answered = 0
    await runBulk('pause', rows, () => (answered += 1), send)
    expect([most, answered]).toEqual([4, 30])
  })
})
