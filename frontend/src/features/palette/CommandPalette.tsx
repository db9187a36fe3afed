import '@mantine/spotlight/styles.css'
import { useMantineColorScheme } from '@mantine/core'
import { Spotlight, spotlight } from '@mantine/spotlight'
import { IconSearch } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useLocation, useRouter } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { pipelinesQuery } from '@/api/pipelines'
import { usePlaces } from '@/lib/places'
import { setDensity, setTimeZone } from '@/lib/preferences'
import { useSession } from '@/lib/session'
import { commandGroups, pipelineOf } from './commands'
import classes from './palette.module.css'

const MOST_SHOWN = 40

interface PaletteProps {
  /** How often it was asked for: each time it opens. */
  asked: number
  onShortcuts: () => void
}

/** Goes to a page or a pipeline, or does something, by typing a part of its name. */
export function CommandPalette({ asked, onShortcuts }: PaletteProps) {
  const router = useRouter()
  const { pathname } = useLocation()
  const { session } = useSession()
  const { setColorScheme } = useMantineColorScheme()
  const places = usePlaces()
  const [query, setQuery] = useState('')
  const { data: pipelines = [], isPending, error } = useQuery(pipelinesQuery)
  const known = {
    ...{ places, pipelines, current: pipelineOf(pathname) },
    mayOperate: session !== undefined && session.role !== 'viewer',
  }
  const groups = commandGroups(known, {
    go: (to) => router.history.push(to),
    showShortcuts: onShortcuts,
    setColours: setColorScheme,
    setTimes: setTimeZone,
    setDensity,
  })
  useEffect(() => {
    if (asked > 0) spotlight.open()
  }, [asked])
  return (
    <Spotlight
      actions={groups.map(({ group, actions }) => ({
        group,
        actions: actions.map(({ run, ...shown }) => ({ ...shown, onClick: run })),
      }))}
      query={query}
      onQueryChange={setQuery}
      onSpotlightClose={() => setQuery('')}
      attributes={{ content: { 'aria-label': 'Command palette' } }}
      classNames={{ actionDescription: classes.description }}
      shortcut={null}
      limit={MOST_SHOWN}
      scrollable
      maxHeight={420}
      highlightQuery
      nothingFound={nothingFound(isPending, error)}
      searchProps={{
        leftSection: <IconSearch size={16} aria-hidden />,
        placeholder: 'Page, pipeline or command',
        'aria-label': 'Page, pipeline or command',
      }}
    />
  )
}

function nothingFound(isPending: boolean, error: Error | null): string {
  if (isPending) return 'The pipelines are being loaded.'
  return error
    ? 'The pipelines could not be loaded. No page or command has this name.'
    : 'No page, pipeline or command has this name.'
}
