import { TextInput } from '@mantine/core'
import type { Binding } from '@/api/secrets'

/** What is typed: names with spaces or commas between. */
export interface BindingDraft {
  pipelines: string
  destinations: string
}

interface BindingFieldsProps {
  draft: BindingDraft
  onChange: (draft: BindingDraft) => void
}

/** Who may use a secret, and where it may go. */
export function BindingFields({ draft, onChange }: BindingFieldsProps) {
  return (
    <>
      <TextInput
        label="Pipelines"
        description="Who may use it: orders, orders-*, consumer-groups/NAME, and label:KEY=VALUE for a secret of a team"
        value={draft.pipelines}
        onChange={(event) => onChange({ ...draft, pipelines: event.currentTarget.value })}
        autoComplete="off"
        spellCheck={false}
      />
      <TextInput
        label="Destinations"
        description="Where it may go: HOST:PORT, *.example.com:*, 10.0.0.0/8:9092, or a type such as source/http"
        value={draft.destinations}
        onChange={(event) => onChange({ ...draft, destinations: event.currentTarget.value })}
        autoComplete="off"
        spellCheck={false}
      />
    </>
  )
}

export function draftOf({ pipelines, destinations }: Binding): BindingDraft {
  return { pipelines: pipelines.join(', '), destinations: destinations.join(', ') }
}

export function bindingOf(draft: BindingDraft): Binding {
  return { pipelines: listed(draft.pipelines), destinations: listed(draft.destinations) }
}

function listed(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter(Boolean))]
}

/** Why a binding cannot be sent; null where it can. */
export function missingBinding(draft: BindingDraft): string | null {
  const { pipelines, destinations } = bindingOf(draft)
  if (pipelines.length === 0) return 'Enter the pipelines that may use it first.'
  return destinations.length === 0 ? 'Enter where it may go first.' : null
}
