import { Button, Group, Modal, NumberInput, Stack } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { setApprovalPolicy } from '@/api/migrationRules'
import { ShowCall } from '@/components/actions/ShowCall'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote } from '@/components/ui/Feedback'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { approvalPolicyCall } from '@/domain/migrationCalls'
import { EVERYTHING, ScopeFields, scopeBody, scopeMissing } from './scope'
import classes from '../migrations.module.css'

const HOUR_S = 3_600

/** How many users other than the author; it takes the place of what was set for the same scope. */
export function PolicyDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient()
  const [scope, setScope] = useState(EVERYTHING)
  const [approvers, setApprovers] = useState(1)
  const [hours, setHours] = useState(24)
  const body = { ...scopeBody(scope), approvers, expiry_seconds: Math.round(hours * HOUR_S) }
  const save = useMutation({
    mutationFn: () => setApprovalPolicy(body),
    onSuccess: () => {
      announce('The policy is set.')
      onClose()
    },
    onSettled: () => client.invalidateQueries({ queryKey: keys.approvalPolicies }),
  })
  const why = scopeMissing(scope)
  return (
    <Modal opened onClose={onClose} title="Set approval policy" size="lg">
      <Stack
        gap="md"
        component="form"
        onSubmit={(event) => {
          event.preventDefault()
          if (why === null) save.mutate()
        }}
      >
        <ScopeFields scope={scope} onChange={setScope} />
        <div className={classes.fields}>
          <NumberInput
            size="xs"
            label="Approvers other than the author"
            min={1}
            max={20}
            value={approvers}
            onChange={(value) => setApprovers(Number(value))}
          />
          <NumberInput
            size="xs"
            label="Approval valid for, hours"
            min={1}
            max={8_760}
            value={hours}
            onChange={(value) => setHours(Number(value))}
          />
        </div>
        {save.error && <ErrorNote error={save.error} />}
        <ShowCall call={approvalPolicyCall(body)} subject="Set policy" />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <ReasonButton type="submit" reason={why} loading={save.isPending}>
            Set policy
          </ReasonButton>
        </Group>
      </Stack>
    </Modal>
  )
}
