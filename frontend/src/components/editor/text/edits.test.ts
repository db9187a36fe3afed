import { changed, edited, type Edit } from './edits'
import { read } from './reading'

const TEXT = `# Orders of the shop.
api_version: headgate/v1
name: orders   # as in the ticket

labels: {team: payments,  tier: "1"}
sources:
  # The shop.
  shop:
    type: kafka
    'topics': [orders]
    start_from: earliest # never latest
    group_id:
    interceptors:
      - {type: timestamp}
      # Drops tests.
      - type: regex_filter
        regex: "^test"   # anchored

      - type: sql
        where: >-
          body = 1
          AND x
channels:
    main: {type: direct}   # four blanks

sinks:
- wrong
# The end.
`

type Case = [string, Edit | Edit[], string[], string[]]

/** What a change takes out of a text, and what it puts in, by lines. */
function difference(before: string, after: string): [string[], string[]] {
  const [old, next] = [before.split('\n'), after.split('\n')]
  let head = 0
  while (head < old.length && old[head] === next[head]) head += 1
  let tail = 0
  while (tail < Math.min(old.length, next.length) - head && old.at(-1 - tail) === next.at(-1 - tail))
    tail += 1
  return [old.slice(head, old.length - tail), next.slice(head, next.length - tail)]
}

const shop = ['sources', 'shop'] as const
const CASES: Case[] = [
  [
    'a plain value',
    { kind: 'set', path: ['name'], value: 'orders-2' },
    ['name: orders   # as in the ticket'],
    ['name: orders-2   # as in the ticket'],
  ],
  [
    'a value that needs quotes',
    { kind: 'set', path: ['name'], value: '12' },
    ['name: orders   # as in the ticket'],
    ['name: "12"   # as in the ticket'],
  ],
  [
    'a quoted value',
    { kind: 'set', path: [...shop, 'interceptors', 1, 'regex'], value: 'a: "b"' },
    ['        regex: "^test"   # anchored'],
    [`        regex: "a: \\"b\\""   # anchored`],
  ],
  [
    'a value that was empty',
    { kind: 'set', path: [...shop, 'group_id'], value: 'g' },
    ['    group_id:'],
    ['    group_id: g'],
  ],
  [
    'a value in flow style',
    { kind: 'set', path: ['labels', 'team'], value: 'a, b' },
    ['labels: {team: payments,  tier: "1"}'],
    ['labels: {team: "a, b",  tier: "1"}'],
  ],
  [
    'a folded text',
    { kind: 'set', path: [...shop, 'interceptors', 2, 'where'], value: 'x' },
    ['        where: >-', '          body = 1', '          AND x'],
    ['        where: x'],
  ],
  [
    'a value by lines of text',
    { kind: 'set', path: [...shop, 'interceptors', 1, 'regex'], value: 'a\nb' },
    ['        regex: "^test"   # anchored'],
    ['        regex: "a\\nb"   # anchored'],
  ],
  [
    'a mapping for a value',
    { kind: 'set', path: [...shop, 'group_id'], value: { timestamp: '2026-01-01T00:00:00Z' } },
    [],
    ['      timestamp: 2026-01-01T00:00:00Z'],
  ],
  [
    'a value for a mapping',
    { kind: 'set', path: ['channels', 'main'], value: null },
    ['    main: {type: direct}   # four blanks'],
    ['    main: null   # four blanks'],
  ],
  [
    'a new key of the text',
    { kind: 'set', path: ['delivery'], value: { mode: 'real_time' } },
    [],
    ['delivery:', '  mode: real_time'],
  ],
  [
    'a new key in its order',
    {
      kind: 'set',
      path: [...shop, 'bootstrap_servers'],
      value: 'b:1',
      order: ['type', 'bootstrap_servers', 'topics'],
    },
    [],
    ['    bootstrap_servers: b:1'],
  ],
  [
    'a new key before all others',
    { kind: 'set', path: [...shop, 'interceptors', 1, 'a'], value: 1, order: ['a', 'type'] },
    ['      - type: regex_filter'],
    ['      - a: 1', '        type: regex_filter'],
  ],
  [
    'a new key in flow style',
    { kind: 'set', path: ['channels', 'main', 'capacity'], value: 5 },
    ['    main: {type: direct}   # four blanks'],
    ['    main: {type: direct, capacity: 5}   # four blanks'],
  ],
  [
    'a new component',
    { kind: 'set', path: ['channels', 'audit'], value: { type: 'memory', list: ['a'] } },
    [],
    ['    audit:', '      type: memory', '      list: [a]'],
  ],
  [
    'a new item in the style of the others',
    { kind: 'set', path: [...shop, 'topics', 1], value: 'more' },
    ["    'topics': [orders]"],
    ["    'topics': [orders, more]"],
  ],
  [
    'a new item in block style',
    { kind: 'set', path: [...shop, 'interceptors', 3], value: { type: 'host', a: { b: 1 } } },
    [],
    ['      - type: host', '        a:', '          b: 1'],
  ],
  [
    'keys that are missing above a value',
    { kind: 'set', path: ['errors', 'dead_letter', 'type'], value: 'file' },
    [],
    ['errors:', '  dead_letter:', '    type: file'],
  ],
  [
    'a key less',
    { kind: 'remove', path: [...shop, 'start_from'] },
    ['    start_from: earliest # never latest'],
    [],
  ],
  [
    'a key less in flow style',
    { kind: 'remove', path: ['labels', 'team'] },
    ['labels: {team: payments,  tier: "1"}'],
    ['labels: {tier: "1"}'],
  ],
  [
    'a key less behind a dash',
    { kind: 'remove', path: [...shop, 'interceptors', 1, 'type'] },
    ['      - type: regex_filter', '        regex: "^test"   # anchored'],
    ['      - regex: "^test"   # anchored'],
  ],
  [
    'an item less, with the comment above it',
    { kind: 'remove', path: [...shop, 'interceptors', 1] },
    ['      # Drops tests.', '      - type: regex_filter', '        regex: "^test"   # anchored'],
    [],
  ],
  [
    'the last one less',
    { kind: 'remove', path: ['channels', 'main'] },
    ['channels:', '    main: {type: direct}   # four blanks'],
    ['channels: {}   # four blanks'],
  ],
  ['another key', { kind: 'rename', path: [...shop], name: 'store' }, ['  shop:'], ['  store:']],
  [
    'another quoted key',
    { kind: 'rename', path: [...shop, 'topics'], name: 'a b' },
    ["    'topics': [orders]"],
    ["    'a b': [orders]"],
  ],
  [
    'another order in flow style',
    { kind: 'exchange', path: ['labels'], index: 0 },
    ['labels: {team: payments,  tier: "1"}'],
    ['labels: {tier: "1",  team: payments}'],
  ],
  [
    'another order of items',
    { kind: 'exchange', path: [...shop, 'interceptors'], index: 0 },
    [
      '      - {type: timestamp}',
      '      # Drops tests.',
      '      - type: regex_filter',
      '        regex: "^test"   # anchored',
    ],
    [
      '      # Drops tests.',
      '      - type: regex_filter',
      '        regex: "^test"   # anchored',
      '      - {type: timestamp}',
    ],
  ],
  [
    'another order behind a dash',
    { kind: 'exchange', path: [...shop, 'interceptors', 1], index: 0 },
    ['      - type: regex_filter', '        regex: "^test"   # anchored'],
    ['      - regex: "^test"   # anchored', '        type: regex_filter'],
  ],
]

