import { Drawer, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { deadLetterQuery } from '@/api/deadLetters'
import type { DeadLetterDetail } from '@/api/types'
import { ErrorNote, Loading } from '@/components/ui/Feedback'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { count } from '@/lib/format'
import { DiscardDialog } from './DiscardDialog'
import { DeadLetterState, originOf } from './DeadLetterTable'
import { RepairDialog } from './RepairDialog'
import classes from './deadletters.module.css'

interface DrawerProps {
  name: string
  id: string
  /** Why nothing may be seen or changed; null where it may. */
  readOnly: string | null
  onClose: () => void
}

/** One dead letter with its content, and what can be done with it. */
export function DeadLetterDrawer({ name, id, readOnly, onClose }: DrawerProps) {
  const { data, error, refetch } = useQuery({ ...deadLetterQuery(name, id), enabled: !readOnly })
  const [dialog, setDialog] = useState<'retry' | 'discard' | null>(null)
  const settled = data && notFree(data)
  return (
    <>
      <Drawer opened={dialog === null} onClose={onClose} position="right" size="lg" title="Dead letter">
        <Stack gap="md">
          {readOnly && <Text size="sm">The content is untrusted data. {readOnly}</Text>}
          {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
          {!data && !error && !readOnly && <Loading />}
          {data && <Facts deadLetter={data} />}
          {data && (
            <Group justify="flex-end" gap="xs">
              <ReasonButton variant="default" reason={settled} onClick={() => setDialog('discard')}>
                Discard
              </ReasonButton>
              <ReasonButton reason={settled} onClick={() => setDialog('retry')}>
                Retry
              </ReasonButton>
            </Group>
          )}
        </Stack>
      </Drawer>
      {data && dialog === 'retry' && (
        <RepairDialog name={name} deadLetter={data} onDone={onClose} onClose={() => setDialog(null)} />
      )}
      {data && dialog === 'discard' && (
        <DiscardDialog name={name} id={id} onDone={onClose} onClose={() => setDialog(null)} />
      )}
    </>
  )
}

function notFree({ state, operation }: DeadLetterDetail): string | null {
  if (operation) return 'A retry is running.'
  return state === 'NEW'
    ? null
    : `This dead letter is ${state === 'RETRIED' ? 'retried' : 'discarded'} already.`
}

function Facts({ deadLetter }: { deadLetter: DeadLetterDetail }) {
  const key = deadLetter.key ?? deadLetter.key_base64
  return (
    <>
      <dl className={classes.facts}>
        <dt>State</dt>
        <dd>
          <DeadLetterState deadLetter={deadLetter} />
        </dd>
        <dt>Component</dt>
        <dd>{deadLetter.component}</dd>
        <dt>Cause</dt>
        <dd>{deadLetter.cause}</dd>
        <dt>Origin</dt>
        <dd>
          {deadLetter.source} → {deadLetter.channel}, {originOf(deadLetter)}
        </dd>
        <dt>Original size</dt>
        <dd>
          {deadLetter.location} on {deadLetter.host}
        </dd>
        {key !== null && <dt>Key</dt>}
        {key !== null && <dd>{key}</dd>}
      </dl>
      {deadLetter.headers.length > 0 && (
        <dl className={classes.facts} aria-label="Headers">
          {deadLetter.headers.map((header) => (
            <HeaderLine key={`${header.name}=${header.value ?? header.value_base64}`} {...header} />
          ))}
        </dl>
      )}
      <div>
        <Text size="sm" c="dimmed">
          {deadLetter.truncated
            ? `The first 16 KiB of ${count(deadLetter.size)} bytes. A retry sends all of them.`
            : `Body, ${count(deadLetter.size)} bytes`}
          {deadLetter.body === null && ', in base64'}
        </Text>
        <pre className={classes.body} tabIndex={0} aria-label="Body">
          {deadLetter.body ?? deadLetter.body_base64}
        </pre>
      </div>
    </>
  )
}

function HeaderLine({ name, value, value_base64 }: DeadLetterDetail['headers'][number]) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value ?? `${value_base64} (base64)`}</dd>
    </>
  )
}
