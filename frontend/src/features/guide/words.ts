import type { DemoFault } from '@/api/types'

/** Where a card stands. */
export const STATES: Record<DemoFault['state'], string> = {
  REQUESTED: 'Requested',
  BREAKING: 'Breaking',
  BROKEN: 'Broken',
  NOTICED: 'Noticed',
  RECOVERED: 'Counting',
  DONE: 'Recovered',
  FAILED: 'Failed',
}
