import { TextInput } from '@mantine/core'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { addFreeze } from '@/api/migrationRules'
import { ShowCall } from '@/components/actions/ShowCall'
import { FormDialog } from '@/components/ui/FormDialog'
import { useSending } from '@/components/ui/useSending'
import { ReasonField } from '@/components/ui/ReasonField'
import { freezeCall } from '@/domain/migrationCalls'
import { EVERYTHING, ScopeFields, scopeBody, scopeMissing } from './scope'
import classes from '../migrations.module.css'

/** From when to when no migration starts, of what, and why. Times are those of the browser's zone. */
export function FreezeDialog({ onClose }: { onClose: () => void }) {
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
  const save = useSending({
    send: () => addFreeze(body),
    queryKey: keys.freezes,
    done: () => 'The freeze is added.',
    onClose,
  })
  const why = scopeMissing(scope) ?? missing(body)
  return (
    <FormDialog
      title="Add freeze"
      submit="Add freeze"
      reason={why}
      size="lg"
      call={<ShowCall call={freezeCall(body)} subject="Add freeze" />}
      sending={save}
      onClose={onClose}
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
      <ReasonField
        description="Shown to users who start a migration during the freeze"
        value={reason}
        onChange={setReason}
      />
    </FormDialog>
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
