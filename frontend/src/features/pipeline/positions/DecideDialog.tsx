import { Group, Modal, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { keys } from '@/api/keys'
import { applyPositions } from '@/api/positions'
import { Problem } from '@/api/problem'
import type { PositionPlan } from '@/api/types'
import { ConfirmByName } from '@/components/actions/ConfirmByName'
import { ShowCall } from '@/components/actions/ShowCall'
import { ChangeError } from '@/components/governance/ChangeError'
import { Moves } from '@/components/positions/Moves'
import { Sums } from '@/components/positions/Sums'
import { announce } from '@/components/ui/Announcer'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { applyPositionsCall } from '@/domain/calls'
import { plural } from '@/lib/format'

interface DecideProps {
  name: string
  plan: PositionPlan
  onClose: () => void
  /** The plan no longer holds; it has to be counted again. */
  onStale: () => void
  onApplied: () => void
}

/** What a counted change does, its confirmation, and its result: it is applied exactly as it was counted. */
export function DecideDialog({ name, plan, onClose, onStale, onApplied }: DecideProps) {
  const client = useQueryClient()
  const hash = plan.hash ?? ''
  const decision = useMutation({
    mutationFn: () => applyPositions(name, hash),
    onSuccess: () => {
      announce(`Positions of ${name} applied.`)
      onApplied()
    },
    onSettled: () => client.invalidateQueries({ queryKey: keys.pipeline(name) }),
  })
  if (decision.data) {
    return (
      <Modal opened onClose={onClose} title={`Positions of ${name} applied`} size="xl">
        <Stack gap="md">
          <Text size="sm">
            The next start continues in {plural(decision.data.partitions.length, 'partition')} as below.
          </Text>
          <Moves moves={decision.data.partitions} applied />
          <Group justify="flex-end">
            <ReasonButton variant="default" onClick={onClose}>
              Close
            </ReasonButton>
          </Group>
        </Stack>
      </Modal>
    )
  }
  const stale = decision.error instanceof Problem && decision.error.code === 'plan_stale'
  const confirm = {
    keep: 'Cancel',
    act: 'Apply positions',
    blocked: stale ? 'The count is out of date. Count again.' : null,
    pending: decision.isPending,
    onAct: () => decision.mutate(),
    onClose,
  }
  return (
    <Modal opened onClose={onClose} title={`Change positions of ${name}?`} size="xl">
      <Stack gap="md">
        <Sums plan={plan} />
        <Text size="sm">
          {plan.skip > 0 && 'Skipped records are never delivered; this cannot be undone. '}
          {plan.replay > 0 &&
            'Reread records reach the sinks again; sinks without deduplication keep them twice. '}
          The next start creates a new lineage in {plural(plan.partitions.length, 'partition')}.
        </Text>
        <Moves moves={plan.partitions} />
        {decision.error && (
          <ChangeError error={decision.error} name={name} kind="positions" arguments={{ hash }} />
        )}
        {stale && (
          <Group>
            <ReasonButton variant="default" onClick={onStale}>
              Count again
            </ReasonButton>
          </Group>
        )}
        <ShowCall call={applyPositionsCall(name, hash)} subject="Apply positions" />
        {plan.skip > 0 ? <ConfirmByName name={name} {...confirm} /> : <Confirm {...confirm} />}
      </Stack>
    </Modal>
  )
}

type ConfirmProps = Omit<Parameters<typeof ConfirmByName>[0], 'name' | 'children'>

/** What can be undone is confirmed by a click. */
function Confirm({ keep, act, blocked, pending, onAct, onClose }: ConfirmProps) {
  return (
    <Group justify="flex-end" gap="xs">
      <ReasonButton variant="default" onClick={onClose}>
        {keep}
      </ReasonButton>
      <ReasonButton reason={blocked} loading={pending} onClick={onAct} data-autofocus>
        {act}
      </ReasonButton>
    </Group>
  )
}
