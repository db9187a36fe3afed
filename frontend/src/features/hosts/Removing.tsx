import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { removeHost } from '@/api/hosts'
import { keys } from '@/api/keys'
import { sessionQuery } from '@/api/session'
import type { Host } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote } from '@/components/ui/Feedback'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { removeHostCall } from '@/domain/calls'
import { cannotAdminister } from '@/domain/roles'
import { plural } from '@/lib/format'

/** Why a host is expected still; null where it may be expected no longer. The server looks once more. */
export function whyKept({ name, state, promised }: Pick<Host, 'name' | 'state' | 'promised'>): string | null {
  if (state === 'UP') return `${name} is heard: its next beat would bring it back. Stop its worker first.`
  if (promised > 0)
    return `${plural(promised, 'pipeline has', 'pipelines have')} a place there: drain it, and declare lost what ran there.`
  return null
}

/** For a host that does not come back. */
export function RemoveButton({ host }: { host: Host }) {
  const refused = cannotAdminister(useQuery(sessionQuery).data)
  const [asking, setAsking] = useState(false)
  return (
    <>
      <ReasonButton
        size="compact-xs"
        variant="default"
        reason={refused ?? whyKept(host)}
        aria-label={`Remove ${host.name}`}
        onClick={() => setAsking(true)}
      >
        Remove
      </ReasonButton>
      {asking && <RemoveDialog host={host} onClose={() => setAsking(false)} />}
    </>
  )
}

function RemoveDialog({ host, onClose }: { host: Host; onClose: () => void }) {
  const { name } = host
  const client = useQueryClient()
  const removal = useMutation({
    mutationFn: () => removeHost(name),
    onSuccess: () => {
      announce(`${name} is expected no longer.`)
      onClose()
    },
    onSettled: () => client.invalidateQueries({ queryKey: keys.hosts }),
  })
  return (
    <Modal opened onClose={onClose} title={`Remove ${name}?`}>
      <Stack gap="md">
        <Text size="sm">
          It is expected no longer: no list shows it, and the alert about its silence is over. Its runs stay
          in the books; stopped pipelines that nothing ties to it are placed anew by their next start. Nothing
          on the machine itself is touched, and a worker that speaks up from there brings it back.
        </Text>
        {removal.error && <ErrorNote error={removal.error} />}
        <ShowCall call={removeHostCall(name)} subject="Remove" />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Keep it
          </Button>
          <ReasonButton
            color="red.8"
            reason={whyKept(host)}
            loading={removal.isPending}
            onClick={() => removal.mutate()}
          >
            Remove
          </ReasonButton>
        </Group>
      </Stack>
    </Modal>
  )
}
