import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import {
  IconAlertTriangle,
  IconCircleX,
  IconClock,
  IconHelpCircle,
  IconSend,
  IconShieldCheck,
  type Icon,
} from '@tabler/icons-react'
import { auditChainQuery, verifyAudit } from '@/api/audit'
import { keys } from '@/api/keys'
import type { AuditChain, AuditForwarding } from '@/api/types'
import { ErrorNote, Loading } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { useRights } from '@/components/teams/useReadOnly'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Moment } from '@/components/ui/Time'
import { ToneBadge } from '@/components/ui/ToneBadge'
import type { Tone } from '@/domain/phases'
import { useNow } from '@/lib/clock'
import { count, plural } from '@/lib/format'
import classes from './audit.module.css'

const POLL_MS = 10_000
/** While a user waits for the end of a walk. */
const WAITING_MS = 1_000
/** Workers verify once an hour; what is older than this is no longer current. */
const CURRENT_MS = 3 * 3_600_000
/** Rows are sealed within seconds. */
const SEALED_MS = 60_000

/** How far the rows are sealed, and how far that was verified. Green only where it was. */
export function ChainState() {
  const client = useQueryClient()
  const refused = useRights()(null)
  const query = useQuery({
    ...auditChainQuery,
    refetchInterval: ({ state }) => (state.data?.check_requested_at ? WAITING_MS : POLL_MS),
  })
  const asking = useMutation({
    mutationFn: verifyAudit,
    onSuccess: (chain) => client.setQueryData(keys.auditChain, chain),
  })
  const waits = Boolean(query.data?.check_requested_at)
  return (
    <Panel
      title="Chain"
      note="Each row is sealed with the digest of the row before it."
      actions={
        <ReasonButton
          variant="default"
          size="compact-sm"
          reason={refused ?? (waits ? 'A worker is verifying, or will do so as soon as it runs.' : null)}
          loading={asking.isPending}
          onClick={() => asking.mutate()}
        >
          {waits ? 'Verifying' : 'Verify now'}
        </ReasonButton>
      }
    >
      {query.error && !query.data && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
      {asking.error && <ErrorNote error={asking.error} />}
      {query.isPending && <Loading rows={1} />}
      {query.data && <Facts chain={query.data} />}
      {query.data?.forwarding.map((each) => (
        <Forwarding key={each.destination} state={each} />
      ))}
    </Panel>
  )
}

function Facts({ chain }: { chain: AuditChain }) {
  const now = useNow()
  const { tone, icon, word } = verdict(chain, now)
  const { head, check, unsealed, oldest_unsealed_at: oldest } = chain
  const since = head && check ? head.sequence - check.sequence : 0
  return (
    <div className={classes.chain}>
      <ToneBadge tone={tone} icon={icon}>
        {word}
      </ToneBadge>
      {check?.holds && (
        <span>
          at <Moment at={check.at} />, up to row {count(check.sequence)}
          {since > 0 && `; ${plural(since, 'row')} sealed since then`}
        </span>
      )}
      {check && !check.holds && (
        <span>
          {check.problem} Found at <Moment at={check.at} />.
        </span>
      )}
      {!check && head && (
        <span>{plural(head.sequence, 'row')} sealed. Workers verify them once an hour.</span>
      )}
      {unsealed > 0 && (
        <span className="dim" data-late={late(oldest, now) || undefined}>
          {plural(unsealed, 'row')} {unsealed === 1 ? 'waits' : 'wait'} to be sealed, the oldest since{' '}
          <Moment at={oldest} />
          {late(oldest, now) && '. Check that a worker runs.'}
        </span>
      )}
    </div>
  )
}

/** Rows are forwarded within seconds. */
const FORWARDED_MS = 60_000

/** Whether everything has arrived at one receiver, and if not, since when and why. */
function Forwarding({ state }: { state: AuditForwarding }) {
  const now = useNow()
  const { tone, icon, word } = forwardingVerdict(state, now)
  return (
    <div className={classes.chain}>
      <ToneBadge tone={tone} icon={icon}>
        {word}
      </ToneBadge>
      <span>
        to <span className="mono">{state.address}</span>
        {state.sequence > 0 && <>, up to row {count(state.sequence)}</>}
        {state.behind > 0 && (
          <>
            ; {plural(state.behind, 'row')} behind since <Moment at={state.behind_since} />
          </>
        )}
      </span>
      {state.error && (
        <span className="dim">
          Failing since <Moment at={state.failing_since} />: {state.error}
        </span>
      )}
    </div>
  )
}

export function forwardingVerdict(
  { behind, behind_since, error, sequence }: AuditForwarding,
  now: number,
): { tone: Tone; icon: Icon; word: string } {
  if (error) return { tone: 'bad', icon: IconCircleX, word: 'Not forwarded' }
  if (behind_since && now - Date.parse(behind_since) > FORWARDED_MS)
    return { tone: 'warn', icon: IconClock, word: 'Forwarding is behind' }
  if (behind > 0) return { tone: 'busy', icon: IconSend, word: 'Forwarding' }
  if (sequence === 0) return { tone: 'idle', icon: IconSend, word: 'Nothing to forward yet' }
  return { tone: 'ok', icon: IconSend, word: 'Forwarded' }
}

const late = (oldest: string | null, now: number) => oldest !== null && now - Date.parse(oldest) > SEALED_MS

export function verdict({ head, check }: AuditChain, now: number): { tone: Tone; icon: Icon; word: string } {
  if (check && !check.holds) return { tone: 'bad', icon: IconCircleX, word: 'Does not verify' }
  if (!check)
    return { tone: 'idle', icon: IconHelpCircle, word: head ? 'Not verified yet' : 'Nothing sealed yet' }
  if (!head) return { tone: 'warn', icon: IconAlertTriangle, word: 'Head missing since it was verified' }
  if (now - Date.parse(check.at) > CURRENT_MS)
    return { tone: 'warn', icon: IconClock, word: 'Verified earlier' }
  return { tone: 'ok', icon: IconShieldCheck, word: 'Verified' }
}
