import { api, type Query } from './client'
import type { Page } from './types'

const PAGE_SIZE = 500
const MAX_PAGES = 20

/** Follows the cursor to the end of a list; at most 10,000 rows, so that a page never loads without bound. */
export async function fetchAll<T>(path: string, query: Query, signal?: AbortSignal): Promise<T[]> {
  const rows: T[] = []
  let cursor: string | null | undefined
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const answer = await fetchPage<T>(path, { ...query, limit: PAGE_SIZE }, cursor, signal)
    rows.push(...answer.results)
    cursor = answer.next
    if (!cursor) break
  }
  return rows
}

/** One page of a list. `next` may be a bare cursor or an address that carries one. */
export async function fetchPage<T>(
  path: string,
  query: Query,
  cursor: string | null | undefined,
  signal?: AbortSignal,
): Promise<Page<T>> {
  const page = await api.get<Page<T>>(path, { query: { ...query, cursor }, signal })
  return { results: page.results, next: bareCursor(page.next) }
}

function bareCursor(next: string | null): string | null {
  if (!next || !next.includes('cursor=')) return next
  return new URL(next, window.location.origin).searchParams.get('cursor')
}
