import type { EventFilter } from '@/api/events'
import type { EventCategory } from '@/api/types'
import vocabulary from '@/domain/vocabulary.json'

interface Category {
  label: string
  kinds: string[]
}

/** What events are about, with the kinds of each. Labels and kinds are those of the server. */
export const CATEGORIES: Record<EventCategory, Category> = vocabulary.eventCategories

const NAMES = Object.keys(CATEGORIES) as EventCategory[]
const KIND = /^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*(\.\*)?$/

/** The filter as it stands in the address: `category=states,faults` or `kind=phase.changed`. */
export interface EventSearch {
  category?: string
  kind?: string
}

/** Reads it; what is no category and no kind is left out, and a kind counts alone. */
export function readEventSearch({ category, kind }: Record<string, unknown>): EventSearch {
  if (typeof kind === 'string' && KIND.test(kind)) return { kind }
  const wanted = typeof category === 'string' ? category.split(',') : []
  const known = NAMES.filter((name) => wanted.includes(name))
  return known.length > 0 ? { category: known.join(',') } : {}
}

/** As the API takes it. */
export function eventFilter({ category, kind }: EventSearch): EventFilter {
  return { kind, category: category?.split(',') as EventCategory[] | undefined }
}
