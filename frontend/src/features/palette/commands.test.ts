import { PIPELINE_TABS } from '@/lib/places'
import { pipeline } from '@/testing/factories'
import { commandGroups, pipelineOf, type Doing, type Known } from './commands'

const places = [{ to: '/alerts' as const, label: 'Alerts', icon: () => null, under: [] }] as never
const KNOWN: Known = { places, pipelines: [], current: null, mayOperate: true }

function doing(): Doing & { went: string[] } {
  const went: string[] = []
  const nothing = () => undefined
  return {
    went,
    go: (to) => went.push(to),
    showShortcuts: nothing,
    setColours: nothing,
    setTimes: nothing,
    setDensity: nothing,
  }
}

const groupsOf = (known: Partial<Known>, effects = doing()) => commandGroups({ ...KNOWN, ...known }, effects)
const labelsOf = (known: Partial<Known>, group: string) =>
  groupsOf(known)
    .find((each) => each.group === group)
    ?.actions.map(({ label }) => label)

describe('the commands of the palette', () => {
  it('list pipelines in the order in which they need action', () => {
    const pipelines = [
      pipeline({ name: 'clicks', phase: 'STOPPED' }),
      pipeline({ name: 'orders', phase: 'BLOCKED', host: 'alpha', labels: { team: 'shop' } }),
      pipeline({ name: 'carts', phase: 'RUNNING' }),
    ]
    expect(labelsOf({ pipelines }, 'Pipelines')).toEqual(['orders', 'carts', 'clicks'])
    const [first] = groupsOf({ pipelines }).find(({ group }) => group === 'Pipelines')?.actions ?? []
    expect(first).toMatchObject({ description: 'Blocked on alpha', keywords: ['team=shop'] })
  })

  it('begin with the parts of the open pipeline, whatever its name holds', () => {
    const effects = doing()
    const [first] = groupsOf({ current: 'a b' }, effects)
    expect(first?.group).toBe('a b')
    for (const { run } of first?.actions ?? []) run()
    expect(effects.went).toHaveLength(PIPELINE_TABS.length + 1)
    expect(effects.went[0]).toBe('/pipelines/a%20b')
    expect(effects.went).toContain('/pipelines/a%20b/dead-letters')
    expect(effects.went.at(-1)).toBe('/migrations/new?pipeline=a+b')
  })

  it('offer nothing that a viewer may not do', () => {
    expect(labelsOf({ mayOperate: false }, 'Create')).toBeUndefined()
    expect(labelsOf({ mayOperate: false, current: 'orders' }, 'orders')).not.toContain(
      'orders: New migration',
    )
    expect(labelsOf({}, 'Create')).toEqual(['New pipeline', 'New migration'])
  })

  it('have an identity each', () => {
    const pipelines = [pipeline({ name: 'light' }), pipeline({ name: 'new pipeline' })]
    const ids = groupsOf({ pipelines, current: 'light' }).flatMap(({ actions }) =>
      actions.map(({ id }) => id),
    )
    expect(new Set(ids).size).toBe(ids.length)
  })
})

it.each([
  ['/pipelines/orders', 'orders'],
  ['/pipelines/a%20b/ledger', 'a b'],
  ['/pipelines/new', null],
  ['/migrations', null],
])('%s is about %s', (pathname, name) => {
  expect(pipelineOf(pathname)).toBe(name)
})
