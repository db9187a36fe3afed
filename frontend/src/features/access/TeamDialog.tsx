import { TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { createTeam } from '@/api/teams'
import { announce } from '@/components/ui/Announcer'
import { FormDialog } from '@/components/ui/FormDialog'

export function TeamDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient()
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  const creation = useMutation({
    mutationFn: () => createTeam({ name: name.trim(), description }),
    onSuccess: (team) => {
      void client.invalidateQueries({ queryKey: keys.teams })
      announce(`${team.name} is created.`)
      onClose()
    },
  })
  const reason = name.trim() === '' ? 'Enter a name first.' : null
  return (
    <FormDialog title="Create team" submit="Create team" reason={reason} sending={creation} onClose={onClose}>
      <TextInput
        label="Name"
        description="Lower-case letters, digits and hyphens"
        value={name}
        maxLength={63}
        onChange={(event) => setName(event.currentTarget.value)}
        data-autofocus
      />
      <TextInput
        label="Description"
        value={description}
        maxLength={1000}
        onChange={(event) => setDescription(event.currentTarget.value)}
      />
    </FormDialog>
  )
}
