import { Modal, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { keys } from '@/api/keys'
import { declareLost } from '@/api/ownership'
import type { Pipeline, Run } from '@/api/types'
import { ConfirmByName } from '@/components/actions/ConfirmByName'
import { ShowCall } from '@/components/actions/ShowCall'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote } from '@/components/ui/Feedback'
import { declareLostCall } from '@/domain/calls'

interface DeclareLostProps {
  pipeline: Pick<Pipeline, 'name'>
  run: Pick<Run, 'number' | 'host' | 'driver_pid'>
  onClose: () => void
}

/** A person's word for a host that cannot give its own. */
export function DeclareLostDialog({ pipeline: { name }, run, onClose }: DeclareLostProps) {
  const client = useQueryClient()
  const decision = useMutation({
    mutationFn: () => declareLost(name),
    onSuccess: () => {
      announce(`Run ${run.number} of ${name} is lost.`)
      onClose()
    },
    onSettled: () => client.invalidateQueries({ queryKey: keys.pipeline(name) }),
  })
  const process = run.driver_pid === null ? 'its process' : `its process (pid ${run.driver_pid})`
  return (
    <Modal opened onClose={onClose} title={`Declare run ${run.number} of ${name} lost?`}>
      <Stack gap="md">
        <Text size="sm">
          You state that {process} on {run.host} does not live any more. What it delivered after its last
          report is delivered again by the next run.
        </Text>
        <Text size="sm">
          If it does live, everything that it delivers from now on is delivered twice, until its host is heard
          of again and ends it. Nothing is lost either way.
        </Text>
        <ConfirmByName
          name={name}
          keep="Wait for the host"
          act="Declare it lost"
          pending={decision.isPending}
          onAct={() => decision.mutate()}
          onClose={onClose}
        >
          {decision.error && <ErrorNote error={decision.error} />}
          <ShowCall call={declareLostCall(name)} subject="Declare lost" />
        </ConfirmByName>
      </Stack>
    </Modal>
  )
}
