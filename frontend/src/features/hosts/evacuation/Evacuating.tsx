import { Checkbox, NumberInput, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { evacuate, evacuationsQuery } from '@/api/evacuations'
import { keys } from '@/api/keys'
import type { Host } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { ObservationFields } from '@/components/migrations/ObservationFields'
import { announce } from '@/components/ui/Announcer'
import { Unread } from '@/components/ui/Feedback'
import { FormDialog } from '@/components/ui/FormDialog'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { ReasonField } from '@/components/ui/ReasonField'
import { evacuateCall } from '@/domain/migrationCalls'
import { DEFAULT_RULES } from '@/domain/observationRules'
import { cannotAdministerAll } from '@/domain/roles'
import { useBarred } from '@/lib/session'
import { inOneSentence } from './progress'

/** Moves every running pipeline of a host elsewhere, each by a migration of its own. */
export function EvacuateButton({ host }: { host: Host }) {
  const refused = useBarred(cannotAdministerAll)
  const [asking, setAsking] = useState(false)
  return (
    <>
      <ReasonButton
        size="compact-xs"
        variant="default"
        reason={refused}
        aria-label={`Evacuate host ${host.name}`}
        onClick={() => setAsking(true)}
      >
        Evacuate
      </ReasonButton>
      {asking && <EvacuateDialog host={host} onClose={() => setAsking(false)} />}
    </>
  )
}

function EvacuateDialog({ host, onClose }: { host: Host; onClose: () => void }) {
  const client = useQueryClient()
  const navigate = useNavigate()
  const [atOnce, setAtOnce] = useState(1)
  const [goOn, setGoOn] = useState(false)
  const [reason, setReason] = useState('')
  const [rules, setRules] = useState(DEFAULT_RULES)
  const body = { host: host.name, at_once: atOnce, go_on: goOn, rules, reason: reason.trim() }
  const start = useMutation({
    mutationFn: () => evacuate(body),
    onSuccess: (made) => {
      client.setQueryData(keys.evacuation(made.id), made)
      void client.invalidateQueries({ queryKey: keys.evacuations })
      announce(`Evacuation of ${host.name} started.`)
      void navigate({ to: '/evacuations/$id', params: { id: made.id } })
    },
  })
  const why = reason.trim() === '' ? 'Enter a reason first.' : null
  return (
    <FormDialog
      title={`Evacuate ${host.name}?`}
      submit="Evacuate host"
      reason={why}
      size="lg"
      call={<ShowCall call={evacuateCall(body)} subject="Evacuate host" />}
      sending={start}
      onClose={onClose}
    >
      <Text size="sm">
        Each running pipeline is migrated to another host: a new agent is prepared there first, and takes over
        within seconds. A pipeline that is bound to the host, finds no capacity, or fails before anything has
        changed stays and keeps running.
        {host.drained_at === null && ' Drain the host afterwards, so that no new pipeline is placed there.'}
      </Text>
      <NumberInput
        size="xs"
        label="Parallel migrations"
        min={1}
        max={50}
        value={atOnce}
        onChange={(value) => setAtOnce(Number(value))}
        maw={220}
      />
      <Checkbox
        label="Continue if a pipeline fails after changes were applied"
        checked={goOn}
        onChange={(event) => setGoOn(event.currentTarget.checked)}
      />
      <ObservationFields title="Verification rules for each pipeline" rules={rules} onChange={setRules} />
      <ReasonField
        description="Stays in the audit log and in every report"
        value={reason}
        onChange={setReason}
        focused
      />
    </FormDialog>
  )
}

const POLL_MS = 5_000

/** Hosts that are being emptied, and those that were of late. */
export function EvacuationsPanel() {
  const query = useQuery({ ...evacuationsQuery, refetchInterval: POLL_MS })
  if (!query.data) return <Unread query={query} what="evacuations" />
  if (query.data.length === 0) return null
  return (
    <Panel title="Evacuations" note="newest first" flush>
      <Table
        label="Evacuations"
        head={
          <>
            <th>Host</th>
            <th>Requested</th>
            <th>By</th>
            <th>Progress</th>
          </>
        }
      >
        {query.data.map((row) => (
          <tr key={row.id}>
            <th scope="row">
              <Link to="/evacuations/$id" params={{ id: row.id }} preload={false}>
                Evacuation of {row.host}
              </Link>
            </th>
            <td>
              <Moment at={row.created_at} />
            </td>
            <td>{row.created_by}</td>
            <td>
              {row.ended_at === null ? 'running: ' : `${row.outcome}: `}
              {inOneSentence(row)}
            </td>
          </tr>
        ))}
      </Table>
    </Panel>
  )
}
