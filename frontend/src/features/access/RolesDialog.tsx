import { Checkbox, Group, Modal, NativeSelect, Stack, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { ALL_TEAMS, bindingsQuery, bindRole, unbindRole } from '@/api/teams'
import type { Binding, BindingRequest } from '@/api/types'
import { useRefusal } from '@/components/teams/useReadOnly'
import { announce } from '@/components/ui/Announcer'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Table } from '@/components/ui/Table'
import { Ago } from '@/components/ui/Time'
import { ROLE_OPTIONS, ROLE_WORDS } from '@/domain/roles'

/** Groups of the provider; what does not begin so is a user. */
const GROUP = 'oidc:'

/** Who has which role in a team, or in all of them. */
export function RolesDialog({ team, onClose }: { team: string; onClose: () => void }) {
  const client = useQueryClient()
  const bindings = useQuery(bindingsQuery(team))
  const refused = useRefusal('admin')(team === ALL_TEAMS ? null : team)
  const changed = (words: string) => {
    void client.invalidateQueries({ queryKey: keys.bindings(team) })
    void client.invalidateQueries({ queryKey: keys.users })
    announce(words)
  }
  const removal = useMutation({
    mutationFn: (binding: Binding) => unbindRole(team, binding.id),
    onSuccess: (_, binding) => changed(`${holder(binding)} has no role here any more.`),
  })
  const title = team === ALL_TEAMS ? 'Roles in all teams' : `Roles in ${team}`
  return (
    <Modal opened onClose={onClose} title={title} size="lg">
      <Stack gap="md">
        {bindings.error && <ErrorNote error={bindings.error} onRetry={() => void bindings.refetch()} />}
        {removal.error && <ErrorNote error={removal.error} />}
        {!bindings.data && !bindings.error && <Loading />}
        {bindings.data?.length === 0 && (
          <Empty title="No roles yet">Give a user or a group of the provider a role.</Empty>
        )}
        {bindings.data && bindings.data.length > 0 && (
          <Table
            label={title}
            head={
              <>
                <th>User or group</th>
                <th>Role</th>
                <th>Bound by</th>
                <th>Bound</th>
                <th>
                  <span className="visually-hidden">Actions</span>
                </th>
              </>
            }
          >
            {bindings.data.map((binding) => (
              <tr key={binding.id}>
                <th scope="row">{holder(binding)}</th>
                <td>
                  {ROLE_WORDS[binding.role]}
                  {!binding.sees_records && ', no records'}
                </td>
                <td>{binding.created_by}</td>
                <td>
                  <Ago at={binding.created_at} />
                </td>
                <td>
                  <ReasonButton
                    variant="default"
                    size="compact-xs"
                    reason={refused}
                    aria-label={`Remove the role of ${holder(binding)}`}
                    onClick={() => removal.mutate(binding)}
                  >
                    Remove
                  </ReasonButton>
                </td>
              </tr>
            ))}
          </Table>
        )}
        <BindingForm team={team} refused={refused} onBound={(name) => changed(`${name} has the role.`)} />
      </Stack>
    </Modal>
  )
}

interface BindingFormProps {
  team: string
  refused: string | null
  onBound: (name: string) => void
}

function BindingForm({ team, refused, onBound }: BindingFormProps) {
  const [name, setName] = useState('')
  const [role, setRole] = useState<BindingRequest['role']>('viewer')
  const [records, setRecords] = useState(true)
  const wanted = name.trim()
  const reason = refused ?? (wanted === '' ? 'Enter a user or a group first.' : null)
  const binding = useMutation({
    mutationFn: () =>
      bindRole(team, {
        ...(wanted.startsWith(GROUP) ? { user: null, group: wanted } : { user: wanted, group: null }),
        role,
        sees_records: records,
      }),
    onSuccess: () => {
      onBound(wanted)
      setName('')
    },
  })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (!reason) binding.mutate()
      }}
    >
      <Stack gap="xs">
        <Group align="end" gap="xs">
          <TextInput
            label="User or group"
            description={`A group of the provider is written ${GROUP}NAME.`}
            value={name}
            maxLength={150}
            autoComplete="off"
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <NativeSelect
            label="Role"
            data={ROLE_OPTIONS}
            value={role}
            onChange={(event) => setRole(event.currentTarget.value as BindingRequest['role'])}
          />
          <ReasonButton type="submit" loading={binding.isPending} reason={reason}>
            Set role
          </ReasonButton>
        </Group>
        <Checkbox
          label="From operator on, sees what events hold"
          checked={records}
          onChange={(event) => setRecords(event.currentTarget.checked)}
        />
        {binding.error && <ErrorNote error={binding.error} />}
      </Stack>
    </form>
  )
}

function holder(binding: Binding): string {
  return binding.user ?? binding.group ?? ''
}
