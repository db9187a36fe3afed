import type { Page } from './types'

export const PAGE_SIZE = 500
const MAX_PAGES = 20

/** Follows the cursor to the end of a list; at most 10,000 rows, so that a page never loads without bound. */
export async function fetchAll<T>(fetchPage: (cursor: string | undefined) => Promise<Page<T>>): Promise<T[]> {
  const rows: T[] = []
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { results, next } = await fetchPage(cursor)
    rows.push(...results)
    if (!next) break
    cursor = next
  }
  return rows
}

/** What every list that grows on request has in common. */
export const paged = {
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ next }: { next: string | null }) => next ?? undefined,
}
