import { DEFAULT_RULES } from '@/domain/observationRules'
import type {
  Action,
  Alert,
  ChannelLedgerTotals,
  DeadLetterDetail,
  Finding,
  LedgerSummary,
  LiveFrame,
  MigrationChoice,
  MigrationDetail,
  MigrationPlan,
  MigrationStep,
  Operation,
  Pipeline,
  PipelineDetail,
  PipelineStatus,
  Run,
  Session,
  Secret,
  SinkGroup,
  Receiver,
  ReceiverDelivery,
  Silence,
  Team,
} from '@/api/types'

export const T0 = '2026-11-21T12:00:00Z'

const ACTIONS: Action[] = ['start', 'pause', 'resume', 'stop', 'force-stop', 'restart', 'edit', 'delete']

const CONSEQUENCES: Partial<Record<Action, string>> = { 'force-stop': 'The in-flight batch is cancelled.' }

const URGENT = ['BLOCKED', 'FAILED', 'STALLED', 'UNKNOWN', 'DEGRADED']

/** As the server places what requires action. */
function attentionOf({ phase = 'RUNNING', supervised = true }: Partial<Pipeline>): number | null {
  if (URGENT.includes(phase)) return URGENT.indexOf(phase)
  return supervised ? null : URGENT.length
}

/** A pipeline that runs; `allowed` names the actions it may take. */
export function pipeline(
  fields: Partial<Pipeline> = {},
  allowed: Action[] = ['pause', 'stop', 'restart'],
): Pipeline {
  return {
    name: 'orders',
    team: 'default',
    description: '',
    labels: {},
    headline: 'Running.',
    desired_state: 'RUNNING',
    phase: 'RUNNING',
    phase_since: T0,
    phase_reason: '',
    phase_message: '',
    stop_reason: null,
    generation: 3,
    observed_generation: 3,
    revision: 1,
    host: 'alpha',
    created_at: T0,
    updated_at: T0,
    etag: '"3"',
    live: {
      records_per_second: 1_000,
      lag_records: 200,
      last_batch_at: T0,
      in_flight: 0,
      as_of: T0,
      stale: false,
    },
    restart_count: 0,
    next_restart_at: null,
    supervised: true,
    attention: attentionOf(fields),
    operation: null,
    allowed_actions: ACTIONS.map((name) => {
      const ok = allowed.includes(name)
      return { name, allowed: ok, reason: ok ? '' : `No ${name} now.`, consequence: CONSEQUENCES[name] ?? '' }
    }),
    ...fields,
  }
}

export function detail(fields: Partial<PipelineDetail> = {}): PipelineDetail {
  return { ...pipeline(), definition: {}, definition_yaml: 'name: orders\n', as_written: true, ...fields }
}

/** Everything that is known of it; nothing runs. */
export function status(fields: Partial<PipelineStatus> = {}): PipelineStatus {
  return {
    ...pipeline(),
    conditions: [],
    lag: null,
    run: null,
    runs: [],
    queries: [],
    ingest_buffers: [],
    components: [],
    findings: [],
    choices: [],
    outdated_secrets: [],
    drain: null,
    ...fields,
  }
}

/** A living run. */
export function run(fields: Partial<Run> = {}): Run {
  return {
    id: 7,
    number: 3,
    role: 'ACTIVE',
    epoch: 3,
    revision: 1,
    host: 'alpha',
    lineage: 1,
    state: 'LIVE',
    outcome: null,
    exit_code: null,
    exit_reason: '',
    stop_stage: '',
    stuck: [],
    dumps: [],
    started_at: T0,
    first_record_at: T0,
    ended_at: null,
    promoted_at: null,
    stop_requested_at: null,
    start_requested_at: T0,
    driver_pid: 4711,
    keeper_pid: 4710,
    run_dir: '/var/lib/headgate/runs/orders/3',
    ...fields,
  }
}

/** Somebody who is logged in. */
export function session(role: Session['role'] = 'admin'): Session {
  return {
    user: 'ana',
    role,
    everywhere: role,
    authenticated: true,
    csrf_token: 't',
    provider: null,
    problem: null,
    waits_for_code: false,
    passkeys: false,
    enrolment_required: false,
    proof: null,
    demo_pipeline: '',
    read_only: null,
  }
}

/** The installation is read-only. */
export const READ_ONLY: Session['read_only'] = {
  ...{ read_only: true, source: 'administrator', reason: 'Upgrade to 2.0', set_by: 'root' },
  ...{ since: T0, etag: '"5"' },
}

/** Why nobody can change it then. */
export const READ_ONLY_WORDS = 'The installation is read-only, set by root: Upgrade to 2.0'

export function frame(fields: Partial<LiveFrame> = {}): LiveFrame {
  return {
    pipeline: 'orders',
    phase: 'RUNNING',
    desired_state: 'RUNNING',
    generation: 3,
    observed_generation: 3,
    live: {
      records_per_second: 1_500,
      lag_records: 90,
      last_batch_at: T0,
      in_flight: 1,
      as_of: '2026-11-21T12:00:01Z',
      stale: false,
    },
    queries: [],
    updated_at: '2026-11-21T12:00:01Z',
    ...fields,
  }
}

