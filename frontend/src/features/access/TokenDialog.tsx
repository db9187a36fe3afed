import { Button, Checkbox, Group, Modal, NumberInput, Select, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { createToken } from '@/api/tokens'
import { CodeBlock } from '@/components/ui/CodeBlock'
import { TeamField } from '@/components/teams/TeamField'
import { useTokenTeam } from '@/components/teams/useTeamChoice'
import { FormDialog } from '@/components/ui/FormDialog'
import { ROLE_OPTIONS, type Role } from '@/domain/roles'

const DAYS = 90

/** Creates a token of the user; its text is shown until the dialog closes, and never again. */
export function TokenDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient()
  const [name, setName] = useState('')
  const [days, setDays] = useState<number>(DAYS)
  const [role, setRole] = useState<Role | null>(null)
  const [readOnly, setReadOnly] = useState(false)
  const [records, setRecords] = useState(true)
  const owner = useTokenTeam()
  const creation = useMutation({
    mutationFn: () =>
      createToken({
        ...{ name, user: null, days, role_cap: role, team: owner.team },
        read_only: readOnly,
        sees_records: records,
      }),
    onSuccess: () => void client.invalidateQueries({ queryKey: keys.tokens }),
  })
  if (creation.data) {
    return (
      <Modal opened onClose={onClose} title="Token created">
        <Stack gap="md">
          <Text size="sm">Copy the token now. It is not shown again.</Text>
          <CodeBlock code={creation.data.text} label="Token" />
          <Group justify="flex-end">
            <Button onClick={onClose}>I have copied the token</Button>
          </Group>
        </Stack>
      </Modal>
    )
  }
  const reason = name.trim() === '' ? 'Enter a name first.' : null
  return (
    <FormDialog
      title="Create token"
      submit="Create token"
      reason={reason}
      placed={['team']}
      sending={creation}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description="What the token is for"
        value={name}
        maxLength={100}
        onChange={(event) => setName(event.currentTarget.value)}
        data-autofocus
      />
      <NumberInput
        label="Days"
        description="How long the token is valid"
        min={1}
        value={days}
        onChange={(value) => setDays(Number(value) || DAYS)}
      />
      <Select
        label="Highest role"
        placeholder="Your role"
        clearable
        data={ROLE_OPTIONS}
        value={role}
        onChange={(value) => setRole(value as Role | null)}
      />
      <TeamField
        choice={owner}
        description="With one team, the token is good in that team alone."
        error={creation.error}
      />
      <Checkbox
        label="Read-only"
        checked={readOnly}
        onChange={(event) => setReadOnly(event.currentTarget.checked)}
      />
      <Checkbox
        label="Shows what events hold, where you may see that"
        checked={records}
        onChange={(event) => setRecords(event.currentTarget.checked)}
      />
    </FormDialog>
  )
}
