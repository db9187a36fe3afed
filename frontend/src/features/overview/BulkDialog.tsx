import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core'
import { IconBan, IconCheck, IconCircleX, IconHourglass, type Icon } from '@tabler/icons-react'
import { useState } from 'react'
import type { Pipeline } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { ACTION_WORDS } from '@/components/actions/words'
import { announce } from '@/components/ui/Announcer'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Table } from '@/components/ui/Table'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { actionCall } from '@/domain/calls'
import type { Tone } from '@/domain/phases'
import { count, plural } from '@/lib/format'
import { runBulk, type BulkKind, type BulkResult } from './bulk'

/** From here on the number has to be typed: one click must not reach this many pipelines. */
const MANY = 10

const LOOKS: Record<BulkResult['state'], { tone: Tone; icon: Icon; word: string }> = {
  waiting: { tone: 'idle', icon: IconHourglass, word: 'Waiting' },
  accepted: { tone: 'ok', icon: IconCheck, word: 'Accepted' },
  refused: { tone: 'warn', icon: IconBan, word: 'Rejected' },
  failed: { tone: 'bad', icon: IconCircleX, word: 'Failed' },
}

interface BulkDialogProps {
  kind: BulkKind
  pipelines: Pipeline[]
  onClose: () => void
}

/** Asks once, then shows what became of the request for each pipeline. */
export function BulkDialog({ kind, pipelines, onClose }: BulkDialogProps) {
  const { verb } = ACTION_WORDS[kind]
  const [results, setResults] = useState<Map<string, BulkResult> | null>(null)
  const [busy, setBusy] = useState(false)
  const run = async () => {
    setResults(new Map())
    setBusy(true)
    await runBulk(kind, pipelines, (result) => setResults((old) => new Map(old).set(result.name, result)))
    setBusy(false)
    announce(`${verb}: every request is answered.`)
  }
  return (
    <Modal opened onClose={onClose} size="lg" title={`${verb} ${plural(pipelines.length, 'pipeline')}`}>
      {results ? (
        <Results pipelines={pipelines} results={results} busy={busy} onClose={onClose} />
      ) : (
        <Confirm kind={kind} pipelines={pipelines} onConfirm={() => void run()} onClose={onClose} />
      )}
    </Modal>
  )
}

function Confirm({ kind, pipelines, onConfirm, onClose }: BulkDialogProps & { onConfirm: () => void }) {
  const [typed, setTyped] = useState('')
  const many = pipelines.length >= MANY
  const ready = !many || typed.trim() === String(pipelines.length)
  return (
    <Stack gap="md">
      <Text size="sm">
        {pipelines
          .slice(0, 8)
          .map(({ name }) => name)
          .join(', ')}
        {pipelines.length > 8 && ` and ${count(pipelines.length - 8)} more`}
      </Text>
      {kind === 'stop' && (
        <Text size="sm">
          Each pipeline drains first: the in-flight batch is delivered, then the process ends.
        </Text>
      )}
      {many && (
        <TextInput
          label={`Type ${pipelines.length} to confirm`}
          inputMode="numeric"
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
      )}
      <ShowCall
        call={actionCall('NAME', kind, kind === 'stop' ? { drain: true } : {})}
        subject={ACTION_WORDS[kind].verb}
      />
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <ReasonButton
          color={kind === 'stop' ? 'red.8' : undefined}
          reason={ready ? null : 'Type the number first.'}
          onClick={onConfirm}
        >
          {ACTION_WORDS[kind].verb} {plural(pipelines.length, 'pipeline')}
        </ReasonButton>
      </Group>
    </Stack>
  )
}

interface ResultsProps {
  pipelines: Pipeline[]
  results: Map<string, BulkResult>
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

function tally(results: Map<string, BulkResult>): string {
  const states = (['accepted', 'refused', 'failed'] as const).map((state) => {
    const n = [...results.values()].filter((result) => result.state === state).length
    return n > 0 ? `${count(n)} ${LOOKS[state].word.toLowerCase()}` : ''
  })
  return `${states.filter(Boolean).join(', ')}.`
}
