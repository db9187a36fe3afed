/** Where a definition lets its agent run. */

export const ANY_HOST = 'any'

/** The host that a definition names; null where it may run on any. */
export function pinnedTo(definition: Record<string, unknown>): string | null {
  const { host } = (definition.placement ?? {}) as { host?: string }
  return host && host !== ANY_HOST ? host : null
}

/** The mapping `placement`, one key to a line, as the API writes definitions; the indent of its keys. */
const BLOCK = /^placement:[^\S\n]*\n([^\S\n]+).*\n?(?:[^\S\n]+.*\n?)*/m

/** A definition's text with `placement.host` set, and nothing else of it touched. */
export function withHost(yaml: string, host: string): string {
  const line = `host: ${JSON.stringify(host)}`
  const [block, indent] = BLOCK.exec(yaml) ?? []
  if (!block) return `${yaml.replace(/\n?$/, '\n')}placement:\n  ${line}\n`
  const known = new RegExp(`^${indent}host:.*$`, 'm')
  const changed = known.test(block)
    ? block.replace(known, () => `${indent}${line}`)
    : block.replace('\n', () => `\n${indent}${line}\n`)
  return yaml.replace(block, () => changed)
}
