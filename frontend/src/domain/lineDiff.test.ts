import { hunks, lineDiff } from './lineDiff'

const shown = (before: string, after: string) =>
  lineDiff(before, after).map(({ op, text }) => `${{ same: ' ', added: '+', removed: '-' }[op]}${text}`)

describe('the difference of two texts', () => {
  it.each([
    ['', '', []],
    ['a\n', 'a', [' a']],
    ['', 'a\nb\n', ['+a', '+b']],
    ['a\nb\n', '', ['-a', '-b']],
    ['a\nb\nc\n', 'a\nx\nc\n', [' a', '-b', '+x', ' c']],
    ['a\nb\nc\nd\n', 'b\nc\ne\nd\n', ['-a', ' b', ' c', '+e', ' d']],
    ['a\na\n', 'a\n', [' a', '-a']],
  ])('from %j to %j', (before, after, lines) => expect(shown(before, after)).toEqual(lines))

  it('numbers the lines of either text', () => {
    expect(lineDiff('a\nb\n', 'x\nb\n')).toEqual([
      { op: 'removed', text: 'a', before: 1, after: null },
      { op: 'added', text: 'x', before: null, after: 1 },
      { op: 'same', text: 'b', before: 2, after: 2 },
    ])
  })

  it('leaves out what is far from every change', () => {
    const before = Array.from({ length: 30 }, (_, line) => `line ${line}`).join('\n')
    const after = before.replace('line 5\n', 'line five\n').replace('line 25\n', '')
    const parts = hunks(lineDiff(before, after))
    expect(parts.map((part) => [part[0]?.text, part.at(-1)?.text])).toEqual([
      ['line 2', 'line 8'],
      ['line 22', 'line 28'],
    ])
    expect(hunks(lineDiff(before, before))).toEqual([])
  })

  it('of texts without a line in common that are long is quick', () => {
    const text = (word: string) => Array.from({ length: 5_000 }, (_, line) => `${word} ${line}`).join('\n')
    expect(lineDiff(text('a'), text('b'))).toHaveLength(10_000)
  })
})
