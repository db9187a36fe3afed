import { Button, Group, Modal, Radio, Select, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { createSilence } from '@/api/alerts'
import { keys } from '@/api/keys'
import { Problem } from '@/api/problem'
import type { Alert, Matchers } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote } from '@/components/ui/Feedback'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { inHours, silenceCall } from '@/domain/calls'
import { matcherWords } from '@/domain/matchers'

const HOURS = [
  { value: '1', label: '1 hour' },
  { value: '4', label: '4 hours' },
  { value: '24', label: '1 day' },
  { value: '72', label: '3 days' },
  { value: '168', label: '7 days' },
]

/** Holds back messages about alerts like this one. The alerts stay on the page. */
export function SilenceDialog({ alert, onClose }: { alert: Alert; onClose: () => void }) {
  const client = useQueryClient()
  const choices = choicesFor(alert)
  const [chosen, setChosen] = useState(0)
  const [hours, setHours] = useState('4')
  const [comment, setComment] = useState('')
  const matchers = choices[chosen] ?? choices[0]
  const save = useMutation({
    mutationFn: () => createSilence({ team: null, matchers, comment, ends_at: inHours(Number(hours)) }),
    onSuccess: () => {
      announce('The silence is created.')
      onClose()
    },
    onSettled: () =>
      Promise.all([
        client.invalidateQueries({ queryKey: keys.anyAlert }),
        client.invalidateQueries({ queryKey: keys.silences }),
      ]),
  })
  const findings = save.error instanceof Problem ? save.error.findings : []
  return (
    <Modal opened onClose={onClose} title="Silence alerts" size="lg">
      <Stack
        gap="md"
        component="form"
        onSubmit={(event) => {
          event.preventDefault()
          if (comment.trim()) save.mutate()
        }}
      >
        <Text size="sm">
          No messages about these alerts are sent until the silence ends. The alerts stay visible, and those
          that still fire at the end are delivered then.
        </Text>
        <Radio.Group label="Alerts" value={String(chosen)} onChange={(value) => setChosen(Number(value))}>
          <Stack gap="xs" mt="xs">
            {choices.map((each, index) => (
              <Radio key={matcherWords(each)} value={String(index)} label={matcherWords(each)} />
            ))}
          </Stack>
        </Radio.Group>
        <Select
          label="Duration"
          data={HOURS}
          value={hours}
          onChange={(value) => setHours(value ?? hours)}
          allowDeselect={false}
        />
        <TextInput
          label="Comment"
          description="The reason, shown with the alerts"
          value={comment}
          onChange={(event) => setComment(event.currentTarget.value)}
          maxLength={1000}
          required
          data-autofocus
        />
        {findings.map(({ path, message, suggestion }) => (
          <Text key={path} size="sm" role="alert">
            {message} {suggestion}
          </Text>
        ))}
        {save.error && findings.length === 0 && <ErrorNote error={save.error} />}
        <ShowCall call={silenceCall(matchers, Number(hours), comment)} subject="Silence" />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <ReasonButton
            type="submit"
            loading={save.isPending}
            reason={comment.trim() ? null : 'Enter a comment first.'}
          >
            Create silence
          </ReasonButton>
        </Group>
      </Stack>
    </Modal>
  )
}

const NOTHING: Matchers = { pipelines: [], labels: [], rules: [], severities: [] }

/** What a silence may be about, the narrowest first. */
function choicesFor({ pipeline, rule, labels }: Alert): [Matchers, ...Matchers[]] {
  const ofRule = { ...NOTHING, rules: [rule] }
  if (!pipeline) return [ofRule]
  const byLabel = Object.entries(labels).map(([name, value]) => ({
    ...NOTHING,
    labels: [`${name}:${value}`],
  }))
  return [{ ...ofRule, pipelines: [pipeline] }, { ...NOTHING, pipelines: [pipeline] }, ...byLabel, ofRule]
}
