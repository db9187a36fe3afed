import type { MigrationKind, MigrationSpec } from '@/api/types'
import { migration, migrationPlan } from '@/testing/factories'
import { HOSTILE, loose } from '@/testing/shell'
import type { Call } from './calls'
import {
  cancelEvacuationCall,
  createMigrationCall,
  deedCall,
  evacuateCall,
  evidenceCall,
  watchCall,
} from './migrationCalls'
import { asksToCommit, durationOf, movement } from './migrations'
import { DEFAULT_RULES } from './observationRules'

const T = '2026-11-21T12:00:00Z'
const NOW = Date.parse(T) + 61_500

describe('the duration of a migration', () => {
  it('runs in whole seconds until it is over', () => {
    expect(durationOf({ started_at: null, ended_at: null }, NOW)).toBe('Not started')
    expect(durationOf({ started_at: T, ended_at: null }, NOW)).toBe('1 min 1 s')
    expect(durationOf({ started_at: T, ended_at: '2026-11-21T12:00:07.500Z' }, NOW)).toBe('7.5 s')
  })
})

it('says from where to where', () => {
  const moved = { old_host: 'alpha', new_host: 'beta', old_revision: 3, new_revision: 3 }
  expect(movement(migration(moved))).toBe('alpha to beta')
  expect(movement(migration({ ...moved, new_revision: 4 }))).toBe('alpha to beta, revision 3 to 4')
  expect(movement(migration())).toBe('')
})

it('knows that a person commits where a rule or a gate says so', () => {
  const { rules } = migrationPlan()
  expect(asksToCommit({ rules, gates: ['PAUSING'] })).toBe(false)
  expect(asksToCommit({ rules, gates: ['COMMITTED'] })).toBe(true)
  expect(asksToCommit({ rules: { ...rules, then: 'ask' }, gates: [] })).toBe(true)
})

