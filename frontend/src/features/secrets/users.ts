import type { Secret } from '@/api/types'

/** Everything that refers to a secret, in words. */
export function secretUsers({ used_by, receivers }: Pick<Secret, 'used_by' | 'receivers'>): string[] {
  return [...used_by, ...receivers.map((id) => `receiver ${id}`)]
}
