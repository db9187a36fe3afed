import { SegmentedControl, TextInput } from '@mantine/core'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { allowNetwork, allowRoot } from '@/api/reach'
import { ShowCall } from '@/components/actions/ShowCall'
import { TeamField } from '@/components/teams/TeamField'
import { useOwnerChoice } from '@/components/teams/useTeamChoice'
import { FormDialog } from '@/components/ui/FormDialog'
import { useSending } from '@/components/ui/useSending'
import { findingsOf, wordsAt } from '@/domain/findings'
import { allowNetworkCall, allowRootCall } from '@/domain/installationCalls'

const MODES = [
  { value: 'read', label: 'Read' },
  { value: 'write', label: 'Read and write' },
]

/** Lets pipelines read a directory with all below it, or read and write it. */
export function RootDialog({ onClose }: { onClose: () => void }) {
  const [path, setPath] = useState('')
  const [mode, setMode] = useState<'read' | 'write'>('read')
  const [note, setNote] = useState('')
  const owner = useOwnerChoice('admin')
  const body = { path: path.trim(), mode, note, team: owner.team }
  const adding = useSending({
    send: () => allowRoot(body),
    queryKey: keys.allowedRoots,
    done: () => `${body.path} is allowed.`,
    onClose,
  })
  return (
    <FormDialog
      title="Allow directory"
      submit="Allow directory"
      reason={body.path ? null : 'Enter a directory first.'}
      placed={['path', 'team']}
      sending={adding}
      call={<ShowCall call={allowRootCall(body)} subject="Allowed directory" />}
      onClose={onClose}
    >
      <TextInput
        label="Directory"
        description="Absolute, with all below it. Its last part can end with *."
        placeholder="/data/orders"
        value={path}
        error={wordsAt(findingsOf(adding.error), ['path'])}
        onChange={(event) => setPath(event.currentTarget.value)}
        data-autofocus
      />
      <SegmentedControl
        aria-label="Mode"
        data={MODES}
        value={mode}
        onChange={(value) => setMode(value as typeof mode)}
      />
      <TeamField choice={owner} description="With a team, only for its pipelines." error={adding.error} />
      <NoteField value={note} onChange={setNote} />
    </FormDialog>
  )
}

/** Lets pipelines connect to a network, an address or a host. */
export function NetworkDialog({ onClose }: { onClose: () => void }) {
  const [target, setTarget] = useState('')
  const [ports, setPorts] = useState('*')
  const [note, setNote] = useState('')
  const owner = useOwnerChoice('admin')
  const body = { target: target.trim(), ports: ports.trim() || '*', note, team: owner.team }
  const adding = useSending({
    send: () => allowNetwork(body),
    queryKey: keys.allowedNetworks,
    done: () => `${body.target} is allowed.`,
    onClose,
  })
  const findings = findingsOf(adding.error)
  return (
    <FormDialog
      title="Allow network"
      submit="Allow network"
      reason={body.target ? null : 'Enter a network or a host first.'}
      placed={['target', 'ports', 'team']}
      sending={adding}
      call={<ShowCall call={allowNetworkCall(body)} subject="Allowed network" />}
      onClose={onClose}
    >
      <TextInput
        label="Network or host"
        description="10.20.0.0/16, an address, or a name, which can begin with *."
        value={target}
        error={wordsAt(findings, ['target'])}
        onChange={(event) => setTarget(event.currentTarget.value)}
        data-autofocus
      />
      <TextInput
        label="Ports"
        description="9092, 8000-8100, or * for all"
        value={ports}
        error={wordsAt(findings, ['ports'])}
        onChange={(event) => setPorts(event.currentTarget.value)}
      />
      <TeamField choice={owner} description="With a team, only for its pipelines." error={adding.error} />
      <NoteField value={note} onChange={setNote} />
    </FormDialog>
  )
}

function NoteField({ value, onChange }: { value: string; onChange: (note: string) => void }) {
  return (
    <TextInput
      label="Note"
      description="The reason, for the list and the audit"
      value={value}
      maxLength={1000}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  )
}
