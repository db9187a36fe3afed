import { useMemo } from 'react'
import { useSession } from '@/lib/session'
import { parsed, storedByUser, useStored } from '@/lib/stored'

/** A name for an address of the list or of the fleet. */
export interface SavedView {
  name: string
  to: string
}

export const MOST_VIEWS = 50
export const NAME_LENGTH = 60

const viewsOf = storedByUser<SavedView[]>('headgate.views', parse, JSON.stringify)

function parse(text: string | null): SavedView[] {
  const views = parsed(text)
  return Array.isArray(views) ? views.filter(isView) : []
}

/** What is stored may have been written by anything: an address leads to a page of this site. */
function isView(view: unknown): view is SavedView {
  const { name, to } = (view ?? {}) as Partial<SavedView>
  return typeof name === 'string' && typeof to === 'string' && /^\/(fleet)?(\?|$)/.test(to)
}

/** The views that the user has saved in this browser, by name. */
export function useViews() {
  const { session } = useSession()
  const user = session?.user ?? ''
  const store = useMemo(() => viewsOf(user), [user])
  return {
    views: useStored(store),
    save: (view: SavedView) => store.update((old) => withView(old, view)),
    remove: (name: string) => store.update((old) => old.filter((view) => view.name !== name)),
  }
}

/** One of the same name is replaced. */
export function withView(views: SavedView[], view: SavedView): SavedView[] {
  const others = views.filter(({ name }) => name !== view.name)
  return [...others, view].toSorted((a, b) => a.name.localeCompare(b.name))
}
