const MOST_LINES = 4

/** The first line of words that is free from `x` on; null where there is none, and the upright stands alone. */
export function freeLine(ends: number[], x: number): number | null {
  const free = ends.findIndex((end) => end <= x)
  if (free >= 0) return free
  return ends.length < MOST_LINES ? ends.length : null
}
