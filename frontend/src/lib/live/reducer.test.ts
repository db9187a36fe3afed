import { frame, pipeline, T0 } from '@/testing/factories'
import { appendPoint, applyFrame, applyFrames, changesMeaning } from './reducer'

const point = (at: string, rate = 1) => ({ at, records_per_second: rate, lag_records: 0 })

describe('a live frame', () => {
  it('brings phase and figures and leaves the rest alone', () => {
    const before = pipeline({ description: 'mine' })
    const after = applyFrame(before, frame({ phase: 'DEGRADED' }))
    expect(after).toMatchObject({
      phase: 'DEGRADED',
      description: 'mine',
      live: { records_per_second: 1_500 },
    })
    expect(after.allowed_actions).toBe(before.allowed_actions)
  })

  it('of an older generation is ignored, however new its time is', () => {
    const before = pipeline({ generation: 4, desired_state: 'PAUSED' })
    expect(applyFrame(before, frame({ generation: 3, updated_at: '2026-11-21T13:00:00Z' }))).toBe(before)
  })

  it('of an older time is ignored within one generation', () => {
    const before = pipeline({ updated_at: '2026-11-21T12:00:05Z' })
    expect(applyFrame(before, frame())).toBe(before)
  })

  it('of a newer generation is taken even when clocks disagree', () => {
    const before = pipeline({ updated_at: '2026-11-21T12:00:05Z' })
    expect(applyFrame(before, frame({ generation: 4, desired_state: 'PAUSED' })).desired_state).toBe('PAUSED')
  })

  it('touches only the rows it names', () => {
    const rows = [pipeline({ name: 'a' }), pipeline({ name: 'b' })]
    const [a, b] = applyFrames(rows, new Map([['b', frame({ pipeline: 'b', phase: 'PAUSED' })]]))
    expect(a).toBe(rows[0])
    expect(b?.phase).toBe('PAUSED')
  })

  it('asks for a new reading only when more than figures changed', () => {
    expect(changesMeaning(pipeline(), frame())).toBe(false)
    expect(changesMeaning(pipeline(), frame({ phase: 'PAUSING' }))).toBe(true)
    expect(changesMeaning(pipeline({ generation: 4 }), frame({ phase: 'PAUSING' }))).toBe(false)
  })
})

describe('a series', () => {
  it('drops what has left the window', () => {
    const points = [point('2026-11-21T11:58:00Z'), point('2026-11-21T11:59:30Z')]
    expect(appendPoint(points, point(T0), 60_000).map(({ at }) => at)).toEqual(['2026-11-21T11:59:30Z', T0])
  })

  it('ignores a point that is not newer than the last', () => {
    const points = [point(T0)]
    expect(appendPoint(points, point(T0, 9), 60_000)).toBe(points)
    expect(appendPoint(points, point('2026-11-21T11:00:00Z'), 60_000)).toBe(points)
  })
})
