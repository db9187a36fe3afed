import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { removeHost } from '@/api/hosts'
import { keys } from '@/api/keys'
import type { Host } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { ErrorNote } from '@/components/ui/Feedback'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { useSending } from '@/components/ui/useSending'
import { removeHostCall } from '@/domain/calls'
import { cannotAdministerAll } from '@/domain/roles'
import { plural } from '@/lib/format'
import { useBarred } from '@/lib/session'

/** Why a host cannot be removed; null where it can. The server checks again. */
export function whyKept({ name, state, promised }: Pick<Host, 'name' | 'state' | 'promised'>): string | null {
  if (state === 'UP') return `${name} is still reporting and would reappear. Stop its worker first.`
  if (promised > 0)
    return `${plural(promised, 'pipeline is', 'pipelines are')} placed on this host. Drain it, and declare lost what ran there.`
  return null
}

/** For a host that does not come back. */
export function RemoveButton({ host }: { host: Host }) {
  const refused = useBarred(cannotAdministerAll)
  const [asking, setAsking] = useState(false)
  return (
    <>
      <ReasonButton
        size="compact-xs"
        variant="default"
        reason={refused ?? whyKept(host)}
        aria-label={`Remove host ${host.name}`}
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
  const removal = useSending({
    send: () => removeHost(name),
    queryKey: keys.hosts,
    done: () => `${name} is removed.`,
    onClose,
  })
  return (
    <Modal opened onClose={onClose} title={`Remove ${name}?`}>
      <Stack gap="md">
        <Text size="sm">
          The host leaves every list, and the alert about its silence is resolved. Its runs stay in the
          ledger. Stopped pipelines that are not bound to it are placed again by their next start. The machine
          itself is not touched. A worker that reports from there adds the host again.
        </Text>
        {removal.error && <ErrorNote error={removal.error} />}
        <ShowCall call={removeHostCall(name)} subject="Remove host" />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Keep host
          </Button>
          <ReasonButton
            color="red.8"
            reason={whyKept(host)}
            loading={removal.isPending}
            onClick={() => removal.mutate()}
          >
            Remove host
          </ReasonButton>
        </Group>
      </Stack>
    </Modal>
  )
}
