import { Link } from '@tanstack/react-router'
import type { Positions } from '@/api/types'
import { placeOf } from './picks'

/** Leads to the records of a partition from its position on; nothing where no position is known. */
export function RecordsLink({ name, row }: { name: string; row: Positions['partitions'][number] }) {
  const offset = row.ledger ?? row.log_start
  if (offset === null) return null
  return (
    <Link
      to="/pipelines/$name/records"
      params={{ name }}
      search={{
        ...{ of: `sources.${row.source}`, topic: row.topic },
        ...{ partition: String(row.partition), offset: String(offset) },
      }}
      aria-label={`Records of ${placeOf(row)} from ${offset} on`}
    >
      Records
    </Link>
  )
}
