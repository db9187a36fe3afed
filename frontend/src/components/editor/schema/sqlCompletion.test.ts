import { CompletionContext } from '@codemirror/autocomplete'
import { EditorState } from '@codemirror/state'
import { sqlCompletions } from './sqlCompletion'

const UPPER = { name: 'upper', signature: 'upper(text)', description: 'In upper case.' }

/** What is offered at the mark ¦ in a text. */
async function offered(marked: string, explicit = false) {
  const pos = marked.indexOf('¦')
  const state = EditorState.create({ doc: marked.replace('¦', '') })
  return sqlCompletions([UPPER])(new CompletionContext(state, pos, explicit))
}

const interceptor = (lines: string) =>
  `sources:\n  shop:\n    interceptors:\n      - type: timestamp\n      - type: sql\n${lines}\nsinks: {}\n`

describe('completion of expressions', () => {
  it('offers inputs and functions behind a key of an interceptor in SQL', async () => {
    const found = await offered(interceptor('        where: upp¦'))
    expect(found?.options.map(({ label }) => label)).toEqual([
      'body',
      'headers',
      'json',
      'key',
      'timestamp',
      'upper',
    ])
    expect(found?.options.at(-1)).toMatchObject({ detail: '(text)', info: 'In upper case.', apply: 'upper(' })
  })

  it.each([
    ['in set', '        set:\n          headers.a: concat(bo¦'],
    ['in a folded text', '        where: >-\n          body = 1\n          AND upp¦'],
    ['in flow style', "        set: {'headers.a': upp¦"],
    ['before the type', '        where: "upp¦"'],
  ])('offers them %s', async (_, lines) => {
    expect(await offered(interceptor(lines))).not.toBeNull()
  })

  it('offers them in an interceptor of one line', async () => {
    expect(await offered('interceptors:\n  - {type: sql, where: upp¦}\n')).not.toBeNull()
    expect(await offered('interceptors:\n  - where: upp¦\n    type: sql\n')).not.toBeNull()
  })

  it.each([
    ['for a key', interceptor('        whe¦')],
    ['for a field', interceptor('        where: json.upp¦')],
    ['for a field of a variant', interceptor('        where: json:upp¦')],
    ['without a word', interceptor('        where: ¦')],
    ['in another interceptor', interceptor('        where: x\n      - type: static\n        key: upp¦')],
    ['elsewhere', interceptor('        where: x').replace('sinks: {}', 'name: upp¦')],
    ['in an empty text', '¦'],
  ])('offers nothing %s', async (_, text) => {
    expect(await offered(text)).toBeNull()
  })

  it('offers them without a word where the user asks', async () => {
    expect(await offered(interceptor('        where: ¦'), true)).not.toBeNull()
  })
})
