import { Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { addFreeze } from '@/api/migrationRules'
import { ShowCall } from '@/components/actions/ShowCall'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote } from '@/components/ui/Feedback'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { freezeCall } from '@/domain/migrationCalls'
import { EVERYTHING, ScopeFields, scopeBody, scopeMissing } from './scope'
import classes from '../migrations.module.css'

/** From when to when no migration starts, of what, and why. Times are those of the browser's zone. */
export function FreezeDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient()
  const [scope, setScope] = useState(EVERYTHING)
  const [from, setFrom] = useState('')
  const [until, setUntil] = useState('')
  const [reason, setReason] = useState('')
  const body = {
    ...scopeBody(scope),
    starts_at: instant(from),
    ends_at: instant(until),
    reason: reason.trim(),
  }
  const save = useMutation({
    mutationFn: () => addFreeze(body),
    onSuccess: () => {
      announce('The freeze is added.')
      onClose()
    },
    onSettled: () => client.invalidateQueries({ queryKey: keys.freezes }),
  })
  const why = scopeMissing(scope) ?? missing(body)
  return (
    <Modal opened onClose={onClose} title="Add freeze" size="lg">
      <Stack
        gap="md"
        component="form"
        onSubmit={(event) => {
          event.preventDefault()
          if (why === null) save.mutate()
        }}
      >
        <ScopeFields scope={scope} onChange={setScope} />
        <div className={classes.fields}>
          <TextInput
            type="datetime-local"
            label="From"
            description="In your browser's time zone"
            value={from}
            onChange={(event) => setFrom(event.currentTarget.value)}
          />
          <TextInput
            type="datetime-local"
            label="Until"
            description="In your browser's time zone"
            value={until}
            onChange={(event) => setUntil(event.currentTarget.value)}
          />
        </div>
        <TextInput
          label="Reason"
          description="Shown to users who start a migration during the freeze"
          value={reason}
          maxLength={1000}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
        {save.error && <ErrorNote error={save.error} />}
        <ShowCall call={freezeCall(body)} subject="Add freeze" />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <ReasonButton type="submit" reason={why} loading={save.isPending}>
            Add freeze
          </ReasonButton>
        </Group>
      </Stack>
    </Modal>
  )
}

/** What the field holds, as a moment; empty while it is none. */
function instant(text: string): string {
  const at = new Date(text)
  return Number.isNaN(at.getTime()) ? '' : at.toISOString()
}

function missing({ starts_at, ends_at, reason }: { starts_at: string; ends_at: string; reason: string }) {
  if (starts_at === '' || ends_at === '') return 'Enter both times first.'
  if (ends_at <= starts_at) return 'The end must be after the start.'
  return reason === '' ? 'Enter a reason first.' : null
}
