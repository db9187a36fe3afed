import type { Secret } from '@/api/types'

/** Everything that refers to a secret, in words. */
export function secretUsers({ used_by, webhooks }: Pick<Secret, 'used_by' | 'webhooks'>): string[] {
  return [...used_by, ...webhooks.map((id) => `webhook ${id}`)]
}
