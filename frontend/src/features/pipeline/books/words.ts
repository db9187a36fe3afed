import type { LedgerSummary } from '@/api/types'
import { count, plural } from '@/lib/format'

/** The ledger totals in one sentence that names the fault when there is one. */
export function inWords(books: LedgerSummary): string {
  if (books.read === 0 && books.balanced) return 'Nothing has been read yet.'
  const moved = `${count(books.read)} read, ${count(books.delivered)} delivered, ${count(books.filtered)} filtered`
  return `${moved}; ${books.balanced ? wellKept(books) : faults(books)}.`
}

function wellKept({ duplicates_max }: LedgerSummary): string {
  const duplicates =
    duplicates_max === 0 ? 'no duplicates' : `at most ${plural(duplicates_max, 'possible duplicate')}`
  return `every record is accounted for, ${duplicates}`
}

function faults({ gaps, overlaps }: LedgerSummary): string {
  const named = [gaps > 0 && plural(gaps, 'gap'), overlaps > 0 && plural(overlaps, 'overlap')].filter(Boolean)
  return named.length > 0 ? `the offset ranges show ${named.join(' and ')}` : 'the ledger is unbalanced'
}
