import { Button, Group, Modal, PasswordInput, Select, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { putSecret, type Purpose } from '@/api/secrets'
import type { Secret } from '@/api/types'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote } from '@/components/ui/Feedback'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { BindingFields, bindingOf, missingBinding } from './BindingFields'
import { PURPOSES } from './purposes'

const NAME = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$/

/** Stores a value under a new name or, with `secret`, a new value under its name. */
export function SecretDialog({ secret, onClose }: { secret?: Secret; onClose: () => void }) {
  const client = useQueryClient()
  const [name, setName] = useState(secret?.name ?? '')
  const [value, setValue] = useState('')
  const [purpose, setPurpose] = useState<Purpose>(secret?.purpose ?? 'pipelines')
  const [binding, setBinding] = useState({ pipelines: '', destinations: '' })
  const binds = !secret && purpose === 'pipelines'
  const save = useMutation({
    mutationFn: () => putSecret(name, value, purpose, binds ? bindingOf(binding) : undefined),
    onSuccess: ({ version }) => {
      void client.invalidateQueries({ queryKey: keys.secrets })
      announce(`${name} is stored, version ${version}.`)
      onClose()
    },
  })
  const reason = missing(name, value) ?? (binds ? missingBinding(binding) : null)
  return (
    <Modal opened onClose={onClose} title={secret ? `Replace ${secret.name}` : 'Set secret'}>
      <Stack
        gap="md"
        component="form"
        onSubmit={(event) => {
          event.preventDefault()
          if (reason === null) save.mutate()
        }}
      >
        {!secret && (
          <TextInput
            label="Name"
            description="An existing name gets the new value"
            value={name}
            error={name !== '' && !NAME.test(name) ? NAME_RULE : null}
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
        {binds && <BindingFields draft={binding} onChange={setBinding} />}
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
        {secret && secret.used_by.length > 0 && (
          <Text size="sm">{secret.used_by.join(', ')} use the new value from their next start on.</Text>
        )}
        {save.error && <ErrorNote error={save.error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <ReasonButton type="submit" loading={save.isPending} reason={reason}>
            {secret ? 'Replace secret' : 'Set secret'}
          </ReasonButton>
        </Group>
      </Stack>
    </Modal>
  )
}

const NAME_RULE = 'Letters, digits and . _ - /, at most 128, a letter or digit first.'

function missing(name: string, value: string): string | null {
  if (!NAME.test(name)) return name === '' ? 'Enter a name first.' : NAME_RULE
  return value === '' ? 'Enter the value first.' : null
}
