/** New positions as a user picks them, partition by partition, and as the API and the command line read them. */

export const KINDS = {
  leave: 'Leave',
  offset: 'Offset',
  time: 'Time',
  earliest: 'Log start',
  latest: 'Log end',
  ledger: 'Headgate ledger',
  checkpoint: 'Spark checkpoint',
  group: 'Committed offset',
  unread: 'First unread record',
} as const

export type PickKind = keyof typeof KINDS

/** `value`: the offset, or the time as RFC 3339; empty for the other kinds. */
export interface Pick {
  kind: PickKind
  value: string
}

/** By partition, as `topic/partition`; what is missing stays where it is. */
export type Picks = Record<string, Pick>

export const LEAVE: Pick = { kind: 'leave', value: '' }

export const placeOf = ({ topic, partition }: { topic: string; partition: number }) => `${topic}/${partition}`

const OFFSET = /^\d{1,18}$/

/** What is missing of a pick; null where it can be counted. */
export function missingOf({ kind, value }: Pick): string | null {
  if (kind === 'offset') return OFFSET.test(value) ? null : 'Enter an offset.'
  if (kind === 'time') return value === '' ? 'Enter a time.' : null
  return null
}

/** The picks as one target, `latest` or `offsets=orders/0:1200,orders/1:earliest`; null where all stay. */
export function targetOf(picks: Picks, places: readonly string[]): string | null {
  const chosen = places.filter((place) => isChosen(picks[place]))
  const words = chosen.map((place) => wordOf(picks[place] ?? LEAVE))
  const [first = ''] = words
  if (chosen.length === 0) return null
  if (chosen.length < places.length || new Set(words).size > 1 || OFFSET.test(first))
    return `offsets=${chosen.map((place, index) => `${place}:${words[index]}`).join(',')}`
  return isWord(first) ? first : `timestamp=${first}`
}

function isChosen(pick: Pick | undefined): boolean {
  return pick !== undefined && pick.kind !== 'leave' && missingOf(pick) === null
}

const isWord = (word: string): word is PickKind => Object.hasOwn(KINDS, word)

const wordOf = ({ kind, value }: Pick) => (kind === 'offset' || kind === 'time' ? value : kind)

const WRITTEN = /^\s*([^/:\s]+\/\d+)[:=@](\S+)\s*$/

/** The picks that a written target stands for; null where it is one that cannot be picked, such as `before=…`. */
export function picksOf(target: string, places: readonly string[]): Picks | null {
  const [name = '', ...rest] = target.trim().split('=')
  const value = rest.join('=')
  if (name === '') return {}
  if (name === 'timestamp') return all(places, timePick(value))
  if (name === 'offsets') return listed(value)
  return value === '' && isWord(name) ? all(places, { kind: name, value: '' }) : null
}

const all = (places: readonly string[], pick: Pick | null) =>
  pick && Object.fromEntries(places.map((place) => [place, pick]))

/** Relative times and milliseconds are left to the text field. */
function timePick(value: string): Pick | null {
  return /^\d{4}-/.test(value) ? { kind: 'time', value } : null
}

function listed(value: string): Picks | null {
  const picks: Picks = {}
  for (const part of value.split(',')) {
    const [, place, word = ''] = WRITTEN.exec(part) ?? []
    const pick = OFFSET.test(word) ? { kind: 'offset' as const, value: word } : null
    const found = pick ?? (isWord(word) ? { kind: word, value: '' } : timePick(word))
    if (place === undefined || found === null) return null
    picks[place] = found
  }
  return picks
}
