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
import { RemovalDialog } from './RemovalDialog'
import { scopeInWords } from './scope'

/** How many people other than the author have to approve; of those that concern a pipeline the strictest counts. */
export function PoliciesPanel({ refused }: { refused: string | null }) {
  const { data, error, refetch } = useQuery(approvalPoliciesQuery)
  const [asking, setAsking] = useState(false)
  return (
    <Panel
      title="Approval policies"
      note="of those that concern a pipeline the strictest counts"
      flush
      actions={
        <ReasonButton
          variant="default"
          leftSection={<IconPlus size={14} aria-hidden />}
          reason={refused}
          onClick={() => setAsking(true)}
        >
          Set a policy
        </ReasonButton>
      }
    >
      {error && !data && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data?.length === 0 && (
        <Empty title="Nobody else has to approve">Whoever asks for a migration may approve it alone.</Empty>
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
            <th>Of</th>
            <th className="num">People</th>
            <th className="num">An approval counts for</th>
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
                aria-label={`Remove the policy of ${scopeInWords(policy)}`}
                onClick={() => setRemoving(policy)}
              >
                Remove
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
  const people = plural(policy.approvers, 'other person', 'other people')
  return (
    <RemovalDialog
      title={`Remove the policy of ${scope}?`}
      words={`Migrations of ${scope} need no approval by ${people} any more, unless another policy asks for it.`}
      button="Remove"
      call={removeApprovalPolicyCall(policy.id)}
      remove={() => removeApprovalPolicy(policy.id)}
      queryKey={keys.approvalPolicies}
      done="The policy is removed."
      onClose={onClose}
    />
  )
}
