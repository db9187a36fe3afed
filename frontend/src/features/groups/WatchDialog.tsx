import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { watchGroup } from '@/api/groups'
import { keys } from '@/api/keys'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote } from '@/components/ui/Feedback'
import { ReasonButton } from '@/components/ui/ReasonButton'

/** Names a group and its cluster; options of a client are given on the command line. */
export function WatchDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient()
  const [group, setGroup] = useState('')
  const [servers, setServers] = useState('')
  const watch = useMutation({
    mutationFn: () => watchGroup(group.trim(), servers.trim()),
    onSuccess: () => {
      announce(`${group} is monitored.`)
      onClose()
    },
    onSettled: () => client.invalidateQueries({ queryKey: keys.groups }),
  })
  const reason = group.trim() && servers.trim() ? null : 'Enter the group and its brokers first.'
  return (
    <Modal opened onClose={onClose} title="Monitor group">
      <Stack
        gap="md"
        component="form"
        onSubmit={(event) => {
          event.preventDefault()
          if (reason === null) watch.mutate()
        }}
      >
        <TextInput
          label="Group"
          value={group}
          onChange={(event) => setGroup(event.currentTarget.value)}
          autoComplete="off"
          spellCheck={false}
          data-autofocus
        />
        <TextInput
          label="Brokers"
          description="HOST:PORT, separated by commas"
          value={servers}
          onChange={(event) => setServers(event.currentTarget.value)}
          autoComplete="off"
          spellCheck={false}
        />
        <Text size="sm" c="dimmed">
          For a cluster that requires authentication: <code>headgate consumer-groups --help</code>.
        </Text>
        {watch.error && <ErrorNote error={watch.error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <ReasonButton type="submit" loading={watch.isPending} reason={reason}>
            Monitor group
          </ReasonButton>
        </Group>
      </Stack>
    </Modal>
  )
}
