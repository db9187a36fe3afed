import { Button, Group, Modal, Select, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { secretsQuery } from '@/api/secrets'
import type { Webhook } from '@/api/types'
import { createWebhook, updateWebhook } from '@/api/webhooks'
import { ShowCall } from '@/components/actions/ShowCall'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote } from '@/components/ui/Feedback'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { webhookCall } from '@/domain/calls'
import { findingsOf, missing, requestOf, secretName, wordsAt, type Draft } from './words'

/** Adds an endpoint or, with `webhook`, changes one. The findings of the server stand at the fields that they are about. */
export function WebhookDialog({ webhook, onClose }: { webhook?: Webhook; onClose: () => void }) {
  const client = useQueryClient()
  const [draft, setDraft] = useState(() => draftOf(webhook))
  const change = (fields: Partial<Draft>) => setDraft((old) => ({ ...old, ...fields }))
  const { enabled: _, ...changes } = requestOf(draft)
  const save = useMutation({
    mutationFn: () => (webhook ? updateWebhook(webhook, changes) : createWebhook(requestOf(draft))),
    onSuccess: ({ id }) => {
      announce(webhook ? `Webhook ${id} is changed.` : `Webhook ${id} is added.`)
      onClose()
    },
    onSettled: () => client.invalidateQueries({ queryKey: keys.webhooks }),
  })
  const findings = findingsOf(save.error)
  const reason = missing(draft)
  return (
    <Modal opened onClose={onClose} title={webhook ? `Webhook ${webhook.id}` : 'Add webhook'} size="lg">
      <Stack
        gap="md"
        component="form"
        onSubmit={(event) => {
          event.preventDefault()
          if (reason === null) save.mutate()
        }}
      >
        <TextInput
          label="URL"
          description="https://, reachable from the workers"
          value={draft.url}
          error={wordsAt(findings, 'url')}
          onChange={(event) => change({ url: event.currentTarget.value })}
          autoComplete="off"
          spellCheck={false}
          data-autofocus
        />
        <TextInput
          label="Events"
          description="Types or prefixes such as migration.* and alert.*, separated by commas; * for all"
          value={draft.events}
          error={wordsAt(findings, 'events')}
          onChange={(event) => change({ events: event.currentTarget.value })}
          autoComplete="off"
          spellCheck={false}
        />
        <SecretFields draft={draft} error={wordsAt(findings, 'secrets')} onChange={change} />
        <TextInput
          label="Description"
          value={draft.description}
          onChange={(event) => change({ description: event.currentTarget.value })}
          maxLength={1000}
        />
        {save.error && findings.length === 0 && <ErrorNote error={save.error} />}
        <ShowCall
          call={webhookCall(webhook?.id ?? null, webhook ? changes : requestOf(draft))}
          subject="Webhook"
        />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <ReasonButton type="submit" loading={save.isPending} reason={reason}>
            {webhook ? 'Save webhook' : 'Add webhook'}
          </ReasonButton>
        </Group>
      </Stack>
    </Modal>
  )
}

function draftOf(webhook: Webhook | undefined): Draft {
  const [secret = null, former = null] = (webhook?.secrets ?? []).map(secretName)
  const { url = '', events = [], description = '' } = webhook ?? {}
  return { url, events: events.join(', '), secret, former, description }
}

interface SecretFieldsProps {
  draft: Draft
  error: string | null
  onChange: (fields: Partial<Draft>) => void
}

/** Which stored secrets sign. The second one is for the time in which receivers may know either. */
function SecretFields({ draft, error, onChange }: SecretFieldsProps) {
  const { data: secrets = [] } = useQuery(secretsQuery)
  const names = new Set([...secrets.map(({ name }) => name), draft.secret ?? '', draft.former ?? ''])
  names.delete('')
  return (
    <>
      <Select
        label="Secret"
        description="Signs every message: whsec_ and the base64 of 24 to 64 random bytes"
        data={[...names]}
        value={draft.secret}
        error={error}
        onChange={(secret) => onChange({ secret })}
        nothingFoundMessage="No secret of this name"
        searchable
      />
      {secrets.length === 0 && (
        <Text size="sm" c="dimmed">
          There are no secrets yet: <code>headgate secrets set NAME</code>, or the Secrets page.
        </Text>
      )}
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
    </>
  )
}
