import { Modal, Stack, Text } from '@mantine/core'
import { keys } from '@/api/keys'
import { declareLost } from '@/api/ownership'
import type { Pipeline, Run } from '@/api/types'
import { ConfirmByName } from '@/components/actions/ConfirmByName'
import { ShowCall } from '@/components/actions/ShowCall'
import { ChangeError } from '@/components/governance/ChangeError'
import { useSending } from '@/components/ui/useSending'
import { declareLostCall } from '@/domain/calls'

interface DeclareLostProps {
  pipeline: Pick<Pipeline, 'name'>
  run: Pick<Run, 'number' | 'host' | 'driver_pid'>
  onClose: () => void
}

/** A user's confirmation for a host that cannot report. */
export function DeclareLostDialog({ pipeline: { name }, run, onClose }: DeclareLostProps) {
  const decision = useSending({
    send: () => declareLost(name),
    queryKey: keys.pipeline(name),
    done: () => `Run ${run.number} of ${name} is declared lost.`,
    onClose,
  })
  const process = run.driver_pid === null ? 'its process' : `its process (pid ${run.driver_pid})`
  return (
    <Modal opened onClose={onClose} title={`Declare run ${run.number} of ${name} lost?`}>
      <Stack gap="md">
        <Text size="sm">
          You confirm that {process} on {run.host} is dead. The next run redelivers everything that was
          delivered after the last report.
        </Text>
        <Text size="sm">
          If it is alive, everything it delivers from now on is delivered twice until its host reports again
          and ends it. No record is lost in either case.
        </Text>
        <ConfirmByName
          name={name}
          keep="Wait for the host"
          act="Declare run lost"
          pending={decision.isPending}
          onAct={() => decision.mutate()}
          onClose={onClose}
        >
          {decision.error && (
            <ChangeError
              error={decision.error}
              name={name}
              kind="declare-lost"
              arguments={{ confirm: name }}
            />
          )}
          <ShowCall call={declareLostCall(name)} subject="Declare run lost" />
        </ConfirmByName>
      </Stack>
    </Modal>
  )
}
