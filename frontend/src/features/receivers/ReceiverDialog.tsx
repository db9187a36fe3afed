import { MultiSelect, Select, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { secretsQuery } from '@/api/secrets'
import type { Receiver, ReceiverKind, ReceiverRequest, Severity } from '@/api/types'
import { createReceiver, updateReceiver } from '@/api/receivers'
import { ShowCall } from '@/components/actions/ShowCall'
import { TeamField } from '@/components/teams/TeamField'
import { useOwnerChoice } from '@/components/teams/useTeamChoice'
import { Unread } from '@/components/ui/Feedback'
import { FormDialog } from '@/components/ui/FormDialog'
import { useSending } from '@/components/ui/useSending'
import { receiverCall } from '@/domain/calls'
import { findingsOf, wordsAt } from '@/domain/findings'
import { RECEIVER_KINDS, SEVERITIES } from '@/domain/severities'
import { draftOf, FIELDS, missing, requestOf, type Draft, type Field } from './words'

/** Adds a receiver or, with `receiver`, changes one. The findings of the server stand at the fields that they are about. */
export function ReceiverDialog({ receiver, onClose }: { receiver?: Receiver; onClose: () => void }) {
  const [draft, setDraft] = useState(() => draftOf(receiver))
  const change = (fields: Partial<Draft>) => setDraft((old) => ({ ...old, ...fields }))
  const owner = useOwnerChoice('admin')
  const request = requestOf(draft, owner.team, receiver)
  const changes = changesOf(request)
  const save = useSending({
    send: () => (receiver ? updateReceiver(receiver, changes) : createReceiver(request)),
    queryKey: keys.receivers,
    done: ({ id }) => (receiver ? `Receiver ${id} is changed.` : `Receiver ${id} is added.`),
    onClose,
  })
  const at = (field: Field) => wordsAt(findingsOf(save.error), [field])
  const fields = { draft, onChange: change, at }
  const verb = receiver ? 'Save receiver' : 'Add receiver'
  return (
    <FormDialog
      title={receiver ? `Receiver ${receiver.id}` : verb}
      submit={verb}
      size="lg"
      reason={missing(draft) ?? (receiver ? null : owner.missing)}
      placed={FIELDS}
      sending={save}
      onClose={onClose}
      call={
        <ShowCall
          call={receiverCall(receiver?.id ?? null, receiver ? changes : request)}
          subject="Receiver"
        />
      }
    >
      <Select
        label="Kind"
        data={Object.entries(RECEIVER_KINDS).map(([value, label]) => ({ value, label }))}
        value={draft.kind}
        onChange={(kind) => setDraft(draftOf(undefined, (kind as ReceiverKind | null) ?? draft.kind))}
        allowDeselect={false}
        disabled={receiver !== undefined}
      />
      {!receiver && (
        <TeamField
          choice={owner}
          description="A receiver of a team gets what is about that team alone."
          error={save.error}
        />
      )}
      <TargetFields {...fields} />
      <TextInput
        label="Events"
        description={EVENTS[draft.kind]}
        value={draft.events}
        error={at('events')}
        onChange={(event) => change({ events: event.currentTarget.value })}
        autoComplete="off"
        spellCheck={false}
      />
      {draft.kind !== 'email' && (
        <SecretFields
          team={receiver ? receiver.team : owner.team}
          draft={draft}
          error={at('secrets')}
          onChange={change}
        />
      )}
      <MatcherFields {...fields} />
      <TextInput
        label="Description"
        value={draft.description}
        onChange={(event) => change({ description: event.currentTarget.value })}
        maxLength={1000}
      />
    </FormDialog>
  )
}

const ALERTS = 'alert.opened, alert.acknowledged, alert.resolved, or alert.* for all of them'
const EVENTS: Record<ReceiverKind, string> = {
  webhook: 'Types or prefixes such as migration.* and alert.*, separated by commas; * for all',
  slack: ALERTS,
  pagerduty: ALERTS,
  email: ALERTS,
}

/** What may be changed of a receiver: its kind stays, and so does whether it is enabled. */
function changesOf(request: ReceiverRequest): Partial<ReceiverRequest> {
  const { url, events, secrets, matchers, description, email } = request
  const changes = { url, events, secrets, matchers, description }
  return email ? { ...changes, email } : changes
}

interface FieldsProps {
  draft: Draft
  onChange: (fields: Partial<Draft>) => void
  at: (field: Field) => string | null
}

/** Where the messages go. */
function TargetFields({ draft, onChange, at }: FieldsProps) {
  if (draft.kind === 'slack') return null
  if (draft.kind === 'email') {
    return (
      <>
        <TextInput
          label="Recipients"
          description="Mail addresses, separated by commas"
          value={draft.recipients}
          error={at('email.recipients')}
          onChange={(event) => onChange({ recipients: event.currentTarget.value })}
          autoComplete="off"
          spellCheck={false}
          data-autofocus
        />
        <TextInput
          label="Sender"
          description="That of the installation (HEADGATE_SMTP_SENDER) if empty"
          value={draft.sender}
          error={at('email.sender')}
          onChange={(event) => onChange({ sender: event.currentTarget.value })}
          autoComplete="off"
          spellCheck={false}
        />
      </>
    )
  }
  return (
    <TextInput
      label="URL"
      description={
        draft.kind === 'webhook'
          ? 'https://, reachable from the workers'
          : 'https://events.pagerduty.com/v2/enqueue if empty; that of the EU is events.eu.pagerduty.com'
      }
      value={draft.url}
      error={at('url')}
      onChange={(event) => onChange({ url: event.currentTarget.value })}
      autoComplete="off"
      spellCheck={false}
      data-autofocus
    />
  )
}

/** Which alerts it gets. */
function MatcherFields({ draft, onChange, at }: FieldsProps) {
  return (
    <>
      <TextInput
        label="Labels"
        description="Only pipelines with these labels: NAME:VALUE or NAME, separated by commas; empty for all"
        value={draft.labels}
        error={at('matchers.labels')}
        onChange={(event) => onChange({ labels: event.currentTarget.value })}
        autoComplete="off"
        spellCheck={false}
      />
      <MultiSelect
        label="Severities"
        description="Only alerts of these severities"
        placeholder={draft.severities.length === 0 ? 'All' : undefined}
        data={Object.entries(SEVERITIES).map(([value, { word }]) => ({ value, label: word }))}
        value={draft.severities}
        error={at('matchers.severities')}
        onChange={(severities) => onChange({ severities: severities as Severity[] })}
      />
      <TextInput
        label="Rules"
        description="Only alerts of these rules, separated by commas; empty for all"
        value={draft.rules}
        error={at('matchers.rules')}
        onChange={(event) => onChange({ rules: event.currentTarget.value })}
        autoComplete="off"
        spellCheck={false}
      />
    </>
  )
}

interface SecretFieldsProps {
  team: string | null
  draft: Draft
  error: string | null
  onChange: (fields: Partial<Draft>) => void
}

const SECRETS: Record<ReceiverKind, string> = {
  webhook: 'Signs every message: whsec_ and the base64 of 24 to 64 random bytes',
  slack: 'The address of the incoming webhook, as Slack shows it',
  pagerduty: 'The integration key (routing key) of the service',
  email: '',
}

/** Which stored secrets of the receiver's owner are used. The second one is for the time in which receivers may know either. */
function SecretFields({ team, draft, error, onChange }: SecretFieldsProps) {
  const query = useQuery(secretsQuery)
  const own = query.data?.filter((secret) => secret.purpose === 'receivers' && secret.team === team)
  const names = new Set([...(own ?? []).map(({ name }) => name), draft.secret ?? '', draft.former ?? ''])
  names.delete('')
  return (
    <>
      <Unread query={query} what="names of secrets" />
      <Select
        label="Secret"
        description={SECRETS[draft.kind]}
        data={[...names]}
        value={draft.secret}
        error={error}
        onChange={(secret) => onChange({ secret })}
        nothingFoundMessage={own && 'No secret of this name'}
        searchable
      />
      {own?.length === 0 && (
        <Text size="sm" c="dimmed">
          There are no secrets of receivers yet: <code>headgate secrets set NAME --for receivers</code>, or
          the Secrets page.
        </Text>
      )}
      {draft.kind === 'webhook' && (
        <Select
          label="Previous secret"
          description="During a rotation, messages carry both signatures"
          placeholder="None"
          data={[...names].filter((name) => name !== draft.secret)}
          value={draft.former}
          onChange={(former) => onChange({ former })}
          clearable
          clearButtonProps={{ 'aria-label': 'No previous secret' }}
          searchable
        />
      )}
    </>
  )
}
