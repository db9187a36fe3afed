import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { randomKey } from '@/lib/ids'
import { api, patiently, take } from './client'
import { keys } from './keys'
import { fetchAll, PAGE_SIZE, paged } from './paging'
import type { Migration, MigrationDetail, MigrationRequest, ShadowCounts } from './types'

export type MigrationsFilter = { pipeline?: string; state?: 'open' | 'final' }

const once = () => ({ 'Idempotency-Key': randomKey() })
const named = (id: string) => ({ path: { migration_id: id }, header: once() })

/** Migrations, newest first. */
export const migrationsQuery = (filter: MigrationsFilter) =>
  infiniteQueryOptions({
    queryKey: keys.migrations(filter),
    queryFn: ({ pageParam, signal }) => {
      const params = { query: { ...filter, limit: 50, cursor: pageParam } }
      return take(api.GET('/api/v1/migrations', { params, signal }))
    },
    ...paged,
  })

/** Every open migration: those that wait longest are on the last page. */
export const openMigrationsQuery = queryOptions({
  queryKey: keys.openMigrations,
  queryFn: ({ signal }) =>
    fetchAll<Migration>((cursor) => {
      const params = { query: { state: 'open' as const, limit: PAGE_SIZE, cursor } }
      return take(api.GET('/api/v1/migrations', { params, signal }))
    }),
})

export const migrationQuery = (id: string) =>
  queryOptions({
    queryKey: keys.migration(id),
    queryFn: ({ signal }) => {
      const params = { path: { migration_id: id } }
      return take(api.GET('/api/v1/migrations/{migration_id}', { params, signal }))
    },
  })

/** The report as it stands; of a migration that is over it does not change any more. */
export const evidenceQuery = (id: string) =>
  queryOptions({
    queryKey: keys.evidence(id),
    queryFn: async ({ signal }) => {
      const params = { path: { migration_id: id } }
      return (await take(
        api.GET('/api/v1/migrations/{migration_id}/evidence', { params, signal }),
      )) as unknown as Evidence
    },
  })

/** Both agents, pauses, stages and gates over time; of a migration that is over only the series still grows. */
export const timelineQuery = (id: string) =>
  queryOptions({
    queryKey: keys.timeline(id),
    queryFn: ({ signal }) => {
      const params = { path: { migration_id: id } }
      return take(api.GET('/api/v1/migrations/{migration_id}/timeline', { params, signal }))
    },
  })

/** Where the report can be had as a file, or as a page that prints well. */
export const evidenceAddress = (id: string, format: 'json' | 'html') =>
  `/api/v1/migrations/${id}/evidence?format=${format}`

/** Writes a migration down and plans it; nothing is touched. */
export const createMigration = (body: MigrationRequest): Promise<MigrationDetail> =>
  take(api.POST('/api/v1/migrations', { params: { header: once() }, body, fetch: patiently }))

export const planMigration = (id: string): Promise<MigrationDetail> =>
  take(api.POST('/api/v1/migrations/{migration_id}/plan', { params: named(id), body: {}, fetch: patiently }))

export const approveMigration = (id: string, hash: string): Promise<MigrationDetail> =>
  take(api.POST('/api/v1/migrations/{migration_id}/approve', { params: named(id), body: { hash } }))

export const advanceMigration = (id: string, hash: string, acknowledge?: number): Promise<MigrationDetail> =>
  take(
    api.POST('/api/v1/migrations/{migration_id}/advance', {
      params: named(id),
      body: { hash, acknowledge: acknowledge ?? null },
    }),
  )

export const abortMigration = (id: string, reason: string): Promise<MigrationDetail> =>
  take(api.POST('/api/v1/migrations/{migration_id}/abort', { params: named(id), body: { reason } }))

export const rollBackMigration = (id: string, reason: string): Promise<MigrationDetail> =>
  take(api.POST('/api/v1/migrations/{migration_id}/rollback', { params: named(id), body: { reason } }))

/** The opposite of a committed one, as a migration of its own. */
export const revertMigration = (id: string, reason: string): Promise<MigrationDetail> =>
  take(api.POST('/api/v1/migrations/{migration_id}/revert', { params: named(id), body: { reason } }))

/** A place in a source's log. */
export interface EvidencePlace {
  source: string
  channel: string
  topic: string
  partition: number
  stopped_at: number | null
  snapshot?: number | null
  started_at: number | null
  gap: number | null
  overlap: number | null
  /** Of a source that moved to another cluster: its topic before, and where it was to resume. */
  old_topic?: string
  translated?: number | null
}

/** A figure of a source under the present revision, as it was predicted and as it was found; null where unknown. */
export interface OutcomeRow {
  source: string
  figure: string
  component: string
  present: number | null
  predicted: number | null
  found: number | null
}

/** The sealed document (`headgate/migration-evidence/v1`), as far as the page shows it. OpenAPI calls it an object. */
export interface Evidence {
  sha256: string
  content: {
    outcome: OutcomeRow[]
    shadow: { counts: ShadowCounts } | null
    positions: EvidencePlace[]
    gap: number
    overlap: number
    totals: { before: Record<string, number>; after: Record<string, number> }
    pause: { expected: number | null; seen: number | null }
    steps: { step: string; stage: string; state: string; seconds: number | null; message: string }[]
    expected: { skip: number; replay: number }
    /** The second cut, of one that was rolled back after its new agent had delivered. */
    rollback: {
      positions: EvidencePlace[]
      gap: number
      overlap: number
      duplicates_max: number
      seen: number | null
    } | null
  }
}
