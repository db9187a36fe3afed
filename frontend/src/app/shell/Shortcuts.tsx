import { UnstyledButton } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { lazy, Suspense, useState } from 'react'
import { COMMAND_KEY } from '@/lib/keys'
import classes from './shell.module.css'

const CommandPalette = lazy(() =>
  import('@/features/palette/CommandPalette').then((found) => ({ default: found.CommandPalette })),
)
const ShortcutSheet = lazy(() =>
  import('@/features/palette/ShortcutSheet').then((found) => ({ default: found.ShortcutSheet })),
)

/** The keys that work on every page, and a button for those who do not know them. */
export function Shortcuts() {
  const [asked, setAsked] = useState(0)
  const [sheet, setSheet] = useState(false)
  const ask = () => setAsked((times) => times + 1)
  useHotkeys([
    ['mod+K', ask],
    ['/', toFilter],
    ['shift+?', () => setSheet(true)],
  ])
  return (
    <>
      <UnstyledButton className={classes.palette} onClick={ask} aria-keyshortcuts="Control+K Meta+K">
        <IconSearch size={14} aria-hidden />
        <span>Go to</span>
        <kbd>{COMMAND_KEY} K</kbd>
      </UnstyledButton>
      <Suspense>
        {asked > 0 && <CommandPalette asked={asked} onShortcuts={() => setSheet(true)} />}
        {sheet && <ShortcutSheet onClose={() => setSheet(false)} />}
      </Suspense>
    </>
  )
}

/** The first field on the page that filters it. */
function toFilter(): void {
  document.querySelector<HTMLInputElement>('#content [data-filter]')?.focus()
}
