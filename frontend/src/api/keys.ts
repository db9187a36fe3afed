/** Every key of the server cache, so that what invalidates and what reads cannot drift apart. */
export const keys = {
  session: ['session'] as const,
  pipelines: ['pipelines'] as const,
  hosts: ['hosts'] as const,
  secrets: ['secrets'] as const,
  events: (pipeline?: string) => ['events', pipeline ?? 'all'] as const,
  pipeline: (name: string) => ['pipeline', name] as const,
  detail: (name: string) => ['pipeline', name, 'detail'] as const,
  status: (name: string) => ['pipeline', name, 'status'] as const,
  operation: (name: string) => ['pipeline', name, 'operation'] as const,
  books: (name: string) => ['pipeline', name, 'books'] as const,
  batches: (name: string, channel?: string, run?: number) =>
    ['pipeline', name, 'batches', channel ?? '', run ?? 0] as const,
  deadLetters: (name: string, filter: object) => ['pipeline', name, 'dead-letters', filter] as const,
  deadLettersSummary: (name: string) => ['pipeline', name, 'dead-letters', 'summary'] as const,
  deadLetter: (name: string, id: string) => ['pipeline', name, 'dead-letter', id] as const,
  runs: (name: string) => ['pipeline', name, 'runs'] as const,
  series: (name: string, minutes: number) => ['series', name, minutes] as const,
  revisions: (name: string) => ['pipeline', name, 'revisions'] as const,
  diff: (name: string, from: number, to: number) => ['diff', name, from, to] as const,
}