export function operation(fields: Partial<Operation> = {}): Operation {
  return {
    id: 'op-1',
    trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
    pipeline: 'orders',
    kind: 'pause',
    state: 'PENDING',
    steps: [],
    created_by: 'admin',
    created_at: T0,
    ended_at: null,
    deadline: null,
    message: '',
    error: null,
    progress: {},
    ...fields,
  }
}

export function channelTotals(fields: Partial<ChannelLedgerTotals> = {}): ChannelLedgerTotals {
  return {
    source: 'shop',
    channel: 'main',
    read: 1_000,
    added: 0,
    delivered: 990,
    routed_elsewhere: 0,
    filtered: 10,
    unrouted: 0,
    dead_lettered: 0,
    dropped_optional: 0,
    duplicates_max: 0,
    gaps: 0,
    overlaps: 0,
    batches: 3,
    open_batches: 0,
    delivered_bytes: 198_000,
    delivered_without_bytes: 0,
    components: [],
    not_by_component: {},
    balanced: true,
    ...fields,
  }
}

export function ledgerTotals(fields: Partial<LedgerSummary> = {}): LedgerSummary {
  return {
    channels: [],
    read: 1_000,
    delivered: 990,
    filtered: 10,
    delivered_bytes: 198_000,
    delivered_without_bytes: 0,
    duplicates_max: 0,
    gaps: 0,
    overlaps: 0,
    balanced: true,
    positions: [],
    ...fields,
  }
}

export function secret(fields: Partial<Secret> = {}): Secret {
  return {
    name: 'shop',
    team: null,
    backend: 'store',
    purpose: 'pipelines',
    pipelines: ['orders'],
    destinations: ['broker:9093'],
    unencrypted: [],
    version: 1,
    created_at: T0,
    created_by: 'admin',
    updated_at: T0,
    updated_by: 'admin',
    last_used_at: null,
    last_used_by: '',
    readable: true,
    used_by: [],
    receivers: [],
    outdated: [],
    ...fields,
  }
}

/** A failover group in which all is well. */
export function sinkGroup(fields: Partial<SinkGroup> = {}): SinkGroup {
  return {
    name: 'lake',
    processor: 'failover',
    active: 'lake_a',
    live: ['lake_a', 'lake_b'],
    failed: [],
    ...fields,
  }
}

/** A new dead letter with its content. */
export function deadLetter(fields: Partial<DeadLetterDetail> = {}): DeadLetterDetail {
  return {
    id: 'abc1',
    at: T0,
    source: 'shop',
    channel: 'lake',
    component: 'sinks.lake',
    cause: 'too large',
    topic: 'orders-in',
    partition: 0,
    offset: 7,
    size: 5,
    truncated: false,
    state: 'NEW',
    settled_at: null,
    settled_by: '',
    operation: null,
    in_doubt: false,
    key: null,
    key_base64: null,
    headers: [],
    body: 'hello',
    body_base64: null,
    location: '/dead/day.jsonl:0',
    host: 'alpha',
    repaired: false,
    ...fields,
  }
}

/** An alert that fires, of which one receiver was told. */
export function alert(fields: Partial<Alert> = {}): Alert {
  return {
    id: 17,
    rule: 'blocked',
    key: 'orders',
    severity: 'critical',
    pipeline: 'orders',
    labels: { team: 'shop' },
    state: 'OPEN',
    message: 'A sink refuses.',
    next_step: 'Decide.',
    data: {},
    opened_at: T0,
    changed_at: T0,
    acknowledged_by: '',
    acknowledged_at: null,
    acknowledged_note: '',
    resolved_at: null,
    silence: null,
    silenced_until: null,
    deliveries: [
      {
        id: 11,
        receiver: 1,
        receiver_kind: 'slack',
        receiver_name: 'Operations',
        about: 'alert.opened',
        state: 'DELIVERED',
        attempts: 1,
        response_status: 200,
        last_attempt_at: T0,
        next_attempt_at: null,
      },
    ],
    ...fields,
  }
}

/** A silence of one pipeline. */
export function silence(fields: Partial<Silence> = {}): Silence {
  return {
    id: 3,
    team: null,
    state: 'ACTIVE',
    matchers: { pipelines: ['orders'], labels: [], rules: [], severities: [] },
    comment: 'Works.',
    created_at: T0,
    created_by: 'ana',
    ends_at: '2026-11-21T16:00:00Z',
    ended_by: '',
    suppressed: 2,
    ...fields,
  }
}

/** A team, and the role of the user in it. */
export function team(name: string, role: Team['role'] = 'admin'): Team {
  return { name, description: '', role, pipelines: 0, created_at: T0, created_by: 'ana' }
}

