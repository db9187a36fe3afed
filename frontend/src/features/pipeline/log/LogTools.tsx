import { Button, Select, Switch } from '@mantine/core'
import type { ReactNode } from 'react'
import { FilterInput } from '@/components/ui/FilterInput'
import { LOG_LEVELS, type LogLevel } from './buffer'
import { SINCE, type LogSearch } from './search'
import classes from './log.module.css'

interface LogToolsProps {
  search: LogSearch
  components: string[]
  go: (change: Partial<LogSearch>) => void
  children?: ReactNode
}

/** Which lines are shown, and what is marked in them. A link to a line shows what is around it, without filters. */
export function LogTools({ search, components, go, children }: LogToolsProps) {
  const { find, only, level, component, since, at } = search
  const known = [...new Set([...components, ...(component ? [component] : [])])]
  const times =
    SINCE.some(({ value }) => value === since) || !since
      ? SINCE
      : [...SINCE, { value: since, label: `Since ${since}` }]
  return (
    <div className={classes.filters}>
      <FilterInput
        className={classes.find}
        label="Search the log"
        placeholder="Search"
        value={find ?? ''}
        onChange={(text) => go({ find: text || undefined })}
      />
      {children}
      {at ? (
        <Button variant="default" size="xs" onClick={() => go({ at: undefined })}>
          Show the end of the log
        </Button>
      ) : (
        <>
          <Switch
            size="xs"
            label="Only matching lines"
            checked={only ?? false}
            onChange={(event) => go({ only: event.currentTarget.checked || undefined })}
          />
          <Select
            className={classes.level}
            aria-label="Level"
            placeholder="Every level"
            clearable
            data={LOG_LEVELS.map((value) => ({ value, label: `${value} and above` }))}
            value={level ?? null}
            onChange={(value) => go({ level: (value as LogLevel | null) ?? undefined })}
          />
          <Select
            className={classes.component}
            aria-label="Component"
            placeholder="Every component"
            clearable
            data={known}
            value={component ?? null}
            onChange={(value) => go({ component: value ?? undefined })}
          />
          <Select
            className={classes.component}
            aria-label="Since"
            placeholder="Any time"
            clearable
            data={times}
            value={since ?? null}
            onChange={(value) => go({ since: value ?? undefined })}
          />
        </>
      )}
    </div>
  )
}
