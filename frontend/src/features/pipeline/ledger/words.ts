import type { LedgerBatch, LedgerSummary } from '@/api/types'
import { count, plural } from '@/lib/format'

/** The ledger totals in one sentence that names the fault when there is one. */
export function inWords(ledgerTotals: LedgerSummary): string {
  if (ledgerTotals.read === 0 && ledgerTotals.balanced) return 'Nothing has been read yet.'
  const moved = `${count(ledgerTotals.read)} read, ${count(ledgerTotals.delivered)} delivered, ${count(ledgerTotals.filtered)} filtered`
  return `${moved}; ${ledgerTotals.balanced ? wellKept(ledgerTotals) : faults(ledgerTotals)}.`
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

/** "7", or "7–12" where several batches are merged. */
export function batchNumbers({ first_batch, last_batch }: LedgerBatch): string {
  return first_batch === last_batch ? count(first_batch) : `${count(first_batch)}–${count(last_batch)}`
}
