import { part } from '../findings'
import { type ClusterDraft, hasHeader, hasPattern, isSink } from './draft'

/** Where the server finds fault with a key of the component: in what was asked for, or in the definition it makes. */
export const keyPaths = ({ path }: ClusterDraft, key: string) => [`spec.to.${key}`, `${path ?? ''}.${key}`]

export const optionPaths = (draft: ClusterDraft, name: string) =>
  keyPaths(draft, 'options').map((path) => `${path}${part(name.trim())}`)

/** Of one topic of a source: what it is called there. */
export function topicPaths(draft: ClusterDraft, name: string): string[] {
  const place = Array.isArray(draft.present.topics) ? draft.present.topics.indexOf(name) : -1
  const own = `spec.topics${part(name.trim())}`
  return place < 0 ? [own] : [own, `${draft.path ?? ''}.topics[${place}]`]
}

export const offsetPaths = (topic: string, partition: string) => [
  `spec.positions.offsets${part(topic.trim())}${part(partition.trim())}`,
]

/** Everything that has a field. */
export function clusterPaths(draft: ClusterDraft): string[] {
  const keys = ['bootstrap_servers', 'options', ...(isSink(draft) ? ofSink(draft) : ofSource(draft))]
  const own = keys.flatMap((key) => keyPaths(draft, key))
  return isSink(draft) ? own : [...own, 'spec.topics', 'spec.positions']
}

const ofSource = (draft: ClusterDraft) => [
  'group_id',
  'topics',
  ...(hasPattern(draft) ? ['topics_pattern'] : []),
]
const ofSink = (draft: ClusterDraft) => [
  'topic',
  ...(hasHeader(draft) ? ['allowed_topics', 'allowed_topic_prefix'] : []),
]
