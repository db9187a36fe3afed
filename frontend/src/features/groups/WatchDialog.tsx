import { Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { watchGroup } from '@/api/groups'
import { keys } from '@/api/keys'
import { TeamField } from '@/components/teams/TeamField'
import { useOwnerChoice } from '@/components/teams/useTeamChoice'
import { FormDialog } from '@/components/ui/FormDialog'
import { useSending } from '@/components/ui/useSending'

/** Names a group and its cluster; options of a client are given on the command line. */
export function WatchDialog({ onClose }: { onClose: () => void }) {
  const [group, setGroup] = useState('')
  const [servers, setServers] = useState('')
  const owner = useOwnerChoice('operator')
  const watch = useSending({
    send: () => watchGroup(group.trim(), servers.trim(), owner.team),
    queryKey: keys.groups,
    done: () => `${group} is monitored.`,
    onClose,
  })
  const reason = group.trim() && servers.trim() ? owner.missing : 'Enter the group and its brokers first.'
  return (
    <FormDialog
      title="Monitor group"
      submit="Monitor group"
      reason={reason}
      placed={['team']}
      sending={watch}
      onClose={onClose}
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
      <TeamField choice={owner} description="It owns what is monitored." error={watch.error} />
      <Text size="sm" c="dimmed">
        For a cluster that requires authentication: <code>headgate consumer-groups --help</code>.
      </Text>
    </FormDialog>
  )
}
