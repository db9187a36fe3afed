/** The objects of REST /api/v1 as the page uses them. */

export type DesiredState = 'RUNNING' | 'PAUSED' | 'STOPPED'

export type Phase =
  | 'STOPPED'
  | 'PREFLIGHT'
  | 'STARTING'
  | 'RUNNING'
  | 'DEGRADED'
  | 'STALLED'
  | 'PAUSING'
  | 'PAUSED'
  | 'STOPPING'
  | 'BACKOFF'
  | 'BLOCKED'
  | 'FAILED'
  | 'UNKNOWN'

export type StopReason = 'USER' | 'SYSTEM' | 'WATCHDOG' | 'MIGRATION'
export type OperationKind = 'start' | 'pause' | 'resume' | 'stop' | 'restart'
export type OperationState = 'PENDING' | 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'CANCELLED' | 'SUPERSEDED'
export type ActionName = OperationKind | 'edit' | 'delete'

export interface AllowedAction {
  name: string
  allowed: boolean
  reason: string
}

export interface Live {
  records_per_second: number | null
  lag_records: number | null
  last_batch_at: string | null
  in_flight: number
  as_of: string | null
}

export interface Pipeline {
  name: string
  description: string
  labels: Record<string, string>
  desired_state: DesiredState
  phase: Phase
  phase_since: string
  phase_reason: string
  phase_message: string
  stop_reason: StopReason | null
  generation: number
  observed_generation: number
  revision: number
  host: string | null
  created_at: string
  updated_at: string
  etag: string
  live: Live
  restart_count: number
  next_restart_at: string | null
  supervised: boolean
  operation: { id: string; kind: OperationKind; state: OperationState } | null
  allowed_actions: AllowedAction[]
}

export interface PipelineDetail extends Pipeline {
  definition: Record<string, unknown>
  definition_yaml: string
}

export interface Page<T> {
  results: T[]
  next: string | null
}

export interface Session {
  authenticated: boolean
  csrf_token: string
  user?: string
  role?: 'viewer' | 'operator' | 'admin'
}

export interface Finding {
  path: string
  code: string
  message: string
  suggestion: string
  severity: 'error' | 'warning'
}

export interface Validation {
  valid: boolean
  findings: Finding[]
  definition: Record<string, unknown> | null
  digest: string | null
}

export interface OperationStep {
  name: string
  state: 'pending' | 'running' | 'done' | 'failed'
  started_at: string | null
  ended_at: string | null
  message: string
}

export interface Operation {
  id: string
  pipeline: string
  kind: OperationKind
  state: OperationState
  steps: OperationStep[]
  created_by: string
  created_at: string
  ended_at: string | null
  deadline: string | null
  message: string
  error: { code: string; message: string; hint: string } | null
  progress: Record<string, unknown>
}

export interface Condition {
  type: string
  status: 'True' | 'False' | 'Unknown'
  reason: string
  message: string
  last_transition_time: string | null
}

export interface Cursor {
  topic: string
  partition: number
  next_offset: number
  end_offset: number | null
  lag: number | null
}

export interface Holding {
  sink: string
  cause: string
  attempts: number
  since: string | null
}

export interface QueryStatus {
  source: string
  channel: string
  batch: number | null
  in_flight: boolean
  cursor: Cursor[]
  records_per_second: number | null
  delivered: number
  last_batch_at: string | null
  holding: Holding | null
}

export interface ComponentStatus {
  name: string
  kind: string
  type: string
  state: string
  detail: string
}

export interface Run {
  id: number
  number: number
  role: string
  epoch: number
  revision: number
  host: string
  lineage: number
  state: 'PENDING' | 'LIVE' | 'ENDED'
  outcome: 'CLEAN' | 'FAILED' | 'BLOCKED' | 'CRASHED' | 'KILLED' | 'LOST' | null
  exit_code: number | null
  exit_reason: string
  rung: string | null
  started_at: string | null
  first_record_at: string | null
  ended_at: string | null
  stop_requested_at: string | null
  start_requested_at: string | null
  driver_pid: number | null
  keeper_pid: number | null
  run_dir: string
}

export interface PipelineStatus {
  pipeline: Pipeline
  conditions: Condition[]
  run: Run | null
  queries: QueryStatus[]
  components: ComponentStatus[]
  findings: Finding[]
}

export interface OffsetRange {
  topic: string
  partition: number
  start: number
  end: number
}

export interface LedgerBatch {
  id: number
  run: number
  source: string
  channel: string
  first_batch: number
  last_batch: number
  state: 'planned' | 'done'
  read: number
  delivered: number
  filtered: number
  unrouted: number
  dead_lettered: number
  dropped_optional: number
  duplicates_max: number
  ranges: OffsetRange[]
  sink: string
  attempts: number
  planned_at: string | null
  done_at: string | null
  balanced: boolean
}

export interface ChannelBooks {
  source: string
  channel: string
  read: number
  delivered: number
  filtered: number
  unrouted: number
  dead_lettered: number
  dropped_optional: number
  added: number
  routed_elsewhere: number
  duplicates_max: number
  gaps: number
  overlaps: number
  batches: number
  open_batches: number
  balanced: boolean
}

export interface LedgerPosition {
  source: string
  channel: string
  topic: string
  partition: number
  next_offset: number
  updated_at: string
}

export interface LedgerSummary {
  channels: ChannelBooks[]
  read: number
  delivered: number
  filtered: number
  duplicates_max: number
  gaps: number
  overlaps: number
  balanced: boolean
  positions: LedgerPosition[]
}

export interface LogChunk {
  text: string
  offset: number
  size: number
  rotated: boolean
}

export interface SeriesPoint {
  at: string
  records_per_second: number | null
  lag_records: number | null
}

export interface Revision {
  number: number
  digest: string
  created_at: string
  created_by: string
  note: string
  definition: Record<string, unknown>
}

export interface Change {
  path: string
  op: 'add' | 'remove' | 'change'
  old: unknown
  new: unknown
}

export interface RevisionDiff {
  from: number
  to: number
  changes: Change[]
}

export interface HeadgateEvent {
  id: number
  at: string
  kind: string
  pipeline: string | null
  actor: string
  run: number | null
  message: string
  data: Record<string, unknown>
}

export interface Host {
  name: string
  state: 'UP' | 'LOST'
  seen_at: string
  supervised: boolean
  agents: number
  cores: number
  memory_bytes: number
  state_dir: string
  version: string
}

/** Data of an SSE frame named `live`. */
export interface LiveFrame {
  pipeline: string
  phase: Phase
  desired_state: DesiredState
  generation: number
  observed_generation: number
  live: Live
  queries: QueryStatus[]
  updated_at: string
}
