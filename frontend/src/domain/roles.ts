import type { Session } from '@/api/types'

export const ROLE_WORDS = {
  viewer: 'Viewer',
  operator: 'Operator',
  approver: 'Approver',
  admin: 'Administrator',
} as const

export type Role = keyof typeof ROLE_WORDS

const RANKS = Object.keys(ROLE_WORDS)

/** Whether a role is this one or a higher one. */
export const reaches = (role: Role | null, needed: Role) =>
  role !== null && RANKS.indexOf(role) >= RANKS.indexOf(needed)

/** Every role, for a choice. */
export const ROLE_OPTIONS = Object.entries(ROLE_WORDS).map(([value, label]) => ({ value, label }))

/** Why this session may not see the names of secrets; null when it may. */
export function cannotSeeSecrets(session: Session | undefined): string | null {
  return session?.role === 'viewer'
    ? 'Operators see the names of secrets. Administrators set their values.'
    : null
}

/** Why this session may not read the audit; null when it may. */
export function cannotReadAudit(session: Session | undefined): string | null {
  return session?.role === 'viewer' ? 'Operators read the audit. Administrators export it.' : null
}

/** Why this session may not write secrets; null when it may, at least those of one team. */
export function cannotWriteSecrets(session: Session | undefined): string | null {
  return session?.role === 'admin' ? null : 'Only administrators can set, replace and delete secrets.'
}

/** Why this session may not write; null when it may. */
export function cannotWrite(session: Session | undefined): string | null {
  return session?.role === 'viewer'
    ? 'Your role is Viewer: you can read everything and change nothing.'
    : null
}

/** Why this session may not do what only administrators do; null when it may, at least in one team. */
export function cannotAdminister(session: Session | undefined): string | null {
  return session?.role === 'admin' ? null : 'Only administrators can do this.'
}

/** Why this session may not do what only administrators of all teams do; null when it may. */
export function cannotAdministerAll(session: Session | undefined): string | null {
  return session?.everywhere === 'admin' ? null : 'Only administrators of all teams can do this.'
}
