import type { PreviewRequest } from '@/api/types'
import { type Call, command } from './calls'
import { curl, shellQuote, shellWord } from './curl'

/** A preview as an API call and as a command, which reads the definition from a file. */
export function previewCall(name: string, body: PreviewRequest): Call {
  const { selection, source, revision } = body
  const shown = revision ? body : { ...body, definition: '…' }
  const words = [
    'preview',
    shellWord(name),
    revision ? `--revision ${revision}` : '-f FILE',
    ...(selection.last ? [`--last ${selection.last}`] : []),
    ...(selection.since ? [`--since ${selection.since}s`] : []),
    ...(selection.ranges ?? []).map(
      ({ topic, partition, start, end }) => `--range ${shellQuote(`${topic}/${partition}:${start}-${end}`)}`,
    ),
    ...(selection.sample && selection.sample < 1 ? [`--sample ${selection.sample * 100}%`] : []),
    ...(source ? [`--source ${shellWord(source)}`] : []),
  ]
  return {
    curl: curl('POST', '/api/v1/pipelines/{name}/previews', { path: { name }, body: shown }),
    cli: command(words.join(' ')),
    note: revision ? undefined : 'Put the definition in the place of …, or in the file.',
  }
}

/** A run of the tests of a definition, which the command reads from a file. */
export function testsCall(): Call {
  return {
    curl: curl('POST', '/api/v1/test-runs', { body: { definition: '…' } }),
    cli: command('test -f FILE'),
    note: 'Put the definition in the place of …, or in the file.',
  }
}
