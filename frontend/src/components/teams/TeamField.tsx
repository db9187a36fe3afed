import { NativeSelect } from '@mantine/core'
import { Unread } from '@/components/ui/Feedback'
import { findingsOf, wordsAt } from '@/domain/findings'
import type { TeamChoice } from './useTeamChoice'

interface TeamFieldProps {
  choice: TeamChoice
  description: string
  /** Of the request that was sent; its findings about the team stand here. */
  error: unknown
}

/** Which team owns something new; nothing where the user has no choice. */
export function TeamField({ choice, description, error }: TeamFieldProps) {
  const words = wordsAt(findingsOf(error), ['team'])
  if (!choice.query.data) return <Unread query={choice.query} what="teams" />
  if (!choice.offered && words === null) return null
  return (
    <NativeSelect
      label="Team"
      description={description}
      error={words}
      data={choice.options}
      value={choice.value}
      onChange={(event) => choice.choose(event.currentTarget.value)}
    />
  )
}
