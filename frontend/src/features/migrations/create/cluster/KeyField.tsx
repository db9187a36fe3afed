import { TextInput } from '@mantine/core'
import type { Finding } from '@/api/types'
import { wordsAt } from '@/domain/findings'
import type { ClusterDraft } from './draft'
import { keyPaths } from './paths'

export interface ClusterPartProps {
  cluster: ClusterDraft
  findings: Finding[]
  onChange: (change: Partial<ClusterDraft>) => void
}

interface KeyFieldProps extends ClusterPartProps {
  field: 'servers' | 'group' | 'pattern' | 'topic' | 'allowed' | 'prefix'
  at: string
  label: string
  description: string
}

/** One key of the component. */
export function KeyField({ cluster, findings, onChange, field, at, label, description }: KeyFieldProps) {
  return (
    <TextInput
      label={label}
      description={description}
      value={cluster[field]}
      error={wordsAt(findings, keyPaths(cluster, at))}
      onChange={(event) => onChange({ [field]: event.currentTarget.value })}
      autoComplete="off"
      spellCheck={false}
      maw={560}
    />
  )
}
