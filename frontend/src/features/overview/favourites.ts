import { useCallback, useMemo } from 'react'
import { useSession } from '@/lib/session'
import { parsed, storedByUser, useStored } from '@/lib/stored'

const favouritesOf = storedByUser<ReadonlySet<string>>('headgate.favourites', parse, (names) =>
  JSON.stringify([...names]),
)

function parse(text: string | null): ReadonlySet<string> {
  const names = parsed(text)
  return new Set(Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [])
}

/** The names of the pipelines that the user has marked, in this browser. */
export function useFavourites(): { favourites: ReadonlySet<string>; toggle: (name: string) => void } {
  const { session } = useSession()
  const user = session?.user ?? ''
  const store = useMemo(() => favouritesOf(user), [user])
  const toggle = useCallback((name: string) => store.update((old) => toggled(old, name)), [store])
  return { favourites: useStored(store), toggle }
}

export function toggled(names: ReadonlySet<string>, name: string): ReadonlySet<string> {
  const next = new Set(names)
  if (!next.delete(name)) next.add(name)
  return next
}
