import type { Session } from '@/api/types'

export const ROLE_WORDS = { viewer: 'Viewer', operator: 'Operator', admin: 'Administrator' } as const

/** Why this session may not write; null when it may. */
export function cannotWrite(session: Session | undefined): string | null {
  return session?.role === 'viewer'
    ? 'Your role is viewer: it can look at everything and change nothing.'
    : null
}
