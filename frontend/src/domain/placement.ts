/** Where a definition lets its agent run. */

export const ANY_HOST = 'any'

/** The host that a definition names; null where it may run on any. */
export function pinnedTo(definition: Record<string, unknown>): string | null {
  const { host } = (definition.placement ?? {}) as { host?: string }
  return host && host !== ANY_HOST ? host : null
}

/** The mapping `placement`, one key to a line; the indent of its keys. */
const BLOCK = /^placement:[^\S\n]*(?:#.*)?\n([^\S\n]+).*\n?(?:[^\S\n]+.*\n?)*/m
/** The same on one line. */
const FLOW = /^placement:[^\S\n]*\{(.*)\}/m
const FLOW_HOST = /(^|,)\s*host:\s*(?:"[^"]*"|'[^']*'|[^,}]*)/

/** A definition's text with `placement.host` set, and nothing else of it touched. */
export function withHost(yaml: string, host: string): string {
  const line = `host: ${JSON.stringify(host)}`
  const flow = FLOW.exec(yaml)
  if (flow) return yaml.replace(flow[0], () => `placement: {${inFlow(flow[1] ?? '', line)}}`)
  const [block, indent] = BLOCK.exec(yaml) ?? []
  if (!block) return `${yaml.replace(/\n?$/, '\n')}placement:\n  ${line}\n`
  const known = new RegExp(`^${indent}host:.*?([^\\S\\n]+#.*)?$`, 'm')
  const first = new RegExp(`\\n(?=${indent}\\S)`)
  const changed = known.test(block)
    ? block.replace(known, (_, comment?: string) => `${indent}${line}${comment ?? ''}`)
    : block.replace(first, () => `\n${indent}${line}\n`)
  return yaml.replace(block, () => changed)
}

function inFlow(keys: string, line: string): string {
  if (FLOW_HOST.test(keys))
    return keys.replace(FLOW_HOST, (_, comma: string) => `${comma}${comma && ' '}${line}`)
  return keys.trim() ? `${line}, ${keys.trim()}` : line
}
