import { vi } from 'vitest'
import { T0 } from '@/testing/factories'
import { samples } from './samples'
import { Seeding } from './seeding'

const at = (seconds: number) => new Date(Date.parse(T0) + seconds * 1_000).toISOString()
const point = (seconds: number) => ({ at: at(seconds), records_per_second: 1, lag_records: seconds })

describe('the points of sparklines', () => {
  it('are not kept of pipelines that nobody has looked at', () => {
    samples.add('never-shown', point(0))
    expect(samples.get('never-shown')).toEqual([])
  })

  it('continue the past of a pipeline that is shown', async () => {
    const listener = vi.fn()
    const leave = samples.subscribe('shown', listener)
    new Seeding(() => Promise.resolve([point(-2), point(-1)])).want('shown')
    samples.add('shown', point(0))
    await vi.waitFor(() => expect(samples.get('shown')).toHaveLength(3))
    samples.add('shown', point(1))
    expect(samples.get('shown').map(({ lag_records }) => lag_records)).toEqual([-2, -1, 0, 1])
    expect(listener).toHaveBeenCalledTimes(3)
    leave()
  })

  it('of a past that cannot be read begin with what the stream brings', async () => {
    const fetch = vi.fn(() => Promise.reject(new Error('gone')))
    new Seeding(fetch).want('no-past')
    await vi.waitFor(() => expect(fetch).toHaveBeenCalled())
    samples.add('no-past', point(5))
    expect(samples.get('no-past')).toEqual([point(5)])
  })
})
