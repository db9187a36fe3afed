import { Radio, Select, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { createSilence, matchedAlertsQuery } from '@/api/alerts'
import { keys } from '@/api/keys'
import { pipelineQuery } from '@/api/pipelines'
import type { Alert, Matchers } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { TeamField } from '@/components/teams/TeamField'
import { useOwnerChoice } from '@/components/teams/useTeamChoice'
import { announce } from '@/components/ui/Announcer'
import { FormDialog } from '@/components/ui/FormDialog'
import { inHours, silenceCall } from '@/domain/calls'
import { matcherWords } from '@/domain/matchers'
import { count } from '@/lib/format'

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
  const about = useQuery({ ...pipelineQuery(alert.pipeline ?? ''), enabled: alert.pipeline !== null }).data
  const owner = useOwnerChoice('operator', about?.team)
  const matchers = choices[chosen] ?? choices[0]
  const save = useMutation({
    mutationFn: () => createSilence({ team: owner.team, matchers, comment, ends_at: inHours(Number(hours)) }),
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
  return (
    <FormDialog
      title="Silence alerts"
      submit="Create silence"
      size="lg"
      reason={comment.trim() ? owner.missing : 'Enter a comment first.'}
      placed={['team']}
      sending={save}
      onClose={onClose}
      call={<ShowCall call={silenceCall(matchers, Number(hours), comment, owner.team)} subject="Silence" />}
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
      <Matched matchers={matchers} />
      <TeamField
        choice={owner}
        description="The silence of a team is about alerts of that team alone."
        error={save.error}
      />
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
    </FormDialog>
  )
}

/** How many alerts the silence would be about now. */
function Matched({ matchers }: { matchers: Matchers }) {
  const { data, error } = useQuery(matchedAlertsQuery(matchers))
  const number = data && `${count(data.count)}${data.more ? ' or more' : ''}`
  return (
    <Text size="sm" role="status">
      {error && 'The number of matching alerts is unknown. '}
      {!data && !error && 'Counting matching alerts …'}
      {data &&
        `Matches ${number} ${data.count === 1 ? 'alert that fires' : 'alerts that fire'} now, and later ones.`}
    </Text>
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
