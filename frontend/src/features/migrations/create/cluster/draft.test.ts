import { asDefinition, choose, type ClusterDraft, clusterMissing, clusterSpec, movable, pair } from './draft'

const definition = {
  name: 'orders',
  sources: {
    shop: {
      type: 'kafka',
      bootstrap_servers: 'old:9092',
      topics: ['orders', 'returns'],
      group_id: 'headgate.orders',
      options: { 'sasl.password': '${secret:old}', 'request.timeout.ms': 5000 },
    },
    gate: { type: 'http' },
  },
  sinks: { out: { type: 'kafka', bootstrap_servers: 'old:9092', topic: 'out' } },
}
const offset = (topic: string, partition: string, at: string) => ({
  ...{ id: `${topic}/${partition}`, topic, partition, offset: at },
})

function source(fields: Partial<ClusterDraft> = {}): ClusterDraft {
  return {
    ...choose(definition, 'sources.shop'),
    servers: ' new:9092 ',
    syncs: 'mm2-offset-syncs.new.internal',
    ...fields,
  }
}

it('offers the components that lie on a Kafka cluster', () => {
  expect(movable(definition)).toEqual(['sources.shop', 'sinks.out'])
  expect(movable({})).toEqual([])
})

describe('what is asked for', () => {
  it('has only what differs from now', () => {
    expect(clusterSpec(source())).toEqual({
      source: 'shop',
      to: { bootstrap_servers: 'new:9092' },
      positions: { by: 'mapping', topic: 'mm2-offset-syncs.new.internal' },
    })
  })

  it('has all options where one changes, and keeps the type of the others', () => {
    const before = source()
    const options = before.options.map((row) =>
      row.name === 'sasl.password' ? { ...row, value: '${secret:new}' } : row,
    )
    expect(clusterSpec({ ...before, options: [...options, pair()] }).to).toEqual({
      bootstrap_servers: 'new:9092',
      options: { 'sasl.password': '${secret:new}', 'request.timeout.ms': 5000 },
    })
  })

  it('renames the topics that have another name there', () => {
    const before = source({ group: 'other', on: 'new' })
    const topics = before.topics.map((row) => (row.name === 'orders' ? { ...row, value: 'old.orders' } : row))
    expect(clusterSpec({ ...before, topics })).toEqual({
      source: 'shop',
      to: { bootstrap_servers: 'new:9092', group_id: 'other' },
      topics: { orders: 'old.orders' },
      positions: { by: 'mapping', topic: 'mm2-offset-syncs.new.internal', on: 'new' },
    })
    const sent = JSON.parse(asDefinition(definition, { ...before, topics }))
    expect(sent.sources.shop).toMatchObject({
      topics: ['old.orders', 'returns'],
      bootstrap_servers: 'new:9092',
    })
    expect(sent.sinks).toEqual(definition.sinks)
  })

  it('finds positions by time, or has them given', () => {
    expect(clusterSpec(source({ by: 'timestamp' })).positions).toEqual({ by: 'timestamp' })
    const offsets = [offset('orders', '0', '12'), offset('orders', '1', '9'), offset('', '', '')]
    expect(clusterSpec(source({ by: 'given', offsets })).positions).toEqual({
      by: 'given',
      offsets: { orders: { 0: 12, 1: 9 } },
    })
  })

  it('of a sink has a topic, and no positions', () => {
    const sink = { ...choose(definition, 'sinks.out'), servers: 'new:9092', topic: 'there' }
    expect(clusterMissing(sink)).toBeNull()
    expect(clusterSpec(sink)).toEqual({
      sink: 'out',
      to: { bootstrap_servers: 'new:9092', topic: 'there' },
    })
  })
})

it.each([
  [{ path: null }, 'Choose the source or sink to move first.'],
  [{ servers: ' ' }, 'Enter the bootstrap servers of the new cluster first.'],
  [{ syncs: '' }, "Enter the topic of the mirror's offset syncs first."],
  [{ options: [pair('sasl.username')] }, 'Enter the name and the value of every client option.'],
  [{ options: [pair('a', '1'), pair('a', '2')] }, 'A client option is listed twice.'],
  [
    { options: [pair('sasl.password', '[hidden]')] },
    'The value of sasl.password is hidden. Enter it again as ${secret:NAME}.',
  ],
  [{ by: 'given' as const }, 'Enter the offset of every partition first.'],
  [
    { by: 'given' as const, offsets: [offset('orders', '0', '1.5')] },
    'Each partition needs a topic, a partition number and an offset. Both numbers are whole.',
  ],
  [
    { by: 'given' as const, offsets: [offset('orders', '0', '1'), offset('orders', '00', '2')] },
    'A partition is listed twice.',
  ],
])('says what is missing: %j', (fields, words) => {
  expect(clusterMissing(source(fields))).toBe(words)
})
