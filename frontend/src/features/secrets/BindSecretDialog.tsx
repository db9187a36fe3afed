import { Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { bindSecret } from '@/api/secrets'
import type { Secret } from '@/api/types'
import { announce } from '@/components/ui/Announcer'
import { FormDialog } from '@/components/ui/FormDialog'
import { BindingFields, bindingOf, draftOf, missingBinding } from './BindingFields'

/** Changes which pipelines may use a secret, and where it may go. */
export function BindSecretDialog({ secret, onClose }: { secret: Secret; onClose: () => void }) {
  const client = useQueryClient()
  const [draft, setDraft] = useState(draftOf(secret))
  const save = useMutation({
    mutationFn: () => bindSecret(secret.name, bindingOf(draft)),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: keys.secrets })
      announce(`The binding of ${secret.name} is changed.`)
      onClose()
    },
  })
  const reason = missingBinding(draft)
  return (
    <FormDialog
      title={`Bind ${secret.name}`}
      submit="Change binding"
      reason={reason}
      sending={save}
      onClose={onClose}
    >
      <BindingFields draft={draft} onChange={setDraft} />
      <Text size="sm" c="dimmed">
        Running pipelines keep the value. Every start is checked against the binding.
      </Text>
      {secret.unencrypted.length > 0 && (
        <Text size="sm">
          It goes to {secret.unencrypted.join(', ')} without encryption. After this change it no longer does.
        </Text>
      )}
    </FormDialog>
  )
}
