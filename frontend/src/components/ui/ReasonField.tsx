import { TextInput } from '@mantine/core'

interface ReasonFieldProps {
  /** Where it is kept, or who sees it. */
  description: string
  value: string
  onChange: (reason: string) => void
  /** It has the focus when a dialog opens. */
  focused?: boolean
}

/** Why a user does something, as long as the API takes it. */
export const ReasonField = ({ description, value, onChange, focused = false }: ReasonFieldProps) => (
  <TextInput
    label="Reason"
    description={description}
    value={value}
    maxLength={1000}
    onChange={(event) => onChange(event.currentTarget.value)}
    data-autofocus={focused || undefined}
  />
)
