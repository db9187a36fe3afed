import { Drawer, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { deadLetterQuery } from '@/api/deadLetters'
import type { DeadLetterDetail } from '@/api/types'
import { ErrorNote, Loading } from '@/components/ui/Feedback'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { count } from '@/lib/format'
import { DiscardDialog } from './DiscardDialog'
import { LetterState, originOf } from './LetterTable'
import { RepairDialog } from './RepairDialog'
import classes from './letters.module.css'

interface DrawerProps {
  name: string
  id: string
  /** Why nothing may be seen or changed; null where it may. */
  readOnly: string | null
  onClose: () => void
}

/** One dead letter with its content, and what can be done with it. */
export function LetterDrawer({ name, id, readOnly, onClose }: DrawerProps) {
  const { data, error, refetch } = useQuery({ ...deadLetterQuery(name, id), enabled: !readOnly })
  const [dialog, setDialog] = useState<'replay' | 'discard' | null>(null)
  const settled = data && notFree(data)
  return (
    <>
      <Drawer opened={dialog === null} onClose={onClose} position="right" size="lg" title="Dead letter">
        <Stack gap="md">
          {readOnly && <Text size="sm">The content is untrusted data. {readOnly}</Text>}
          {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
          {!data && !error && !readOnly && <Loading />}
          {data && <Facts letter={data} />}
          {data && (
            <Group justify="flex-end" gap="xs">
              <ReasonButton variant="default" reason={settled} onClick={() => setDialog('discard')}>
                Discard
              </ReasonButton>
              <ReasonButton reason={settled} onClick={() => setDialog('replay')}>
                Retry
              </ReasonButton>
            </Group>
          )}
        </Stack>
      </Drawer>
      {data && dialog === 'replay' && (
        <RepairDialog name={name} letter={data} onDone={onClose} onClose={() => setDialog(null)} />
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
    : `This dead letter is ${state === 'REPLAYED' ? 'retried' : 'discarded'} already.`
}

function Facts({ letter }: { letter: DeadLetterDetail }) {
  const key = letter.key ?? letter.key_base64
  return (
    <>
      <dl className={classes.facts}>
        <dt>State</dt>
        <dd>
          <LetterState letter={letter} />
        </dd>
        <dt>Component</dt>
        <dd>{letter.component}</dd>
        <dt>Cause</dt>
        <dd>{letter.cause}</dd>
        <dt>Origin</dt>
        <dd>
          {letter.source} → {letter.channel}, {originOf(letter)}
        </dd>
        <dt>Original size</dt>
        <dd>
          {letter.location} on {letter.host}
        </dd>
        {key !== null && <dt>Key</dt>}
        {key !== null && <dd>{key}</dd>}
      </dl>
      {letter.headers.length > 0 && (
        <dl className={classes.facts} aria-label="Headers">
          {letter.headers.map((header) => (
            <HeaderLine key={`${header.name}=${header.value ?? header.value_base64}`} {...header} />
          ))}
        </dl>
      )}
      <div>
        <Text size="sm" c="dimmed">
          {letter.truncated
            ? `The first 16 KiB of ${count(letter.size)} bytes. A retry sends all of them.`
            : `Body, ${count(letter.size)} bytes`}
          {letter.body === null && ', in base64'}
        </Text>
        <pre className={classes.body} tabIndex={0} aria-label="Body">
          {letter.body ?? letter.body_base64}
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
