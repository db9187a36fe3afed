import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { IconBan, IconCheck, IconCircleX, IconHourglass, type Icon } from '@tabler/icons-react'
import type { Pipeline } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { ACTION_WORDS } from '@/components/actions/words'
import { Table } from '@/components/ui/Table'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { actionCall } from '@/domain/calls'
import type { Tone } from '@/domain/phases'
import { count, plural } from '@/lib/format'
import type { BulkKind, BulkResult } from './bulk'
import type { BulkJob } from './useBulk'

/** Names that the question lists. */
const NAMED = 8

const LOOKS: Record<BulkResult['state'], { tone: Tone; icon: Icon; word: string }> = {
  waiting: { tone: 'idle', icon: IconHourglass, word: 'Waiting' },
  accepted: { tone: 'ok', icon: IconCheck, word: 'Accepted' },
  refused: { tone: 'warn', icon: IconBan, word: 'Rejected' },
  failed: { tone: 'bad', icon: IconCircleX, word: 'Failed' },
}

interface BulkDialogProps {
  job: BulkJob
  onConfirm: () => void
  onClose: () => void
}

/** Asks once where the action disturbs, then shows what became of the request for each pipeline. */
export function BulkDialog({ job, onConfirm, onClose }: BulkDialogProps) {
  const { kind, pipelines, affected, results, busy } = job
  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title={`${ACTION_WORDS[kind].verb} ${plural(affected.length, 'pipeline')}`}
    >
      {results ? (
        <Results pipelines={pipelines} results={results} busy={busy} onClose={onClose} />
      ) : (
        <Confirm
          kind={kind}
          pipelines={pipelines}
          affected={affected}
          onConfirm={onConfirm}
          onClose={onClose}
        />
      )}
    </Modal>
  )
}

interface ConfirmProps {
  kind: BulkKind
  pipelines: Pipeline[]
  /** Those of them that change. */
  affected: Pipeline[]
  onConfirm: () => void
  onClose: () => void
}

function Confirm({ kind, pipelines, affected, onConfirm, onClose }: ConfirmProps) {
  const { verb } = ACTION_WORDS[kind]
  const unchanged = pipelines.length - affected.length
  return (
    <Stack gap="md">
      <Text size="sm">
        {affected
          .slice(0, NAMED)
          .map(({ name }) => name)
          .join(', ')}
        {affected.length > NAMED && ` and ${count(affected.length - NAMED)} more`}
      </Text>
      <Text size="sm">
        Each pipeline drains first: the in-flight batch is delivered, then the process ends.
        {unchanged > 0 &&
          ` ${plural(unchanged, 'other selected pipeline does', 'other selected pipelines do')} not change.`}
      </Text>
      <ShowCall call={actionCall('NAME', kind, { drain: true })} subject={verb} />
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button color="red.8" onClick={onConfirm}>
          {verb} {plural(affected.length, 'pipeline')}
        </Button>
      </Group>
    </Stack>
  )
}

interface ResultsProps {
  pipelines: Pipeline[]
  results: ReadonlyMap<string, BulkResult>
  busy: boolean
  onClose: () => void
}

function Results({ pipelines, results, busy, onClose }: ResultsProps) {
  return (
    <Stack gap="md">
      <Text size="sm" role="status">
        {busy ? `${count(results.size)} of ${count(pipelines.length)} answered` : tally(results)}
      </Text>
      <Table
        label="Results"
        maxHeight={380}
        head={
          <>
            <th>Pipeline</th>
            <th>Result</th>
            <th>Reason</th>
          </>
        }
      >
        {pipelines.map(({ name }) => {
          const result = results.get(name) ?? { name, state: 'waiting' as const, text: '' }
          const { tone, icon, word } = LOOKS[result.state]
          return (
            <tr key={name}>
              <td>{name}</td>
              <td>
                <ToneBadge tone={tone} icon={icon}>
                  {word}
                </ToneBadge>
              </td>
              <td>{result.text}</td>
            </tr>
          )
        })}
      </Table>
      <Group justify="flex-end">
        <Button onClick={onClose} variant="default">
          Close
        </Button>
      </Group>
    </Stack>
  )
}

function tally(results: ReadonlyMap<string, BulkResult>): string {
  const states = (['accepted', 'refused', 'failed'] as const).map((state) => {
    const n = [...results.values()].filter((result) => result.state === state).length
    return n > 0 ? `${count(n)} ${LOOKS[state].word.toLowerCase()}` : ''
  })
  return `${states.filter(Boolean).join(', ')}.`
}
