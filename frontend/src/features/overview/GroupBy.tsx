import { Select } from '@mantine/core'
import { IconLayoutRows } from '@tabler/icons-react'
import { useMemo } from 'react'
import type { Pipeline } from '@/api/types'
import { groupings } from './grouping'
import classes from './toolbar.module.css'

interface GroupByProps {
  pipelines: Pipeline[]
  group: string | undefined
  onChange: (group: string | undefined) => void
}

/** By what pipelines are grouped; it lives in the address. */
export function GroupBy({ pipelines, group, onChange }: GroupByProps) {
  const data = useMemo(() => groupings(pipelines), [pipelines])
  return (
    <Select
      className={classes.label}
      aria-label="Group"
      placeholder="No groups"
      leftSection={<IconLayoutRows size={14} aria-hidden />}
      data={data}
      value={group ?? null}
      onChange={(next) => onChange(next ?? undefined)}
      clearable
      clearButtonProps={{ 'aria-label': 'No groups' }}
    />
  )
}
