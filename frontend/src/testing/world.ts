import { handle, World } from '../../mock/handle'
import { alert, deadLetter, migration, receiver, secret, session, silence, T0, team } from './factories'

const PIPELINE = 'orders-clean-1'
const page = (...results: object[]) => ({ results, next: null })

const evacuation = {
  ...{ id: 'e1', host: 'alpha', at_once: 2, go_on: false, rules: {}, waiting: ['later'], left: {} },
  ...{ reason: 'kernel', created_by: 'ana', created_at: T0, ended_at: null, outcome: '' },
  migrations: [migration()],
}
const group = {
  ...{ id: 4, team: 'payments', group: 'billing', bootstrap_servers: 'kafka:9092', interval: 60 },
  ...{ max_rate: null, leap_records: null, host: null, created_at: T0, created_by: 'ana', records: 7 },
  ...{ inspected_at: T0, error: '', state: 'Stable', simple: false, coordinator: '', members: [] },
}
const row = {
  ...{ id: 1, at: T0, actor: 'ana', action: 'secret.replaced', pipeline: '', object: 'shop', team: '' },
  ...{ token: '', request_id: 'r-1', address: '10.0.0.1', before: {}, after: {}, outcome: 'accepted' },
  ...{ sequence: 7, digest: 'abc' },
}
const chain = {
  head: { sequence: 12, digest: 'abc', at: T0, key: 'k', signature: 's' },
  ...{ unsealed: 0, oldest_unsealed_at: null, check_requested_at: null, forwarding: [] },
  check: { at: T0, sequence: 10, holds: true, problem: '' },
}
const token = {
  ...{ id: 'hg_0123456789ab', name: 'ci', user: 'ana', created_at: T0, created_by: 'ana', expired: false },
  ...{ expires_at: null, role_cap: 'viewer', team: null, read_only: true, sees_records: true },
  ...{ last_used_at: null, last_used_address: '' },
}
const user = {
  ...{ username: 'ben', role: 'operator', teams: [], active: true, created_at: T0, last_login_at: null },
  ...{ password: false, provider: false, second_factor: false, tokens: 1 },
}
const factor = {
  ...{ totp: false, passkeys: [], recovery_codes: 0, required: false, usable: true },
  passkeys_available: true,
}
const freeze = {
  ...{ id: 3, label: 'tier:1', pipeline: '', reason: 'The sale', created_by: 'ana', created_at: T0 },
  ...{ starts_at: T0, ends_at: '2120-01-01T00:00:00Z' },
}
const policy = {
  ...{ id: 5, label: '', pipeline: PIPELINE, approvers: 2, expiry_seconds: 86_400 },
  ...{ updated_by: 'ana', updated_at: T0 },
}
const reach = { id: 1, team: null, created_at: T0, created_by: 'ana', pipelines: [], reason: '' }

/** What the simulated world of `npm run dev:mock` does not answer, or answers with nothing. */
const MORE: Record<string, object> = {
  '/session': { ...session(), demo_pipeline: PIPELINE },
  '/session/second-factor': factor,
  '/alerts': page(alert({ pipeline: PIPELINE })),
  '/alerts/counts': { open: 1, acknowledged: 0, severities: { critical: 1, warning: 0, info: 0 } },
  '/silences': page(silence()),
  '/receivers': page(receiver()),
  '/secrets': page(secret(), secret({ name: 'hooks', purpose: 'receivers' })),
  '/teams': page(team('default'), team('payments')),
  '/tokens': page(token),
  '/users': page(user),
  '/audit': page(row),
  '/audit/chain': chain,
  '/consumer-groups': page(group),
  '/templates': [{ name: 'copy', title: 'Copy', description: 'Copies.', definition: 'name: copy\n' }],
  '/evacuations': page(evacuation),
  '/evacuations/e1': evacuation,
  '/migrations': page(migration({ pipeline: PIPELINE })),
  '/migrations/m1': migration({ id: 'm1', pipeline: PIPELINE }),
  '/freezes': page(freeze),
  '/approval-policies': page(policy),
  '/allowed-roots': page({ ...reach, path: '/data' }),
  '/allowed-networks': page({ ...reach, network: '10.0.0.0/8' }),
  '/operations': page(),
  '/change-requests': page(),
  [`/pipelines/${PIPELINE}/guide`]: { pipeline: PIPELINE, open: null, cards: [] },
  [`/pipelines/${PIPELINE}/dead-letters`]: page(deadLetter()),
  [`/pipelines/${PIPELINE}/dead-letters/summary`]: {
    ...{ new: 1, retried: 0, discarded: 0, more_causes: false },
    causes: [],
  },
}

/** An installation in which each list has something in it: answers what the page reads. */
export class FullWorld {
  static readonly pipeline = PIPELINE
  /** Of the team payments. */
  static readonly group = group
  private readonly world = new World(2)

  constructor() {
    this.world.session = { user: 'ana', role: 'admin' }
  }

  async answer(request: Request): Promise<Response> {
    const path = new URL(request.url).pathname.replace('/api/v1', '')
    return MORE[path] ? Response.json(MORE[path]) : handle(this.world, request)
  }
}
