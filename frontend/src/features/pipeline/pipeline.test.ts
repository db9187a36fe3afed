import { ledgerTotals } from '@/testing/factories'
import { addressOf, appendText, EMPTY_LOG, headOf, hitsOf, levelOf, MAX_LINES } from './log/buffer'
import { logSearch, wantedOf } from './log/search'
import { stuckFrames } from './runs/stuck'
import { inWords } from './ledger/words'
import { parseLabels, printLabels } from './labels'

describe('the ledger totals in words', () => {
  it('say that every record is accounted for', () => {
    expect(inWords(ledgerTotals())).toBe(
      '1,000 read, 990 delivered, 10 filtered; every record is accounted for, no duplicates.',
    )
    expect(inWords(ledgerTotals({ duplicates_max: 1 }))).toContain('at most 1 possible duplicate.')
  })

  it('name the fault', () => {
    expect(inWords(ledgerTotals({ balanced: false, gaps: 2 }))).toContain('the offset ranges show 2 gaps.')
    expect(inWords(ledgerTotals({ balanced: false, gaps: 1, overlaps: 1 }))).toContain('1 gap and 1 overlap.')
    expect(inWords(ledgerTotals({ balanced: false }))).toContain('the ledger is unbalanced.')
  })

  it('say so where nothing was read', () => {
    expect(inWords(ledgerTotals({ read: 0, delivered: 0, filtered: 0 }))).toBe('Nothing has been read yet.')
  })
})

describe('a log', () => {
  const chunk = (text: string) => ({
    text,
    offset: text.length,
    size: text.length,
    rotated: false,
    total: 100,
    searched: text.length,
    components: [],
  })

  it('joins a line that came in two pieces', () => {
    const state = appendText(appendText(EMPTY_LOG, chunk('one\ntw')), chunk('o\nthree\n'))
    expect(state.lines.map(({ text }) => text)).toEqual(['one', 'two', 'three'])
    expect(state.lines.map(({ number }) => number)).toEqual([1, 2, 3])
  })

  it('keeps a bounded number of lines and says that it dropped some', () => {
    const state = appendText(EMPTY_LOG, chunk('x\n'.repeat(MAX_LINES + 5)))
    expect(state.lines).toHaveLength(MAX_LINES)
    expect(state.lines[0]?.number).toBe(6)
    expect(state.dropped).toBe(true)
  })

  const at = '2026-01-01T00:00:00.000Z'
  const text = `printed\n${at} ERROR   jvm orders/1: x\n\tat y Y\n${at} INFO    driver orders/1: z\n`

  it('has addresses of lines as the server has them, those that belong to others without', () => {
    const { lines } = appendText(EMPTY_LOG, chunk(text))
    expect(lines.map((line) => addressOf(line.text))).toEqual([
      null,
      `${at}~4a22d075`,
      null,
      `${at}~8e02bf13`,
    ])
    expect(headOf(lines, 2)?.number).toBe(2)
    expect(headOf(lines, 0)).toBeNull()
  })

  it('finds every match in any case of letters', () => {
    const { lines } = appendText(EMPTY_LOG, chunk(text))
    expect(hitsOf(lines, 'Y')).toEqual([
      { line: 3, start: 4 },
      { line: 3, start: 6 },
    ])
    expect(hitsOf(lines, '')).toEqual([])
  })

  it('is searched by the server where only matching lines are wanted, and shows a line without filters', () => {
    const search = logSearch({ run: 3, find: 12, only: true, level: 'ERROR', since: '5m', wrap: 'x' })
    expect(search).toEqual({ run: 3, find: '12', only: true, level: 'ERROR', since: '5m' })
    expect(wantedOf(search)).toEqual({ level: 'ERROR', component: undefined, since: '5m', find: '12' })
    expect(wantedOf({ find: 'x' }).find).toBeUndefined()
    expect(wantedOf({ ...search, at: 'a' })).toEqual({ at: 'a' })
  })

  it('knows the level of a line by its word', () => {
    expect([levelOf('26/11/21 ERROR Task'), levelOf('WARN x'), levelOf('errors=0 warned')]).toEqual([
      'error',
      'warn',
      'plain',
    ])
  })
})

describe('labels as text', () => {
  it('go there and back', () => {
    const labels = { team: 'payments', url: 'a:b' }
    expect(parseLabels(printLabels(labels))).toEqual({ value: labels, error: null })
    expect(parseLabels('  a:1,  b:2 ')).toEqual({ value: { a: '1', b: '2' }, error: null })
  })

  it('say which part is wrong', () => {
    expect(parseLabels('a:1 oops').error).toBe('“oops” is not of the form key:value.')
  })
})

it('marks the latest call of a thread in which a component is stuck, and the call of the component', () => {
  const text = [
    'Thread 0x1 (most recent call first):',
    '  File "ssl.py", line 10 in read',
    '  File "invoking.py", line 3 in sinks.lake',
    '',
    'Thread 0x2 (most recent call first):',
    '  File "threading.py", line 9 in wait',
    '  File "invoking.py", line 3 in sinks.other',
  ].join('\n')
  expect([...stuckFrames(text, ['sinks.lake'])]).toEqual([
    [2, 'component'],
    [1, 'blocked'],
  ])
})
