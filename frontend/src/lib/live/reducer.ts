import type { LiveFrame, Pipeline, PipelineStatus, SeriesPoint } from '@/api/types'

/** An older frame that arrives late must not undo what a newer answer has already said. */
export function isOutdated(pipeline: Pick<Pipeline, 'generation' | 'updated_at'>, frame: LiveFrame): boolean {
  if (frame.generation !== pipeline.generation) return frame.generation < pipeline.generation
  return Date.parse(frame.updated_at) < Date.parse(pipeline.updated_at)
}

export function applyFrame<T extends Pipeline>(pipeline: T, frame: LiveFrame): T {
  if (pipeline.name !== frame.pipeline || isOutdated(pipeline, frame)) return pipeline
  return {
    ...pipeline,
    phase: frame.phase,
    desired_state: frame.desired_state,
    generation: frame.generation,
    observed_generation: frame.observed_generation,
    live: frame.live,
    updated_at: frame.updated_at,
  }
}

export function applyFrames(pipelines: Pipeline[], frames: ReadonlyMap<string, LiveFrame>): Pipeline[] {
  return pipelines.map((pipeline) => {
    const frame = frames.get(pipeline.name)
    return frame ? applyFrame(pipeline, frame) : pipeline
  })
}

export function applyToStatus(status: PipelineStatus, frame: LiveFrame): PipelineStatus {
  const applied = applyFrame(status, frame)
  if (applied === status) return status
  return { ...applied, lag: frame.live.lag_records, queries: frame.queries ?? status.queries }
}

/** A phase, a wish or a generation that moved: actions, operation and conditions of the cached object are out of date. */
export function changesMeaning(pipeline: Pipeline, frame: LiveFrame): boolean {
  if (isOutdated(pipeline, frame)) return false
  return (
    pipeline.phase !== frame.phase ||
    pipeline.desired_state !== frame.desired_state ||
    pipeline.generation !== frame.generation
  )
}

export function pointOf(frame: LiveFrame): SeriesPoint | null {
  const { as_of: at, records_per_second, lag_records } = frame.live
  return at ? { at, records_per_second, lag_records } : null
}

/** Appends a point, drops what has left the window, and ignores a point that is not newer than the last. */
export function appendPoint(points: SeriesPoint[], point: SeriesPoint, windowMs: number): SeriesPoint[] {
  const last = points.at(-1)
  const time = Date.parse(point.at)
  if (last && time <= Date.parse(last.at)) return points
  const start = points.findIndex(({ at }) => Date.parse(at) >= time - windowMs)
  return [...(start < 0 ? [] : points.slice(start)), point]
}