describe('the calls behind the wizard', () => {
  const { id } = migration()

  it('plan what is asked for, on the command line too', () => {
    const body = { pipeline: 'orders', kind: 'host', reason: 'new machine', spec: { host: 'beta' } } as const
    const call = createMigrationCall({ ...body, spec: { host: 'beta', rules: { window: 5, then: 'ask' } } })
    expect(call.cli).toMatch(
      /migrations plan orders --host beta --observe 5 --confirm-commit --reason 'new machine'$/,
    )
    expect(call.curl).toContain('"host":"beta"')
    expect(createMigrationCall({ ...body, spec: { host: 'beta', rules: { band: 0.9 } } }).cli).toBeNull()
  })

  it('name the plan by its hash, and close as one gives up', () => {
    expect(deedCall(migration(), 'advance').cli).toContain(`migrations advance ${id} --digest abc123`)
    expect(deedCall(migration(), 'close', 'done by hand').curl).toContain(`/migrations/${id}/abort`)
    expect(deedCall(migration(), 'rollback', 'slow').cli).toContain("--reason 'slow'")
    expect(deedCall(migration(), 'abort').cli).toMatch(new RegExp(`migrations cancel ${id}$`))
    expect(watchCall({ id }).curl).toContain(`curl -X GET`)
  })

  it('plan again under the name that the command line has for it', () => {
    const { cli, curl } = deedCall(migration(), 'plan')
    expect(cli).toMatch(new RegExp(`migrations replan ${id}$`))
    expect(curl).toContain(`/migrations/${id}/plan`)
  })

  it('go on elsewhere with one source, where one was chosen', () => {
    const body = { pipeline: 'orders', kind: 'position', reason: '' } as const
    const spec = { to: 'latest' }
    expect(createMigrationCall({ ...body, spec }).cli).toMatch(/plan orders --to 'latest'$/)
    expect(createMigrationCall({ ...body, spec: { ...spec, source: 'shop' } }).cli).toMatch(
      /plan orders --to 'latest' --source shop$/,
    )
  })

  it('send the definition that was written, which the command reads from its standard input', () => {
    const body = { pipeline: 'orders', kind: 'revision', reason: 'new' } as const
    const text = "name: orders # it's mine\n"
    const call = createMigrationCall({ ...body, spec: { definition: text, gates: ['PAUSING'] } })
    expect(call.curl).toContain(`"definition":"name: orders # it'\\''s mine\\n"`)
    expect(call.cli).toMatch(/^printf '%s' 'name: orders # it'\\''s mine\n' \| headgate /)
    expect(call.cli).toMatch(/plan orders -f - --gate PAUSING --reason 'new'$/)
    const data = createMigrationCall({ ...body, spec: { definition: { name: 'orders' } } })
    expect(data.curl).toContain('"definition":{"name":"orders"}')
    expect(data.cli).toMatch(/^printf '%s' '{\n {2}"name": "orders"\n}\n' \| headgate .* -f - /)
    expect(createMigrationCall({ ...body, spec: { revision: 3 } }).cli).toMatch(/^headgate .* --revision 3 /)
    expect(createMigrationCall({ ...body, spec: { revision: null } }).cli).toBeNull()
  })

  it('say the move to another cluster, without the rules that have flags', () => {
    const spec = { sink: 'out', to: { bootstrap_servers: 'new:9092' }, rules: { window: 5 }, gates: [] }
    expect(createMigrationCall({ pipeline: 'orders', kind: 'cluster', reason: '', spec }).cli).toMatch(
      /^printf '%s' '{"sink":"out","to":{"bootstrap_servers":"new:9092"}}' \| .* --cluster - --observe 5$/,
    )
  })

  it('say so where a value is hidden, which cannot be sent', () => {
    const body = { pipeline: 'orders', kind: 'revision', reason: '' } as const
    const noteOn = (definition: unknown) => createMigrationCall({ ...body, spec: { definition } }).note
    const sinks = [{ password: '[hidden]' }]
    expect(noteOn({ sinks })).toBe(
      'A value is hidden. Replace [hidden] with ${secret:NAME} before you send this.',
    )
    expect(noteOn('password: "[hidden]"')).toMatch(/^A value is hidden/)
    expect(noteOn({ topics: ['hidden'] })).toBeUndefined()
  })

  it('write a position as people do, however it was sent', () => {
    const flags = (spec: MigrationSpec) =>
      createMigrationCall({ pipeline: 'orders', kind: 'position', reason: '', spec }).cli?.replace(
        /.*orders /,
        '',
      )
    expect(flags({ to: { timestamp: '-30m' } })).toBe("--to 'timestamp=-30m'")
    expect(flags({ to: { offsets: { orders: { 0: 7 } } } })).toBe(`--to 'offsets={"orders":{"0":7}}'`)
    expect(flags({ to: { earliest: null } })).toBe("--to 'earliest'")
    expect(flags({ target: { goal: 'timestamp', at: 1795313441137, source: 'shop' } })).toBe(
      "--to 'timestamp=1795313441137' --source shop",
    )
  })

  it('empty a host', () => {
    const body = { host: 'alpha', at_once: 2, go_on: true, rules: DEFAULT_RULES, reason: 'kernel' }
    expect(evacuateCall(body).cli).toMatch(
      /hosts evacuate alpha --parallel 2 --continue-on-failure --reason 'kernel'$/,
    )
    const observed = { ...body, rules: { ...DEFAULT_RULES, window: 5, then: 'ask' as const } }
    expect(evacuateCall(observed).cli).toMatch(
      /--continue-on-failure --observe 5 --confirm-commit --reason 'kernel'$/,
    )
    expect(evacuateCall({ ...body, rules: { ...DEFAULT_RULES, crashes: 0 } }).cli).toBeNull()
  })

  const bad = HOSTILE
  const rules = { window: bad, then: 'ask' }
  const asked = (kind: MigrationKind, spec: MigrationSpec) =>
    createMigrationCall({ pipeline: bad, kind, reason: bad, spec: { ...spec, rules, gates: [bad] } })
  it.each<[string, Call]>([
    ['a revision', asked('revision', { revision: bad })],
    ['a definition', asked('revision', { definition: bad })],
    ['a host', asked('host', { host: bad })],
    ['a position', asked('position', { to: bad, source: bad })],
    ['a cluster', asked('cluster', { source: bad, to: { bootstrap_servers: bad } })],
    ['a look', watchCall({ id: bad })],
    ['a report', evidenceCall({ id: bad })],
    ['an approval', deedCall({ id: bad, plan_hash: bad }, 'approve')],
    ['a way back', deedCall({ id: bad, plan_hash: bad }, 'rollback', bad)],
    ['an evacuation', evacuateCall({ host: bad, at_once: 2, go_on: true, rules: null, reason: bad })],
    ['the end of an evacuation', cancelEvacuationCall(bad)],
  ])('quote everything that a person wrote: %s', (_, call) => expect(loose(call)).not.toContain('curl evil'))
})
