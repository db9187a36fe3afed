import type { MigrationDetail, MigrationKind, PipelineDetail } from '@/api/types'
import { readDraft } from '@/components/editor/draft'
import { componentAt } from './cluster/draft'
import { type Draft, draftOf, EMPTY } from './draft'
import { type Kept, readForm } from './kept'

/** What a link to the form may fill in. */
export interface Given {
  revision?: number
  host?: string
  to?: string
  /** The id of an earlier migration, to request the same again. */
  from?: string
}

/** What the form starts with. */
export interface StartValues {
  pipeline: PipelineDetail
  kind: MigrationKind
  given: Given
  /** The earlier migration, of the same pipeline and kind. */
  asked?: MigrationDetail
}

/** The form as it was kept in this tab, unless a link fills in something else. */
export function start(initial: StartValues): Kept {
  const { pipeline, kind, given, asked } = initial
  const link = linkOf(given)
  const before = askedBefore(initial)
  const text = readDraft(pipeline.name) ?? before.text ?? pipeline.definition_yaml
  const kept = readForm(pipeline.name, kind)
  if (kept === null || ![NO_LINK, kept.link].includes(link))
    return { link, draft: { ...EMPTY, ...filledIn(given), ...before, text }, reason: asked?.reason ?? '' }
  const { cluster } = kept.draft
  const present = cluster.path === null ? {} : componentAt(pipeline.definition, cluster.path)
  return { ...kept, draft: { ...kept.draft, text, cluster: { ...cluster, present } } }
}

/** What the earlier migration fills in; nothing where there is none. */
export function askedBefore({ pipeline, kind, asked }: StartValues): Partial<Draft> {
  return asked ? draftOf(kind, asked.spec, pipeline.definition) : {}
}

const linkOf = ({ revision, host, to, from }: Given) => JSON.stringify({ revision, host, to, from })
const NO_LINK = linkOf({})

function filledIn({ revision, host, to }: Given): Partial<Draft> {
  return {
    from: revision === undefined ? 'text' : 'stored',
    revision: revision ?? null,
    host: host ?? null,
    to: to ?? '',
  }
}
