import { Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import { putCluster } from '@/api/clusters'
import { keys } from '@/api/keys'
import type { Cluster } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { TeamField } from '@/components/teams/TeamField'
import { useOwnerChoice } from '@/components/teams/useTeamChoice'
import { FormDialog } from '@/components/ui/FormDialog'
import { useSending } from '@/components/ui/useSending'
import { findingsOf, wordsAt } from '@/domain/findings'
import { putClusterCall } from '@/domain/installationCalls'
import { isDraftInvalid, readDraft, TEXTS, writeDraft } from './clusterDraft'

/** Defines a cluster, or changes one. What is wrong with it stands at its field. */
export function ClusterDialog({ cluster, onClose }: { cluster: Cluster | null; onClose: () => void }) {
  const [name, setName] = useState(cluster?.name ?? '')
  const [draft, setDraft] = useState(() => readDraft(cluster?.spec ?? {}))
  const owner = useOwnerChoice('admin', cluster?.team)
  const set = (key: string, value: string) => setDraft((old) => ({ ...old, [key]: value }))
  const invalid = isDraftInvalid(draft)
  const body = { spec: invalid ? {} : writeDraft(draft), team: cluster ? cluster.team : owner.team }
  const saving = useSending({
    send: () => putCluster(name.trim(), body),
    queryKey: keys.clusters,
    done: (made) => `${made.name} is version ${made.version}.`,
    onClose,
  })
  const findings = findingsOf(saving.error)
  const placed = [...TEXTS.map(({ key }) => key), 'conf', 'volumes', 'team']
  return (
    <FormDialog
      title={cluster ? `Change cluster ${cluster.name}` : 'Define cluster'}
      submit={cluster ? 'Change cluster' : 'Define cluster'}
      size="lg"
      reason={reasonOf(name, draft.master ?? '', invalid)}
      placed={placed}
      sending={saving}
      call={<ShowCall call={putClusterCall(name.trim() || 'NAME', body)} subject="Cluster" />}
      onClose={onClose}
    >
      {!cluster && (
        <>
          <TextInput
            label="Name"
            description="Definitions name it as placement.launcher.cluster"
            value={name}
            maxLength={63}
            onChange={(event) => setName(event.currentTarget.value)}
            data-autofocus
          />
          <TeamField
            choice={owner}
            description="With a team, only its pipelines can use the cluster."
            error={saving.error}
          />
        </>
      )}
      {TEXTS.map(({ key, label, description, placeholder }) => (
        <TextInput
          key={key}
          label={label}
          description={description}
          placeholder={placeholder}
          value={draft[key] ?? ''}
          error={wordsAt(findings, [key])}
          onChange={(event) => set(key, event.currentTarget.value)}
        />
      ))}
      <Textarea
        label="Spark settings"
        description="One in a line: spark.kubernetes.namespace=streaming"
        autosize
        minRows={2}
        value={draft.conf}
        error={wordsAt(findings, ['conf'])}
        onChange={(event) => set('conf', event.currentTarget.value)}
      />
      <Textarea
        label="Volumes"
        description="Kubernetes: what executors mount, by name, as JSON"
        autosize
        minRows={2}
        value={draft.volumes}
        error={invalid ?? wordsAt(findings, ['volumes'])}
        onChange={(event) => set('volumes', event.currentTarget.value)}
      />
    </FormDialog>
  )
}

function reasonOf(name: string, master: string, invalid: string | null): string | null {
  if (!name.trim()) return 'Enter a name first.'
  return master.trim() ? invalid : 'Enter the master first.'
}
