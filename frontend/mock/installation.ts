import type {
  AlertRule,
  Cluster,
  ClusterTest,
  HealthCheck,
  HostConnection,
  Installation,
  InterceptorClass,
  Setting,
} from '../src/api/types'
import { iso } from './seed.ts'

/** One worker whose disk is low, and a queue that nobody has asked for. */
export function installation(): Installation {
  const now = Date.now()
  const check = (kind: HealthCheck['kind'], subject: string, detail: string, more = {}): HealthCheck => ({
    ...{ kind, subject, detail, state: 'OK', hint: '', checked_at: iso(now), milliseconds: null },
    ...more,
  })
  return {
    ...{ version: '0.1.0', host: 'alpha', checked_at: iso(now) },
    checks: [
      check('database', '', 'PostgreSQL 17.2', { milliseconds: 2.1 }),
      check('redis', '', 'Redis 8.0.1', { milliseconds: 0.6 }),
      check('queue', 'control', '0 waiting'),
      check('queue', 'host.alpha', '0 waiting'),
      check('worker', 'alpha', 'Its last tick took 14 ms.', { milliseconds: 14 }),
      check('broker_connection', 'alpha', 'Healthy', { milliseconds: 3.4 }),
      check('disk', 'alpha', '3.1 of 100.0 GiB free at /var/lib/headgate', {
        ...{ state: 'WARNING', hint: 'Free space or add some.', checked_at: iso(now - 4_000) },
      }),
    ],
  }
}

const setting = (name: string, section: string, description: string, more: Partial<Setting>): Setting => ({
  ...{ name, section, description, variable: `HEADGATE_${name.toUpperCase()}`, docs: '' },
  ...{ value: null, default: null, source: 'default', secret: false },
  ...more,
})

export const SETTINGS: Setting[] = [
  setting('state', 'Installation', 'The directory of run directories and checkpoints.', {
    ...{ value: '/var/lib/headgate', default: 'var', source: 'environment' },
  }),
  setting('redis_url', 'Installation', 'Redis, for wake-up messages and live figures.', {
    ...{ value: 'redis://redis:6379/0', default: 'redis://127.0.0.1:6379/0', source: 'environment' },
    docs: 'guides/run-in-production/#protect-redis',
  }),
  setting('slots', 'Installation', 'The most agents on this host. No limit if not set.', {}),
  setting('secret_key', 'Secrets and references', 'Signs sessions and seals events.', {
    ...{ value: '********', source: 'environment', secret: true },
  }),
  setting('event_days', 'Retention', 'Events.', { value: '90', default: '90' }),
]

export const INTERCEPTORS: InterceptorClass[] = [
  { name: 'acme.orders:Enrich', registered: true, listed: true, package: null, version: null, used_by: [] },
  { name: 'acme.audit:Mask', registered: true, listed: false, package: 'acme', version: '2.1', used_by: [] },
]

export const CLUSTERS: Cluster[] = [
  {
    ...{ name: 'analytics', team: null, version: 3, used_by: [], pending: [] },
    spec: { master: 'spark://spark.internal:7077', cluster_secret: '${secret:SPARK_CLUSTER}' },
    ...{ created_at: iso(0), created_by: 'admin', updated_at: iso(0), updated_by: 'admin' },
  },
]

let testedAt: number | null = null

/** Two hosts that answer two seconds after they were asked: one reaches the cluster and one does not. */
export function connection(asked: boolean): ClusterTest {
  const now = Date.now()
  if (asked) testedAt = now
  const checking = testedAt !== null && now - testedAt < 2_000
  const host = (name: string, found: Partial<HostConnection>): HostConnection => ({
    ...{ host: name, state: 'NOT_CHECKED', message: '', code: '', hint: '', requested_by: null },
    ...{ requested_at: null, checked_at: null, servers: [], standalone: null, unchecked: [] },
    ...(testedAt === null ? { message: 'The connection was not tested lately.' } : {}),
    ...(checking ? { state: 'CHECKING', requested_by: 'admin' } : {}),
    ...(testedAt !== null && !checking ? { checked_at: iso(testedAt + 2_000), ...found } : {}),
  })
  return {
    ...{ cluster: 'analytics', version: 3, checking },
    hosts: [
      host('alpha', {
        state: 'REACHABLE',
        servers: [{ server: 'spark.internal:7077', reached: true, milliseconds: 3.4, detail: '' }],
        standalone: { workers: 3, dead_workers: 1, cores: 24, free_cores: 16, applications: 2 },
        unchecked: [
          'The cluster secret and the Spark version: a start checks them.',
          'The connection from executors back to the driver: a start checks it.',
        ],
      }),
      host('beta', {
        ...{ state: 'FAILED', code: 'MASTER_UNREACHABLE' },
        message:
          'The Spark master spark://spark.internal:7077 cannot be used: spark.internal:7077: The server refuses the connection.',
        hint: 'Check that it runs, that this host can reach it, and that it has the same Spark version.',
      }),
    ],
  }
}

const rule = (name: AlertRule['rule'], description: string, more: Partial<AlertRule> = {}): AlertRule => ({
  ...{ rule: name, description, severity: 'critical', next_step: '', thresholds: [], about_pipelines: true },
  defaults: { enabled: true, for_seconds: 0, records: null, seconds: null, deviations: null },
  overrides: [],
  ...more,
})

export const RULES: AlertRule[] = [
  rule('lag', 'Too many records wait: more than `records` of them, or the oldest for more than `seconds`.', {
    ...{ severity: 'warning', thresholds: ['records', 'seconds'] },
    defaults: { enabled: true, for_seconds: 120, records: null, seconds: 900, deviations: null },
    overrides: [
      {
        ...{
          label: 'team:shop',
          pipeline: '',
          enabled: null,
          for_seconds: 300,
          records: 100_000,
          seconds: null,
        },
        ...{ deviations: null, off: [], updated_by: 'admin', updated_at: iso(0) },
      },
    ],
  }),
  rule('blocked', 'The pipeline is BLOCKED and needs a decision.'),
  rule('host_silent', 'A host has been silent for 30 s, or for `for_seconds` if that is longer.', {
    about_pipelines: false,
  }),
]
