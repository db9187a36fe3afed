import { PasswordInput, Select, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { putSecret, type Purpose } from '@/api/secrets'
import type { Secret } from '@/api/types'
import { TeamField } from '@/components/teams/TeamField'
import { useOwnerChoice } from '@/components/teams/useTeamChoice'
import { announce } from '@/components/ui/Announcer'
import { FormDialog } from '@/components/ui/FormDialog'
import { BindingFields, bindingOf, missingBinding } from './BindingFields'
import { PURPOSES } from './purposes'

const TEAM = ['team'] as const
const NAME = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$/
const PART = '[A-Za-z0-9_][A-Za-z0-9._-]*'
const ELSEWHERE = new RegExp(
  `^(?:vault:(?=.{3,120}$)${PART}(?:/${PART})+#${PART}|(?:env|file):[A-Za-z0-9][A-Za-z0-9._/-]{0,119})$`,
)

/** Stores a value under a new name or, with `secret`, a new value under its name; or binds what is kept elsewhere. */
export function SecretDialog({ secret, onClose }: { secret?: Secret; onClose: () => void }) {
  const client = useQueryClient()
  const [name, setName] = useState(secret?.name ?? '')
  const [value, setValue] = useState('')
  const [purpose, setPurpose] = useState<Purpose>(secret?.purpose ?? 'pipelines')
  const owner = useOwnerChoice('admin')
  const [binding, setBinding] = useState({ pipelines: '', destinations: '' })
  const team = secret ? secret.team : owner.team
  const elsewhere = name.includes(':')
  const binds = !secret && purpose === 'pipelines'
  const save = useMutation({
    mutationFn: () =>
      putSecret(name, elsewhere ? null : value, purpose, team, binds ? bindingOf(binding) : undefined),
    onSuccess: ({ version }) => {
      void client.invalidateQueries({ queryKey: keys.secrets })
      announce(elsewhere ? `${name} is bound.` : `${name} is stored, version ${version}.`)
      onClose()
    },
  })
  const reason =
    missing(name, elsewhere ? null : value) ??
    (secret ? null : owner.missing) ??
    (binds ? missingBinding(binding) : null)
  return (
    <FormDialog
      title={secret ? `Replace ${secret.name}` : 'Set secret'}
      submit={secret ? 'Replace secret' : 'Set secret'}
      reason={reason}
      placed={TEAM}
      sending={save}
      onClose={onClose}
    >
      {!secret && (
        <TextInput
          label="Name"
          description="An existing name gets the new value. vault:MOUNT/PATH#KEY, env:NAME and file:NAME bind what is kept there"
          value={name}
          error={name === '' ? null : nameProblem(name)}
          onChange={(event) => setName(event.currentTarget.value)}
          autoComplete="off"
          spellCheck={false}
          data-autofocus
        />
      )}
      {!secret && (
        <Select
          label="Used by"
          data={Object.entries(PURPOSES).map(([each, label]) => ({ value: each, label }))}
          value={purpose}
          onChange={(chosen) => chosen && setPurpose(chosen as Purpose)}
          allowDeselect={false}
        />
      )}
      {!secret && (
        <TeamField
          choice={owner}
          description="A secret of a team does not exist for other teams."
          error={save.error}
        />
      )}
      {binds && <BindingFields draft={binding} onChange={setBinding} />}
      {!elsewhere && (
        <>
          <PasswordInput
            label="Value"
            value={value}
            onChange={(event) => setValue(event.currentTarget.value)}
            autoComplete="new-password"
            visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the value', tabIndex: 0 }}
            data-autofocus={secret ? true : undefined}
          />
          <Text size="sm" c="dimmed">
            The value is stored encrypted and never shown again. For a value of several lines, use{' '}
            <code>headgate secrets set {name || 'NAME'} --from-file FILE</code>.
          </Text>
        </>
      )}
      {secret && secret.used_by.length > 0 && (
        <Text size="sm">{secret.used_by.join(', ')} use the new value from their next start on.</Text>
      )}
    </FormDialog>
  )
}

const NAME_RULE = 'Letters, digits and . _ - /, at most 128, a letter or digit first.'

const ELSEWHERE_RULE = 'Write vault:MOUNT/PATH#KEY, env:NAME or file:NAME, at most 125 characters.'

function nameProblem(name: string): string | null {
  if (name.includes(':')) return ELSEWHERE.test(name) ? null : ELSEWHERE_RULE
  return NAME.test(name) ? null : NAME_RULE
}

/** `value` null: none is needed. */
function missing(name: string, value: string | null): string | null {
  if (name === '') return 'Enter a name first.'
  return nameProblem(name) ?? (value === '' ? 'Enter the value first.' : null)
}
