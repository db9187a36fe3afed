import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { keys } from '@/api/keys'
import { validate } from '@/api/pipelines'

const TYPING_PAUSE_MS = 350

/** Checks a text on the server whenever the typing pauses. `checked` is the text the findings belong to. */
export function useValidation(text: string) {
  const [settled] = useDebouncedValue(text, TYPING_PAUSE_MS)
  const query = useQuery({
    queryKey: keys.validation(settled),
    queryFn: ({ signal }) => validate(settled, signal),
    enabled: settled.trim() !== '',
    placeholderData: keepPreviousData,
    staleTime: 30_000,
    gcTime: 30_000,
  })
  const pending = settled !== text || query.isFetching
  return { validation: query.data, pending, error: query.error, retry: query.refetch }
}

export type ValidationState = ReturnType<typeof useValidation>

/** Why the text cannot be sent yet; null when it can. */
export function notReady(text: string, { validation, pending, error }: ValidationState): string | null {
  if (text.trim() === '') return 'The definition is empty.'
  if (error) return 'The server has not checked the definition.'
  if (pending || !validation) return 'Checking the definition.'
  const errors = validation.findings.filter(({ severity }) => severity === 'error').length
  return validation.valid ? null : `Fix ${errors} ${errors === 1 ? 'finding' : 'findings'} first.`
}
