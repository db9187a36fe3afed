import type { HealthCheck, Installation, Setting } from '../src/api/types'
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
