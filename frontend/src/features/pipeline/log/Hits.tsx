import { ActionIcon, Button, Group } from '@mantine/core'
import { IconChevronDown, IconChevronUp } from '@tabler/icons-react'
import { count } from '@/lib/format'
import type { CurrentHit } from './useHit'

/** How many matches are shown, and the way from one to the next. */
export function Hits({ hit, count: hits, onLink }: { hit: CurrentHit; count: number; onLink: () => void }) {
  const words =
    hits === 0 ? 'No match' : hit.place ? `${count(hit.place)} of ${count(hits)}` : `${count(hits)} matches`
  return (
    <Group gap={4} wrap="nowrap">
      <span role="status">{words}</span>
      <ActionIcon
        variant="default"
        aria-label="Previous match"
        disabled={hits === 0}
        onClick={() => hit.step(-1)}
      >
        <IconChevronUp size={14} aria-hidden />
      </ActionIcon>
      <ActionIcon variant="default" aria-label="Next match" disabled={hits === 0} onClick={() => hit.step(1)}>
        <IconChevronDown size={14} aria-hidden />
      </ActionIcon>
      {hit.current && (
        <Button variant="subtle" size="compact-xs" onClick={onLink}>
          Show in context
        </Button>
      )}
    </Group>
  )
}
