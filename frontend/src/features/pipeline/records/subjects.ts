/** What has records of its own: a component that reads or writes topics. */
export interface Subject {
  /** Its path, as the API names it. */
  of: string
  label: string
  /** The topics that the definition names; with `open` there are others that only the cluster knows. */
  topics: string[]
  open: boolean
}

type Parts = Record<string, Record<string, unknown>>

const KINDS = [
  ['sources', 'source'],
  ['sinks', 'sink'],
  ['channels', 'channel'],
] as const

/** Everything of a definition whose records can be shown. */
export function subjectsOf(definition: Record<string, unknown>): Subject[] {
  const found = KINDS.flatMap(([kind, word]) =>
    Object.entries((definition[kind] ?? {}) as Parts).flatMap(([name, spec]) =>
      spec.type === 'kafka' ? [subject(`${kind}.${name}`, `${name} (${word})`, spec)] : [],
    ),
  )
  const letters = (definition.errors as Parts | undefined)?.dead_letter
  return letters?.type === 'kafka'
    ? [...found, subject('errors.dead_letter', 'Dead letters', letters)]
    : found
}

function subject(of: string, label: string, spec: Record<string, unknown>): Subject {
  const listed = [spec.topics, spec.allowed_topics].flatMap((each) => (Array.isArray(each) ? each : []))
  const topics = [...(typeof spec.topic === 'string' ? [spec.topic] : []), ...(listed as string[])]
  const open = Boolean(spec.topics_pattern ?? spec.allowed_topic_prefix)
  return { of, label, topics: [...new Set(topics)], open }
}
