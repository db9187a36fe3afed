import { Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { IconCheck, IconCircleX, IconHourglass } from '@tabler/icons-react'
import { useState } from 'react'
import { acknowledgeAlert } from '@/api/alerts'
import { keys } from '@/api/keys'
import { explain } from '@/api/problem'
import type { Alert } from '@/api/types'
import { announce } from '@/components/ui/Announcer'
import { SelectionBar } from '@/components/ui/SelectionBar'
import { Table } from '@/components/ui/Table'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { plural } from '@/lib/format'

type Results = ReadonlyMap<number, true | string>

/** What can be done with the selected alerts. */
export function BulkAcknowledge({ chosen, onClear }: { chosen: Alert[]; onClear: () => void }) {
  const [asked, setAsked] = useState<Alert[] | null>(null)
  const close = () => {
    setAsked(null)
    onClear()
  }
  return (
    <>
      {!asked && (
        <SelectionBar count={chosen.length} noun="alert" onClear={onClear}>
          <Button variant="default" onClick={() => setAsked(chosen)}>
            Acknowledge {plural(chosen.length, 'alert')}
          </Button>
        </SelectionBar>
      )}
      {asked && <BulkDialog alerts={asked} onCancel={() => setAsked(null)} onClose={close} />}
    </>
  )
}

interface BulkDialogProps {
  alerts: Alert[]
  onCancel: () => void
  onClose: () => void
}

/** Asks for one note, then shows what became of each alert. */
function BulkDialog({ alerts, onCancel, onClose }: BulkDialogProps) {
  const client = useQueryClient()
  const [note, setNote] = useState('')
  const [results, setResults] = useState<Results | null>(null)
  const sending = useMutation({
    mutationFn: async () => {
      const found = new Map<number, true | string>()
      setResults(new Map(found))
      for (const alert of alerts) {
        found.set(alert.id, await acknowledged(alert.id, note))
        setResults(new Map(found))
      }
      return [...found.values()].filter((result) => result === true).length
    },
    onSuccess: (done) => announce(`${done} of ${plural(alerts.length, 'alert')} acknowledged.`),
    onSettled: () => client.invalidateQueries({ queryKey: keys.anyAlert }),
  })
  return (
    <Modal
      opened
      onClose={results ? onClose : onCancel}
      title={`Acknowledge ${plural(alerts.length, 'alert')}`}
      size="lg"
    >
      <Stack
        gap="md"
        component="form"
        onSubmit={(event) => {
          event.preventDefault()
          sending.mutate()
        }}
      >
        {!results && (
          <TextInput
            label="Note"
            description="What is being done, for users who look next. Each alert gets it."
            value={note}
            onChange={(event) => setNote(event.currentTarget.value)}
            maxLength={1000}
            data-autofocus
          />
        )}
        <Outcomes alerts={alerts} results={results} />
        <Group justify="flex-end" gap="xs">
          {results ? (
            <Button loading={sending.isPending} onClick={onClose}>
              Close
            </Button>
          ) : (
            <>
              <Button variant="default" onClick={onCancel}>
                Cancel
              </Button>
              <Button type="submit">Acknowledge {plural(alerts.length, 'alert')}</Button>
            </>
          )}
        </Group>
      </Stack>
    </Modal>
  )
}

/** True, or why it was refused; one that is refused stops no other. */
async function acknowledged(id: number, note: string): Promise<true | string> {
  try {
    await acknowledgeAlert({ id, note })
    return true
  } catch (error) {
    const { text, hint } = explain(error)
    return [text, hint].filter(Boolean).join(' ')
  }
}

function Outcomes({ alerts, results }: { alerts: Alert[]; results: Results | null }) {
  return (
    <Table
      label="Alerts to acknowledge"
      maxHeight={320}
      head={
        <>
          <th>Alert</th>
          {results && <th>Result</th>}
        </>
      }
    >
      {alerts.map(({ id, pipeline, key, message }) => (
        <tr key={id}>
          <th scope="row">
            {pipeline ?? key}
            <div className="dim">{message}</div>
          </th>
          {results && (
            <td>
              <Outcome result={results.get(id)} />
            </td>
          )}
        </tr>
      ))}
    </Table>
  )
}

function Outcome({ result }: { result: true | string | undefined }) {
  if (result === undefined) {
    return (
      <ToneBadge tone="idle" icon={IconHourglass}>
        Waiting
      </ToneBadge>
    )
  }
  if (result === true) {
    return (
      <ToneBadge tone="ok" icon={IconCheck}>
        Acknowledged
      </ToneBadge>
    )
  }
  return (
    <>
      <ToneBadge tone="bad" icon={IconCircleX}>
        Failed
      </ToneBadge>
      <div>{result}</div>
    </>
  )
}
