import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { IconDoorExit } from '@tabler/icons-react'
import { useState } from 'react'
import { drainHost } from '@/api/hosts'
import { keys } from '@/api/keys'
import type { DrainBody, Host } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { Ways, type Way, type WayList } from '@/components/actions/Ways'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote } from '@/components/ui/Feedback'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { drainCall } from '@/domain/calls'
import { cannotAdministerAll } from '@/domain/roles'
import { useBarred } from '@/lib/session'

/** Says that a host takes no new agents, and who wanted that. */
export function Drained({ host }: { host: Host }) {
  if (host.drained_at === null) return null
  return (
    <ToneBadge tone="held" icon={IconDoorExit} title={`By ${host.drained_by}`}>
      Drained
    </ToneBadge>
  )
}

const WAYS: WayList<Way<DrainBody>> = [
  {
    label: 'Drain, or continue running',
    description:
      'An agent whose in-flight batch is not finished at its drain timeout continues, and is asked again after ten minutes.',
    body: { on_timeout: 'abort' },
  },
  {
    label: 'Drain, then stop',
    description: 'After the drain timeout the stop escalates: interrupt, then kill.',
    body: { on_timeout: 'stop' },
  },
]

/** Empties a host after a question, or takes it back at once. */
export function DrainButton({ host }: { host: Host }) {
  const refused = useBarred(cannotAdministerAll)
  const [asking, setAsking] = useState(false)
  const [chosen, setChosen] = useState(WAYS[0])
  const { body } = chosen
  const client = useQueryClient()
  const change = useMutation({
    mutationFn: (how: DrainBody | null) => drainHost(host.name, how),
    onSuccess: (_, how) => {
      announce(how ? `${host.name} accepts no new pipelines.` : `${host.name} accepts pipelines again.`)
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
        onClick={() => (drained ? change.mutate(null) : setAsking(true))}
      >
        {drained ? 'Undrain' : 'Drain'}
      </ReasonButton>
      {change.error && !asking && <ErrorNote error={change.error} />}
      {asking && (
        <Modal opened onClose={() => setAsking(false)} title={`Drain ${host.name}?`}>
          <Stack gap="md">
            <Text size="sm">
              The host accepts no new pipelines. Pipelines that are not bound to it move to other hosts one at
              a time, each stopped at a batch boundary first. Bound pipelines stay, and the list of pipelines
              shows the reason. Nothing moves back automatically.
            </Text>
            {change.error && <ErrorNote error={change.error} />}
            <Ways ways={WAYS} chosen={chosen} onChoose={setChosen} />
            <ShowCall call={drainCall(host.name, body)} subject="Drain host" />
            <Group justify="flex-end" gap="xs">
              <Button variant="default" onClick={() => setAsking(false)}>
                Cancel
              </Button>
              <Button loading={change.isPending} onClick={() => change.mutate(body)}>
                Drain host
              </Button>
            </Group>
          </Stack>
        </Modal>
      )}
    </>
  )
}
