import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { MigrationChoice, MigrationDetail } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { ErrorNote } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { ReasonField } from '@/components/ui/ReasonField'
import { deedCall } from '@/domain/migrationCalls'
import { useFrozen } from '@/lib/session'
import { describeImpact } from './choices'
import { isRolledBack } from './steps'
import { useDeed } from './useMigration'
import classes from './migrations.module.css'

const BACK = ['abort', 'rollback', 'close', 'revert'] as const
type Back = (typeof BACK)[number]

const WORDS: Record<Back, { button: string; title: string; keep: string }> = {
  abort: { button: 'Cancel migration', title: 'Cancel this migration?', keep: 'Keep migration' },
  rollback: { button: 'Roll back migration', title: 'Roll back this migration?', keep: 'Keep migration' },
  close: { button: 'Close migration', title: 'Close this migration as it is?', keep: 'Keep open' },
  revert: { button: 'Plan revert', title: 'Plan a migration that reverts this one?', keep: 'Cancel' },
}

const isBack = (choice: MigrationChoice): choice is MigrationChoice & { choice: Back } =>
  BACK.some((each) => each === choice.choice)

/** Every way to cancel, roll back or revert, always in sight, with its expected impact. */
export function RollbackPanel({
  migration,
  rights,
}: {
  migration: MigrationDetail
  /** Why the user may do none of it. */
  rights: string | null
}) {
  const frozen = useFrozen()
  const choices = migration.choices.filter(isBack)
  return (
    <Panel title="Cancel and roll back" note={migration.open ? 'with the expected impact' : undefined}>
      {choices.length === 0 && (
        <p className={classes.note}>
          {isRolledBack(migration) ? 'Completed. The pipeline is as it was before.' : 'Completed.'}
        </p>
      )}
      <ul className={classes.choices}>
        {choices.map((choice) => (
          <li key={choice.choice} className={classes.choice}>
            <div>
              <strong>{choice.sentence}</strong> {choice.impact && describeImpact(choice.impact)}
              {choice.reason && <div className="dim">{choice.reason}</div>}
            </div>
            <BackButton
              migration={migration}
              choice={choice}
              deed={choice.choice}
              refused={
                rights ??
                (choice.choice === 'revert' ? frozen : null) ??
                (choice.allowed ? null : choice.reason)
              }
            />
          </li>
        ))}
      </ul>
    </Panel>
  )
}

interface BackProps {
  migration: MigrationDetail
  choice: MigrationChoice
  deed: Back
  refused: string | null
}

/** Asks for confirmation, with the expected impact and a reason for the audit log. */
function BackButton({ migration, choice, deed, refused }: BackProps) {
  const [asking, setAsking] = useState(false)
  const [reason, setReason] = useState('')
  const request = useDeed(migration)
  const navigate = useNavigate()
  const { button, title, keep } = WORDS[deed]
  const done = (answer: MigrationDetail) =>
    answer.id === migration.id
      ? setAsking(false)
      : void navigate({ to: '/migrations/$id', params: { id: answer.id } })
  return (
    <>
      <ReasonButton variant="default" reason={refused} onClick={() => setAsking(true)}>
        {button}
      </ReasonButton>
      {asking && (
        <Modal opened onClose={() => setAsking(false)} title={title}>
          <Stack
            gap="md"
            component="form"
            onSubmit={(event) => {
              event.preventDefault()
              request.mutate({ deed, reason }, { onSuccess: done })
            }}
          >
            <Text size="sm">{choice.impact ? describeImpact(choice.impact) : choice.sentence}</Text>
            <ReasonField
              description="Stays in the audit log and in the report"
              value={reason}
              onChange={setReason}
              focused
            />
            {request.error && <ErrorNote error={request.error} />}
            <ShowCall call={deedCall(migration, deed, reason)} subject={button} />
            <Group justify="flex-end" gap="xs">
              <Button variant="default" onClick={() => setAsking(false)}>
                {keep}
              </Button>
              <ReasonButton
                type="submit"
                color="red.8"
                loading={request.isPending}
                reason={choice.allowed ? null : choice.reason}
              >
                {button}
              </ReasonButton>
            </Group>
          </Stack>
        </Modal>
      )}
    </>
  )
}
