import type { Path } from './paths'

export type Mapping = Record<string, unknown>

export const isMapping = (value: unknown): value is Mapping =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The value at a path; undefined where there is none. */
export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((here, part) => {
    if (Array.isArray(here)) return here[part as number] as unknown
    return isMapping(here) && Object.hasOwn(here, part) ? here[part] : undefined
  }, value)
}

/** The same data in the same order; definitions are JSON. */
export const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)
