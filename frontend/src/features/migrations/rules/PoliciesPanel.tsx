import { useQuery } from '@tanstack/react-query'
import { IconPlus } from '@tabler/icons-react'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { approvalPoliciesQuery, removeApprovalPolicy } from '@/api/migrationRules'
import type { ApprovalPolicy } from '@/api/types'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { removeApprovalPolicyCall } from '@/domain/migrationCalls'
import { count, duration, plural } from '@/lib/format'
import { PolicyDialog } from './PolicyDialog'
import { RemovalDialog } from '@/components/actions/RemovalDialog'
import { scopeInWords } from './scope'

/** How many users other than the author have to approve; of those that concern a pipeline the strictest counts. */
export function PoliciesPanel({ refused }: { refused: string | null }) {
  const { data, error, refetch } = useQuery(approvalPoliciesQuery)
  const [asking, setAsking] = useState(false)
  return (
    <Panel
      title="Approval policies"
      note="the strictest policy that applies to a pipeline counts"
      flush
      actions={
        <ReasonButton
          variant="default"
          leftSection={<IconPlus size={14} aria-hidden />}
          reason={refused}
          onClick={() => setAsking(true)}
        >
          Set policy
        </ReasonButton>
      }
    >
      {error && !data && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data?.length === 0 && (
        <Empty title="No approval policies">
          Authors can approve their own migrations. Set the first policy to require other approvers.
        </Empty>
      )}
      {data && data.length > 0 && <PolicyTable policies={data} refused={refused} />}
      {asking && <PolicyDialog onClose={() => setAsking(false)} />}
    </Panel>
  )
}

function PolicyTable({ policies, refused }: { policies: ApprovalPolicy[]; refused: string | null }) {
  const [removing, setRemoving] = useState<ApprovalPolicy | null>(null)
  return (
    <>
      <Table
        label="Approval policies"
        head={
          <>
            <th>Scope</th>
            <th className="num">Approvers</th>
            <th className="num">Approval valid for</th>
            <th>Set by</th>
            <th>Set at</th>
            <th>
              <span className="visually-hidden">Actions</span>
            </th>
          </>
        }
      >
        {policies.map((policy) => (
          <tr key={policy.id}>
            <th scope="row">{scopeInWords(policy)}</th>
            <td className="num">{count(policy.approvers)}</td>
            <td className="num">{duration(policy.expiry_seconds * 1_000)}</td>
            <td>{policy.updated_by}</td>
            <td>
              <Moment at={policy.updated_at} />
            </td>
            <td>
              <ReasonButton
                size="compact-xs"
                variant="default"
                reason={refused}
                aria-label={`Remove policy: ${scopeInWords(policy)}`}
                onClick={() => setRemoving(policy)}
              >
                Remove policy
              </ReasonButton>
            </td>
          </tr>
        ))}
      </Table>
      {removing && <RemovePolicyDialog policy={removing} onClose={() => setRemoving(null)} />}
    </>
  )
}

function RemovePolicyDialog({ policy, onClose }: { policy: ApprovalPolicy; onClose: () => void }) {
  const scope = scopeInWords(policy)
  const people = plural(policy.approvers, 'other user', 'other users')
  return (
    <RemovalDialog
      title={`Remove the policy of ${scope}?`}
      words={`Migrations of ${scope} no longer need approval by ${people}, unless another policy requires it.`}
      button="Remove policy"
      call={removeApprovalPolicyCall(policy.id)}
      remove={() => removeApprovalPolicy(policy.id)}
      queryKey={keys.approvalPolicies}
      done="The policy is removed."
      onClose={onClose}
    />
  )
}
