import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback } from 'react'
import { readRange, type RangeSearch } from './range'

const TABLES = ['rate', 'lag', 'age', 'time', 'restarts', 'heat']

/** What the address says of the charts: their range, whose table is shown, and how partitions are. */
export interface ChartSearch extends RangeSearch {
  tables?: string[]
  heat?: 'seconds'
  order?: 'lag'
}

export function readChartSearch(search: Record<string, unknown>): ChartSearch {
  const given = Array.isArray(search.tables) ? search.tables : []
  const tables = TABLES.filter((name) => given.includes(name))
  return {
    ...readRange(search),
    tables: tables.length > 0 ? tables : undefined,
    heat: search.heat === 'seconds' ? 'seconds' : undefined,
    order: search.order === 'lag' ? 'lag' : undefined,
  }
}

/** The address' part of it, and a way to change that. Each range is a step of the browser's history. */
export function useChartSearch() {
  const search = useSearch({ from: '/pipelines/$name/throughput' })
  const navigate = useNavigate({ from: '/pipelines/$name/throughput' })
  const set = useCallback(
    (next: ChartSearch, replace = true) => void navigate({ search: next, replace, resetScroll: false }),
    [navigate],
  )
  return { search, set }
}
