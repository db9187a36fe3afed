const POLL_MS = 5_000
const LONGEST_POLL_MS = 60_000
/** The figures of a longer time change less, and cost the server more. */
const POLL_MS_PER_MINUTE = 500

export const WINDOWS = [
  { value: '1', label: 'Last minute' },
  { value: '15', label: 'Last 15 minutes' },
  { value: '60', label: 'Last hour' },
  { value: '1440', label: 'Last day' },
]

/** How often figures of so many minutes are read again. */
export function pollOf(minutes: number): number {
  return Math.min(LONGEST_POLL_MS, Math.max(POLL_MS, minutes * POLL_MS_PER_MINUTE))
}
