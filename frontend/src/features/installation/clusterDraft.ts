/** A cluster as fields of a form: texts by their keys, settings in lines, volumes as JSON. */
export type ClusterDraft = Record<string, string>

interface TextField {
  key: string
  label: string
  description: string
  placeholder?: string
}

export const TEXTS: TextField[] = [
  {
    key: 'master',
    label: 'Master',
    description: 'Standalone, Kubernetes or YARN',
    placeholder: 'spark://spark.internal:7077',
  },
  { key: 'master_ui', label: 'Web address of the master', description: 'Standalone: port 8080 if empty' },
  {
    key: 'driver_host',
    label: 'Driver host',
    description: 'The address under which executors reach the driver. The name of the host if empty.',
  },
  { key: 'driver_bind', label: 'Driver bind', description: 'The address that the driver listens on' },
  {
    key: 'python',
    label: 'Python',
    description: "The interpreter on the executors. The agent's path if empty.",
  },
  {
    key: 'cluster_secret',
    label: 'Cluster secret',
    description: 'Standalone: a reference to the secret that master, workers and drivers share',
    placeholder: '${secret:SPARK_CLUSTER}',
  },
  { key: 'image', label: 'Image', description: "Kubernetes: the image of the executors' containers" },
  {
    key: 'service_account',
    label: 'Service account',
    description: "Kubernetes: that of the executors' pods",
  },
]

const text = (value: unknown) => (typeof value === 'string' ? value : '')

const object = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}

export function readDraft(spec: Record<string, unknown>): ClusterDraft {
  const volumes = object(spec.volumes)
  return {
    ...Object.fromEntries(TEXTS.map(({ key }) => [key, text(spec[key])])),
    conf: Object.entries(object(spec.conf))
      .map(([key, value]) => `${key}=${String(value)}`)
      .join('\n'),
    volumes: Object.keys(volumes).length > 0 ? JSON.stringify(volumes, null, 2) : '',
  }
}

/** Why the volumes are no object of JSON; null where they are. */
export function isDraftInvalid({ volumes = '' }: ClusterDraft): string | null {
  if (!volumes.trim()) return null
  try {
    const found: unknown = JSON.parse(volumes)
    return typeof found === 'object' && found !== null && !Array.isArray(found)
      ? null
      : 'Write an object: {"state": {"type": "nfs", "path": "/mnt"}}.'
  } catch (error) {
    return `This is not JSON: ${(error as Error).message}`
  }
}

/** The cluster as the API takes it, without what is empty. */
export function writeDraft(draft: ClusterDraft): Record<string, unknown> {
  const texts = TEXTS.map(({ key }) => [key, draft[key]?.trim()] as const).filter(([, value]) => value)
  const lines = (draft.conf ?? '').split('\n').filter((line) => line.trim())
  const conf = Object.fromEntries(lines.map(setting))
  return {
    ...Object.fromEntries(texts),
    ...(lines.length > 0 ? { conf } : {}),
    ...(draft.volumes?.trim() ? { volumes: JSON.parse(draft.volumes) as unknown } : {}),
  }
}

function setting(line: string): [string, string] {
  const at = line.indexOf('=')
  return at < 0 ? [line.trim(), ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()]
}
