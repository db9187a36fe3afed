import type { Purpose } from '@/api/secrets'

/** Who uses secrets; each has names of its own. */
export const PURPOSES: Record<Purpose, string> = {
  pipelines: 'Pipelines',
  receivers: 'Receivers',
  clusters: 'Clusters',
}
