import { vi } from 'vitest'
import { keys } from '@/api/keys'
import type { HeadgateEvent, Pipeline } from '@/api/types'
import { detail, frame, pipeline, T0 } from '@/testing/factories'
import { testClient } from '@/testing/render'
import { given } from '@/testing/server'
import { LiveSync } from './sync'

const event = (fields: Partial<HeadgateEvent>): HeadgateEvent => ({
  id: 1,
  at: T0,
  kind: 'phase.changed',
  pipeline: 'orders',
  actor: '',
  run: null,
  message: '',
  data: {},
  ...fields,
})

function setUp() {
  const client = testClient()
  client.setQueryData<Pipeline[]>(keys.pipelines, [pipeline(), pipeline({ name: 'clicks' })])
  return {
    client,
    sync: new LiveSync(client),
    row: () => client.getQueryData<Pipeline[]>(keys.pipelines)![0]!,
  }
}

describe('the stream in the cache', () => {
  it('gathers frames and applies the last of each pipeline', () => {
    vi.useFakeTimers()
    const { sync, row } = setUp()
    sync.onLive(frame({ live: { ...frame().live, lag_records: 5 } }))
    sync.onLive(frame({ live: { ...frame().live, lag_records: 7 } }))
    expect(row().live.lag_records).toBe(200)
    vi.advanceTimersByTime(250)
    expect(row().live.lag_records).toBe(7)
  })

  it('reads a pipeline again when its phase changed, so that its actions are true again', async () => {
    const { sync, row } = setUp()
    const paused = detail({ phase: 'PAUSED', desired_state: 'PAUSED', allowed_actions: [] })
    given.get('/pipelines/orders', () => paused)
    sync.onLive(frame({ phase: 'PAUSED' }))
    sync.flush()
    await vi.waitFor(() => expect(row().allowed_actions).toEqual([]))
  })

  it('reads nothing again for figures alone', () => {
    const { client, sync } = setUp()
    const invalidate = vi.spyOn(client, 'invalidateQueries')
    sync.onLive(frame())
    sync.flush()
    expect(invalidate).not.toHaveBeenCalled()
  })

  it('reads alerts and their count again when one opens', () => {
    const { client, sync } = setUp()
    const invalidate = vi.spyOn(client, 'invalidateQueries')
    sync.onEvent(event({ kind: 'alert.opened', pipeline: null }))
    sync.flush()
    expect(invalidate).toHaveBeenCalledWith({ queryKey: keys.anyAlert })
  })

  it('reads the list once when many pipelines changed at once', () => {
    const { client, sync } = setUp()
    const invalidate = vi.spyOn(client, 'invalidateQueries')
    for (let index = 0; index < 50; index += 1) sync.onEvent(event({ pipeline: `p${index}` }))
    sync.flush()
    const lists = invalidate.mock.calls.filter(([filter]) => filter?.queryKey === keys.pipelines)
    expect(lists).toHaveLength(1)
  })

  it('reads after a pause, and all of it at once, what changes in a storm of events', () => {
    vi.useFakeTimers()
    const { client, sync } = setUp()
    const invalidate = vi.spyOn(client, 'invalidateQueries')
    const reads = (key: readonly string[]) =>
      invalidate.mock.calls.filter(([filter]) => filter?.queryKey?.join() === key.join()).length
    for (let index = 0; index < 100; index += 1) {
      for (let each = 0; each < 20; each += 1) sync.onEvent(event({ pipeline: `p${index}-${each}` }))
      vi.advanceTimersByTime(250)
    }
    expect(reads(keys.pipelines)).toBe(5)
    vi.advanceTimersByTime(5_000)
    expect(reads(keys.pipelines)).toBe(6)
    expect(reads(keys.pipeline('p99-19'))).toBe(1)
    vi.advanceTimersByTime(60_000)
    expect(reads(keys.pipelines)).toBe(6)
    sync.onEvent(event({ kind: 'alert.opened', pipeline: null }))
    vi.advanceTimersByTime(250)
    expect(reads(keys.anyAlert)).toBe(1)
  })

  it('reads the list again when a pipeline came or went', () => {
    const { client, sync } = setUp()
    const invalidate = vi.spyOn(client, 'invalidateQueries')
    sync.onEvent(event({ kind: 'pipeline.created', pipeline: 'new' }))
    sync.flush()
    expect(invalidate).toHaveBeenCalledWith({ queryKey: keys.pipelines })
  })
})
