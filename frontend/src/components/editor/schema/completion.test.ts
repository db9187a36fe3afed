import { CompletionContext } from '@codemirror/autocomplete'
import { EditorState } from '@codemirror/state'
import definitionSchema from '../../../../definition-schema.json'
import { definitionCompletions } from './completion'
import { hoverAt } from './hover'
import { SchemaTree, type Schema } from './schema'

const tree = new SchemaTree(definitionSchema as unknown as Schema)
const NAMES = { clusters: ['analytics'], hosts: ['alpha'], secrets: ['shop-kafka'] }
const REST = `channels:
  main: {type: direct}
  audit: {type: memory}
sinks:
  clean: {type: "null", channel: main}
`

/** What is offered at the mark ¦ in a text. */
function offered(marked: string) {
  const position = marked.indexOf('¦')
  const state = EditorState.create({ doc: marked.replace('¦', '') })
  return definitionCompletions(tree, NAMES)(new CompletionContext(state, position, true))
}

const labels = (marked: string) => offered(marked)?.options.map(({ label }) => label) ?? []

describe('completion', () => {
  it.each([
    ['keys of the text', 'name: a\n¦\n', ['sources', 'delivery'], ['name']],
    ['a key that is begun', 'name: a\nlif¦\n' + REST, ['lifecycle'], ['channels']],
    [
      'keys of a component that are not set',
      `sources:\n  shop:\n    type: kafka\n    topics: [a]\n    ¦\n${REST}`,
      ['bootstrap_servers', 'group_id'],
      ['topics', 'type'],
    ],
    ['the type first', `sources:\n  shop:\n    ¦\n${REST}`, ['type'], ['topics']],
    ['types of components', `sources:\n  shop:\n    type: ¦\n${REST}`, ['kafka', 'taildir'], ['logger']],
    ['types in flow style', `channels:\n  main: {type: ¦}\n`, ['direct', 'memory'], []],
    ['keys in flow style', `channels:\n  main: {type: memory, ¦}\n`, ['capacity'], ['type']],
    ['values', `delivery:\n  mode: ¦\n${REST}`, ['micro_batch', 'real_time'], []],
    [
      'values of several ways',
      `sources:\n  shop:\n    type: kafka\n    start_from: ¦\n${REST}`,
      ['earliest', 'latest'],
      [],
    ],
    ['true and false', `sinks:\n  a:\n    type: http\n    gzip: ¦\n`, ['true', 'false'], []],
    ['channels', `${REST}  other:\n    type: logger\n    channel: ¦\n`, ['main', 'audit'], []],
    [
      'channels in a list',
      `sources:\n  shop:\n    type: kafka\n    selector:\n      type: replicating\n      channels: [¦]\n${REST}`,
      ['main', 'audit'],
      [],
    ],
    ['sinks', `${REST}sink_groups:\n  g:\n    sinks: [¦]\n`, ['clean'], []],
    [
      'sinks as keys',
      `${REST}sink_groups:\n  g:\n    processor:\n      type: failover\n      priorities:\n        ¦\n`,
      ['clean'],
      [],
    ],
    [
      'interceptors',
      `sources:\n  shop:\n    type: kafka\n    interceptors:\n      - ¦\n${REST}`,
      ['type'],
      [],
    ],
    [
      'types of interceptors',
      `sources:\n  shop:\n    type: kafka\n    interceptors:\n      - type: ¦\n${REST}`,
      ['sql', 'static'],
      ['kafka'],
    ],
    [
      'client options',
      `sources:\n  shop:\n    type: kafka\n    options:\n      sec¦\n${REST}`,
      ['security.protocol'],
      [],
    ],
    ['secrets', `sinks:\n  a:\n    type: http\n    password: ¦\n`, ['${secret:shop-kafka}'], []],
    ['clusters', `placement:\n  launcher:\n    type: spark\n    cluster: ¦\n`, ['analytics'], []],
    ['hosts', `placement:\n  host: ¦\n`, ['any', 'alpha'], []],
  ])('offers %s', (_, text, there, missing) => {
    expect(labels(text)).toEqual(expect.arrayContaining(there))
    expect(labels(text).filter((label) => missing.includes(label))).toEqual([])
  })

  it.each([
    ['in a comment', `name: a # ¦\n`],
    ['where any text can stand', `name: ¦\n`],
    ['for a key that does not exist', `nothing:\n  at_all: ¦\n`],
  ])('offers nothing %s', (_, text) => {
    expect(labels(text)).toEqual([])
  })

  it('says type, unit and default of a key', () => {
    const found = offered(`delivery:\n  ¦\n${REST}`)?.options.find(
      ({ label }) => label === 'trigger_interval_ms',
    )
    expect(found).toMatchObject({ detail: 'whole number, ms, default 100', apply: 'trigger_interval_ms: ' })
  })

  it('replaces the word that is begun', () => {
    expect(offered(`delivery:\n  mo¦\n`)?.from).toBe('delivery:\n  '.length)
  })
})

describe('help', () => {
  const TEXT = 'delivery: {trigger_interval_ms: 5}\nsinks:\n  a:\n    type: http\n    colour: blue\n'
  const at = (word: string) => hoverAt(tree, TEXT, TEXT.indexOf(word) + 1)

  it('is about the key under the pointer, with its unit and default', () => {
    expect(at('trigger')).toMatchObject({
      title: 'Trigger interval ms',
      unit: 'ms',
      default: '100',
      required: false,
    })
    expect(TEXT.slice(at('trigger')!.from, at('trigger')!.to)).toBe('trigger_interval_ms')
    expect(at('5}')).toMatchObject({ title: 'Trigger interval ms' })
  })

  it('is about the component at its type', () => {
    expect(at('http')).toMatchObject({ title: 'HTTP' })
    expect(at('http')?.description).toContain('Sends batches of events')
  })

  it('is nothing for what is not known, and in a text that cannot be read', () => {
    expect(at('colour')).toBeNull()
    expect(hoverAt(tree, 'a: [', 0)).toBeNull()
  })
})