/** A webhook that is well. */
export function receiver(fields: Partial<Receiver> = {}): Receiver {
  return {
    id: 1,
    team: null,
    kind: 'webhook',
    url: 'https://ops.example.com/hook',
    target: 'https://ops.example.com',
    matchers: { pipelines: [], labels: [], rules: [], severities: [] },
    email: null,
    events: ['alert.*'],
    secrets: ['${secret:hooks}'],
    description: '',
    enabled: true,
    disabled_reason: '',
    waiting: 0,
    failing_since: null,
    last_success_at: T0,
    created_at: T0,
    created_by: 'admin',
    updated_at: T0,
    updated_by: 'admin',
    etag: '"1"',
    ...fields,
  }
}

/** A message that arrived. */
export function delivery(fields: Partial<ReceiverDelivery> = {}): ReceiverDelivery {
  return {
    id: 11,
    receiver: 1,
    message_id: 'msg_1',
    event: 4711,
    type: 'alert.opened',
    alert: 17,
    silence: null,
    pipeline: 'orders',
    happened_at: T0,
    state: 'DELIVERED',
    attempts: 1,
    next_attempt_at: null,
    last_attempt_at: T0,
    response_status: 200,
    last_error: '',
    created_at: T0,
    ended_at: T0,
    ...fields,
  }
}

/** A planned migration to a new revision, without approvals. */
export function migration(fields: Partial<MigrationDetail> = {}): MigrationDetail {
  return {
    id: '0b7f3c52-0000-4000-8000-000000000001',
    trace_id: '0b7f3c52000040008000000000000001',
    pipeline: 'orders',
    kind: 'revision',
    stage: 'PLANNED',
    stage_since: T0,
    open: true,
    message: 'Its plan is made.',
    reason: 'a new topic',
    created_by: 'ana',
    created_at: T0,
    started_at: null,
    ended_at: null,
    plan_hash: 'abc123',
    old_host: null,
    new_host: null,
    old_revision: null,
    new_revision: null,
    old_run: null,
    new_run: null,
    evacuation: null,
    reverts: null,
    drain_dump: null,
    waits_for: null,
    spec: { definition: { name: 'orders' } },
    plan: migrationPlan(),
    planned_at: T0,
    stale: false,
    steps: [],
    choices: [
      migrationChoice('approve', { sentence: 'Approve this plan.' }),
      migrationChoice('advance', { allowed: false, sentence: 'Begin.', reason: '1 more must approve it.' }),
      migrationChoice('abort', {
        sentence: 'Cancel migration.',
        impact: impact({ words: 'Nothing was touched.' }),
      }),
    ],
    approvals: [],
    approvers_needed: 0,
    passed: [],
    findings: [],
    snapshot: null,
    shadow: null,
    observed: null,
    draining: null,
    pause_seconds: null,
    runner_host: '',
    ...fields,
  }
}

export function migrationPlan(fields: Partial<MigrationPlan> = {}): MigrationPlan {
  const change = { path: 'sinks.out.topic', op: 'change', old: 'out', new: 'elsewhere' } as const
  return {
    kind: 'revision',
    pipeline: 'orders',
    basis: {},
    target: { host: 'alpha', revision: null, digest: 'd' },
    changes: [{ change, consequence: 'restart', reason: 'The agent reads it when it starts.' }],
    consequence: 'restart',
    steps: [],
    pause: { expected: 4.2, most: 63, words: 'The in-flight batch.' },
    skip: 0,
    replay: 0,
    moves: [],
    translation: [],
    sink_ends: [],
    rules: DEFAULT_RULES,
    gates: [],
    blockers: [],
    warnings: [],
    predictions: [],
    to_acknowledge: null,
    passed_tests: [],
    shadow: null,
    guarantees: [
      {
        source: 'shop',
        channel: 'lake',
        guarantee: 'exactly_once',
        conditions: ['Complete files stay where they are.'],
      },
    ],
    ...fields,
  }
}

export function migrationChoice(
  choice: MigrationChoice['choice'],
  fields: Partial<MigrationChoice> = {},
): MigrationChoice {
  return { choice, allowed: true, sentence: '', reason: '', impact: null, ...fields }
}

type Impact = NonNullable<MigrationChoice['impact']>

export function impact(fields: Partial<Impact> = {}): Impact {
  return { exact: true, skip: 0, replay: 0, duplicates_max: 0, pause: 0, words: '', ...fields }
}

/** A step of the engine's log that is to be done. */
export function migrationStep(
  name: MigrationStep['name'],
  stage: MigrationStep['stage'],
  fields: Partial<MigrationStep> = {},
): MigrationStep {
  return {
    name,
    stage,
    state: 'pending',
    changes: false,
    sentence: `${name}.`,
    gate: false,
    seconds: 60,
    tried: 0,
    intent_at: null,
    held_until: null,
    done_at: null,
    message: '',
    evidence: null,
    ...fields,
  }
}

export function finding(fields: Partial<Finding> = {}): Finding {
  return {
    path: '',
    code: 'FROZEN',
    message: 'Frozen until tomorrow.',
    suggestion: 'Wait.',
    severity: 'error',
    line: null,
    column: null,
    ...fields,
  }
}
