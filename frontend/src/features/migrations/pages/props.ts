import type { MigrationDetail } from '@/api/types'

export interface StepProps {
  migration: MigrationDetail
  /** Why this session may not ask for anything; null where it may. */
  readOnly: string | null
}
