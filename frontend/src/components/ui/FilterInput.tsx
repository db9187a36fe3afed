import { CloseButton, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { useState } from 'react'

const TYPING_PAUSE_MS = 200

interface FilterInputProps {
  label: string
  placeholder: string
  value: string
  onChange: (value: string) => void
  className?: string
}

/** A filter that shows what is typed at once and reports it to its owner, who keeps it in the address, when the typing pauses. */
export function FilterInput({ label, placeholder, value, onChange, className }: FilterInputProps) {
  const [text, setText] = useState(value)
  const [known, setKnown] = useState(value)
  const settle = useDebouncedCallback((next: string) => {
    setKnown(next)
    onChange(next)
  }, TYPING_PAUSE_MS)
  if (value !== known) {
    setKnown(value)
    setText(value)
  }
  const type = (next: string) => {
    setText(next)
    settle(next.trim())
  }
  return (
    <TextInput
      className={className}
      aria-label={label}
      placeholder={placeholder}
      leftSection={<IconSearch size={14} aria-hidden />}
      rightSection={text && <CloseButton size="xs" aria-label="Clear the filter" onClick={() => type('')} />}
      data-filter
      value={text}
      onChange={(event) => type(event.currentTarget.value)}
    />
  )
}
