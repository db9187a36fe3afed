import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { IconDoorExit } from '@tabler/icons-react'
import { useState } from 'react'
import { drainHost } from '@/api/hosts'
import { keys } from '@/api/keys'
import { sessionQuery } from '@/api/session'
import type { Host } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote } from '@/components/ui/Feedback'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { drainCall } from '@/domain/calls'
import { cannotAdminister } from '@/domain/roles'

/** Says that a host takes no new agents, and who wanted that. */
export function Drained({ host }: { host: Host }) {
  if (host.drained_at === null) return null
  return (
    <ToneBadge tone="held" icon={IconDoorExit} title={`By ${host.drained_by}`}>
      Drained
    </ToneBadge>
  )
}

/** Empties a host after a question, or takes it back at once. */
export function DrainButton({ host }: { host: Host }) {
  const refused = cannotAdminister(useQuery(sessionQuery).data)
  const [asking, setAsking] = useState(false)
  const client = useQueryClient()
  const change = useMutation({
    mutationFn: (drain: boolean) => drainHost(host.name, drain),
    onSuccess: (_, drain) => {
      announce(drain ? `${host.name} takes no new agents.` : `${host.name} takes agents again.`)
      setAsking(false)
    },
    onSettled: () => client.invalidateQueries({ queryKey: keys.hosts }),
  })
  const drained = host.drained_at !== null
  return (
    <>
      <ReasonButton
        size="compact-xs"
        variant="default"
        reason={refused}
        aria-label={`${drained ? 'Undrain' : 'Drain'} ${host.name}`}
        loading={change.isPending && !asking}
        onClick={() => (drained ? change.mutate(false) : setAsking(true))}
      >
        {drained ? 'Undrain' : 'Drain'}
      </ReasonButton>
      {change.error && !asking && <ErrorNote error={change.error} />}
      {asking && (
        <Modal opened onClose={() => setAsking(false)} title={`Drain ${host.name}?`}>
          <Stack gap="md">
            <Text size="sm">
              It takes no new agents. Pipelines that nothing ties to it are moved to other hosts one after
              another, each stopped at a batch boundary first; those that are tied to it stay, and the list of
              its pipelines says by what. Nothing moves back by itself.
            </Text>
            {change.error && <ErrorNote error={change.error} />}
            <ShowCall call={drainCall(host.name, true)} subject="Drain" />
            <Group justify="flex-end" gap="xs">
              <Button variant="default" onClick={() => setAsking(false)}>
                Leave it
              </Button>
              <Button loading={change.isPending} onClick={() => change.mutate(true)}>
                Drain
              </Button>
            </Group>
          </Stack>
        </Modal>
      )}
    </>
  )
}
