import { Button } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { exportAddress, type AuditFilter } from '@/api/audit'
import type { Session } from '@/api/types'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { cannotAdminister } from '@/domain/roles'

const FORMATS = [
  ['jsonl', 'Export JSON Lines'],
  ['csv', 'Export CSV'],
] as const

/** The rows that the filters leave, as files that the browser downloads by itself. */
export function ExportButtons({ filter, session }: { filter: AuditFilter; session: Session | undefined }) {
  const reason = cannotAdminister(session)
  return FORMATS.map(([format, word]) =>
    reason ? (
      <ReasonButton
        key={format}
        variant="default"
        leftSection={<IconDownload size={14} aria-hidden />}
        reason={reason}
      >
        {word}
      </ReasonButton>
    ) : (
      <Button
        key={format}
        component="a"
        href={exportAddress(format, filter)}
        download={`audit.${format}`}
        variant="default"
        leftSection={<IconDownload size={14} aria-hidden />}
      >
        {word}
      </Button>
    ),
  )
}
