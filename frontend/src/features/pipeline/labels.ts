/** Labels as one line of text, and back. */

export function printLabels(labels: Record<string, string>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}:${value}`)
    .join(' ')
}

export function parseLabels(text: string): { value: Record<string, string>; error: string | null } {
  const value: Record<string, string> = {}
  for (const part of text.split(/[\s,]+/).filter(Boolean)) {
    const [key, ...rest] = part.split(':')
    if (!key || rest.length === 0) return { value, error: `“${part}” is not of the form key:value.` }
    value[key] = rest.join(':')
  }
  return { value, error: null }
}
