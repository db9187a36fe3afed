import { ledgerTotals } from '@/testing/factories'
import { appendText, EMPTY_LOG, isAtLeast, levelOf, MAX_LINES } from './log/buffer'
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
  const chunk = (text: string) => ({ text, offset: text.length, size: text.length, rotated: false })

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

  it('gives a line without a level that of the line before it', () => {
    const at = '2026-01-01T00:00:00.000Z'
    const text = `printed\n${at} ERROR   jvm orders/1: x\n\tat y\n${at} INFO    driver orders/1: z\nnot an ERROR\n`
    const { lines } = appendText(EMPTY_LOG, chunk(text))
    expect(lines.map(({ level }) => level)).toEqual([null, 'ERROR', 'ERROR', 'INFO', 'INFO'])
    expect(lines.filter((line) => isAtLeast(line, 'WARNING')).map(({ number }) => number)).toEqual([1, 2, 3])
    const more = appendText(appendText(EMPTY_LOG, chunk(`${at} WARNING keeper orders/1: a\n`)), chunk('b\n'))
    expect(more.lines.map(({ level }) => level)).toEqual(['WARNING', 'WARNING'])
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
