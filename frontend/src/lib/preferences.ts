import { stored, useStored, type Stored } from './stored'

/** Times are shown in UTC or in the browser's zone. */
export type TimeZone = 'utc' | 'local'

/** How much room there is around what is shown. */
export type Density = 'comfortable' | 'compact'

/** One of a few values, the first unless another was chosen. */
function oneOf<T extends string>(key: string, values: readonly [T, ...T[]]): Stored<T> {
  return stored<T>(key, (text) => values.find((value) => value === text) ?? values[0], String)
}

const zone = oneOf<TimeZone>('headgate.time-zone', ['local', 'utc'])
const density = oneOf<Density>('headgate.density', ['comfortable', 'compact'])

export const setTimeZone = (next: TimeZone): void => zone.update(() => next)
export const setDensity = (next: Density): void => density.update(() => next)

/** Styles find the density at the root of the document. */
export function applyDensity(): void {
  const apply = () => (document.documentElement.dataset.density = density.get())
  density.subscribe(apply)
  apply()
}

export const useTimeZone = (): TimeZone => useStored(zone)
export const useDensity = (): Density => useStored(density)
