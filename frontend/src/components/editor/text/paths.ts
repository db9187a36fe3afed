/** A place in a definition: keys of mappings and indices of lists. */
export type Path = readonly (string | number)[]

const PART = /\.?([A-Za-z0-9_-]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/y

/** A path as findings write it, `sources.shop.interceptors[1].regex`; null where it was shortened. */
export function parsePath(written: string): Path | null {
  const path: (string | number)[] = []
  PART.lastIndex = 0
  while (PART.lastIndex < written.length) {
    const [, key, index, quoted] = PART.exec(written) ?? []
    if (key !== undefined) path.push(key)
    else if (index !== undefined) path.push(Number(index))
    else if (quoted !== undefined) path.push(JSON.parse(quoted) as string)
    else return null
  }
  return path
}

/** A path as findings write it. */
export function writePath(path: Path): string {
  return path.reduce<string>((written, part) => {
    if (typeof part === 'number') return `${written}[${part}]`
    if (!/^[A-Za-z0-9_-]+$/.test(part)) return `${written}[${JSON.stringify(part)}]`
    return written ? `${written}.${part}` : part
  }, '')
}

export const startsWith = (path: Path, prefix: Path) => prefix.every((part, index) => path[index] === part)

export const samePath = (one: Path, other: Path) => one.length === other.length && startsWith(one, other)
