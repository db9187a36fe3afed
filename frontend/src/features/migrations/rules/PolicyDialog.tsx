import { NumberInput } from '@mantine/core'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { setApprovalPolicy } from '@/api/migrationRules'
import { ShowCall } from '@/components/actions/ShowCall'
import { FormDialog } from '@/components/ui/FormDialog'
import { useSending } from '@/components/ui/useSending'
import { approvalPolicyCall } from '@/domain/migrationCalls'
import { EVERYTHING, ScopeFields, scopeBody, scopeMissing } from './scope'
import classes from '../migrations.module.css'

const HOUR_S = 3_600

/** How many users other than the author; it takes the place of what was set for the same scope. */
export function PolicyDialog({ onClose }: { onClose: () => void }) {
  const [scope, setScope] = useState(EVERYTHING)
  const [approvers, setApprovers] = useState(1)
  const [hours, setHours] = useState(24)
  const body = { ...scopeBody(scope), approvers, expiry_seconds: Math.round(hours * HOUR_S) }
  const save = useSending({
    send: () => setApprovalPolicy(body),
    queryKey: keys.approvalPolicies,
    done: () => 'The policy is set.',
    onClose,
  })
  const why = scopeMissing(scope)
  return (
    <FormDialog
      title="Set approval policy"
      submit="Set policy"
      reason={why}
      size="lg"
      call={<ShowCall call={approvalPolicyCall(body)} subject="Set policy" />}
      sending={save}
      onClose={onClose}
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
    </FormDialog>
  )
}