describe('a change of a text', () => {
  it.each(CASES)('is %s, and nothing else', (_, edit, out, put) => {
    const edits = [edit].flat()
    const next = edited(TEXT, edits)
    const wanted = edits.reduce(changed, read(TEXT).value)
    expect(JSON.stringify(read(next).value)).toBe(JSON.stringify(wanted))
    expect(difference(TEXT, next)).toEqual([out, put])
  })

  it('writes the first key of an empty text', () => {
    expect(edited('', [{ kind: 'set', path: ['name'], value: 'a' }])).toBe('name: a\n')
    expect(edited('# Note.\n', [{ kind: 'set', path: ['name'], value: 'a' }])).toBe('name: a\n# Note.\n')
  })

  it('writes out an alias that it leads through, and those of what it changes', () => {
    const text = 'a: &x\n  k: 1 # one\nb: *x\nc:\n  - *x\n'
    expect(edited(text, [{ kind: 'set', path: ['b', 'k'], value: 2 }])).toBe(
      'a: &x\n  k: 1 # one\nb: {k: 2}\nc:\n  - *x\n'.replace('{k: 2}', '\n  k: 2').replace('b: \n', 'b:\n'),
    )
    const next = edited(text, [{ kind: 'set', path: ['a', 'k'], value: 2 }])
    expect(read(next).value).toEqual({ a: { k: 2 }, b: { k: 1 }, c: [{ k: 1 }] })
    expect(next).toContain('# one')
  })
})

/** The same numbers on every run. */
function* numbers(seed: number): Generator<number> {
  let state = seed
  for (;;) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    yield state
  }
}

const VALUES = [
  'x',
  '',
  'yes',
  '1',
  'a: b',
  '- c',
  '# d',
  '{e',
  "it's",
  'two\nlines',
  12,
  0.5,
  true,
  null,
  [],
  {},
  ['a', 'b, c'],
  { k: 'v' },
  [{ type: 'a', n: { m: [1] } }],
]

function randomEdit(value: unknown, next: (below: number) => number): Edit {
  let path: (string | number)[] = []
  let here = value
  while (typeof here === 'object' && here !== null && Object.keys(here).length > 0) {
    const list = Array.isArray(here)
    const all = Object.keys(here)
    if (next(6) === 0) {
      const key = list ? all.length : `new_${next(50)}`
      return { kind: 'set', path: [...path, key], value: VALUES[next(VALUES.length)] }
    }
    if (all.length > 1 && next(8) === 0) return { kind: 'exchange', path, index: next(all.length - 1) }
    const key = all[next(all.length)]!
    path = [...path, list ? Number(key) : key]
    here = (here as Record<string, unknown>)[key]
    if (path.length > 1 && next(4) === 0) break
  }
  const parent = path.slice(0, -1)
  const inList = typeof path.at(-1) === 'number'
  const kind = next(4)
  if (kind === 0 && path.length > 1) return { kind: 'remove', path }
  if (kind === 1 && !inList) return { kind: 'rename', path, name: `renamed-${next(1_000)}` }
  if (parent.length === 0 && kind === 2)
    return { kind: 'set', path: ['zz'], value: VALUES[next(VALUES.length)] }
  return { kind: 'set', path, value: VALUES[next(VALUES.length)] }
}

describe('any change', () => {
  it.each(Array.from({ length: 60 }, (_, seed) => seed + 1))(
    'reads as what it should be (seed %i)',
    (seed) => {
      const source = numbers(seed)
      const next = (below: number) => (source.next().value! % 7919) % below
      let text = TEXT
      for (let step = 0; step < 15; step += 1) {
        const { value } = read(text)
        const edit = randomEdit(value, next)
        const wanted = changed(value, edit)
        text = edited(text, [edit])
        expect(read(text).problem).toBeNull()
        expect([edit, JSON.stringify(read(text).value)]).toEqual([edit, JSON.stringify(wanted)])
      }
      expect(text).toMatch(/# Orders of the shop\.[^]*# The end\./)
    },
  )
})
