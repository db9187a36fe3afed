import { Modal, Radio, Stack } from '@mantine/core'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { reconcile } from '@/api/ownership'
import type { SourceOfTruth, Pipeline } from '@/api/types'
import { ConfirmByName } from '@/components/actions/ConfirmByName'
import { ShowCall } from '@/components/actions/ShowCall'
import { ChangeError } from '@/components/governance/ChangeError'
import { useSending } from '@/components/ui/useSending'
import { ReasonField } from '@/components/ui/ReasonField'
import { reconcileCall } from '@/domain/calls'

interface ReconcileProps {
  pipeline: Pick<Pipeline, 'name' | 'host'>
  onClose: () => void
}

/** The two answers to a database that is older than its host, each with its expected impact. */
export function ReconcileDialog({ pipeline: { name, host }, onClose }: ReconcileProps) {
  const [source_of_truth, setSourceOfTruth] = useState<SourceOfTruth>('host')
  const [reason, setReason] = useState('')
  const decision = useSending({
    send: () => reconcile(name, source_of_truth, reason),
    queryKey: keys.pipeline(name),
    done: () => `The ${source_of_truth} is the source of truth for ${name}.`,
    onClose,
  })
  return (
    <Modal opened onClose={onClose} title={`Source of truth for ${name}?`} size="lg">
      <Stack gap="md">
        <Radio.Group
          label="Source of truth"
          value={source_of_truth}
          onChange={(value) => setSourceOfTruth(value === 'host' ? 'host' : 'database')}
        >
          <Stack gap={10} mt={6}>
            <Radio
              value="host"
              label={`The host ${host ?? ''}`.trim()}
              description="The journals of its runs are ingested: ledger and positions become those of the host. Nothing is reread."
            />
            <Radio
              value="database"
              label="The database"
              description="The host's data is discarded. The pipeline resumes from the positions in the database and redelivers everything since then. Refused while an agent runs that only the host knows: end it on the host first."
            />
          </Stack>
        </Radio.Group>
        <ReasonField description="Stays in the audit log" value={reason} onChange={setReason} />
        <ConfirmByName
          name={name}
          keep="Cancel"
          act={`Use the ${source_of_truth}`}
          pending={decision.isPending}
          onAct={() => decision.mutate()}
          onClose={onClose}
        >
          {decision.error && (
            <ChangeError
              error={decision.error}
              name={name}
              kind="reconcile"
              arguments={{ source_of_truth, reason }}
            />
          )}
          <ShowCall call={reconcileCall(name, source_of_truth, reason)} subject="Reconcile" />
        </ConfirmByName>
      </Stack>
    </Modal>
  )
}
