import type { Page } from './types'

/** The most that the API gives at once: a request more costs more than the rows. */
export const PAGE_SIZE = 1_000
const MAX_PAGES = 10

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
