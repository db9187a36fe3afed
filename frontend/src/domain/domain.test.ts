import { pipeline, T0 } from '@/testing/factories'
import { HOSTILE, loose } from '@/testing/shell'
import type { Condition, ReplayRange } from '@/api/types'
import {
  actionCall,
  applyPositionsCall,
  type Call,
  createCall,
  declareLostCall,
  deleteCall,
  drainCall,
  editCall,
  publishCall,
  quarantineCall,
  rangeReplayCall,
  reconcileCall,
  removeHostCall,
  replayCall,
  acknowledgeCall,
  receiverCall,
  silenceCall,
} from './calls'
import { freshness } from './freshness'
import { conditionLabel, movement } from './headline'
import { isUnsupervised, urgency, wanted } from './phases'

describe('the movement behind a headline', () => {
  it('says what is in flight while a pause is verified', () => {
    const paused = pipeline({ phase: 'PAUSED', live: { ...pipeline().live, in_flight: 0 } })
    expect(movement(paused, null)).toBe('0 in flight.')
    const pausing = pipeline({ phase: 'PAUSING', live: { ...pipeline().live, in_flight: 1 } })
    expect(movement(pausing, null)).toBe('1 batch in flight.')
  })

  it('names the rate, and says so when nothing moves', () => {
    expect(movement(pipeline(), null)).toBe('1,000 records/s.')
    const idle = pipeline({ live: { ...pipeline().live, records_per_second: 0 } })
    expect(movement(idle, null)).toBe('No records arriving.')
  })

  it('does not repeat old figures as if they were current', () => {
    expect(movement(pipeline(), '12:09')).toBe('Last report at 12:09.')
  })
})

describe('a condition', () => {
  it('is never called good that is not known to be', () => {
    const of = (status: Condition['status']) =>
      conditionLabel({ type: 'LedgerBalanced', status, reason: '', message: '', last_transition_time: T0 })
    expect(of('True')).toBe('Ledger balanced')
    expect(of('False')).toBe('Ledger unbalanced')
    expect(of('Unknown')).toBe('Ledger unknown')
  })
})

describe('attention', () => {
  it('goes to trouble and to what nobody supervises, not to what is stopped on purpose', () => {
    expect(urgency(pipeline({ phase: 'BLOCKED' }))).toBeLessThan(urgency(pipeline({ supervised: false })))
    expect(urgency(pipeline({ supervised: false }))).toBeLessThan(urgency(pipeline()))
    expect(isUnsupervised(pipeline({ supervised: false }))).toBe(true)
    expect(isUnsupervised(pipeline({ supervised: false, attention: null }))).toBe(false)
  })

  it('says what is wanted only where it differs from what is', () => {
    expect(wanted(pipeline())).toBeNull()
    expect(wanted(pipeline({ phase: 'DEGRADED' }))).toBeNull()
    expect(wanted(pipeline({ phase: 'PAUSING', desired_state: 'PAUSED' }))).toBe('desired: paused')
  })
})

describe('freshness', () => {
  const at = (seconds: number) => Date.parse(T0) + seconds * 1_000

  it('marks figures of a living agent that are older than five seconds', () => {
    expect(freshness(pipeline(), at(5)).stale).toBe(false)
    expect(freshness(pipeline(), at(6))).toEqual({ stale: true, ageMs: 6_000 })
    expect(freshness(pipeline({ phase: 'UNKNOWN' }), at(6)).stale).toBe(true)
  })

  it('does not call a stopped pipeline stale, nor one that never reported', () => {
    expect(freshness(pipeline({ phase: 'STOPPED' }), at(999)).stale).toBe(false)
    expect(freshness(pipeline({ live: { ...pipeline().live, as_of: null } }), at(999)).stale).toBe(false)
  })
})

describe('the call behind a button', () => {
  it('is a POST with the body and the same command', () => {
    const call = actionCall('orders', 'stop', { drain: false })
    expect(call.curl).toContain(`curl -X POST ${window.location.origin}/api/v1/pipelines/orders/stop`)
    expect(call.curl).toContain(`-d '{"drain":false}'`)
    expect(call.cli).toContain('stop orders --no-drain --wait')
    const given = actionCall('orders', 'stop', { drain: true, on_timeout: 'abort' })
    expect(given.cli).toContain('stop orders --on-timeout abort --wait')
  })

  it('quotes for the shell and takes the token from the environment', () => {
    const call = editCall('orders', '"7"', { description: "it's" })
    expect(call.curl).toContain(`-H 'If-Match: "7"'`)
    expect(call.curl).toContain(`it'\\''s`)
    expect(call.curl).toContain('$HEADGATE_TOKEN')
  })

  it('names a file where a definition is sent', () => {
    expect(createCall('orders', null).cli).toBe(
      `headgate --url ${window.location.origin} apply -f orders.yaml`,
    )
    expect(createCall('orders', null).curl).toContain('--data-binary @orders.yaml')
    expect(publishCall('orders').curl).toContain('/api/v1/pipelines/orders/revisions')
    expect(publishCall('orders').curl).toContain('--data-binary @orders.yaml')
  })

  it('names the team that was chosen for a new pipeline', () => {
    const call = createCall('orders', 'web shop')
    expect(call.cli).toMatch(/ apply -f orders.yaml --team 'web shop'$/)
    expect(call.curl).toContain('"team":"web shop"')
    expect(call.note).toMatch(/^Put the definition in the place of …/)
  })

  const bad = HOSTILE
  const range = { topic: bad, partition: 0, start: 1, end: 2, source: bad, channel: bad }
  it.each<[string, Call]>([
    ['act', actionCall(bad, 'stop', { on_timeout: bad })],
    [
      'replay by a filter',
      replayCall(bad, { filter: { component: bad, cause: bad, source: bad, since: bad } }),
    ],
    ['replay by ids', replayCall(bad, { ids: [bad] })],
    [
      'replay a repaired letter',
      replayCall(bad, { repair: { id: bad, body: bad, body_base64: null, headers: null } }),
    ],
    ['apply positions', applyPositionsCall(bad, bad)],
    ['quarantine', quarantineCall(bad, { ranges: [range], reason: bad, start: false })],
    ['reconcile', reconcileCall(bad, 'host', bad)],
    ['declare lost', declareLostCall(bad)],
    ['replay a range', rangeReplayCall(bad, range as ReplayRange, bad, bad)],
    ['drain a host', drainCall(bad, { on_timeout: 'abort' })],
    ['remove a host', removeHostCall(bad)],
    ['acknowledge an alert', acknowledgeCall(1, bad)],
    [
      'silence alerts',
      silenceCall({ pipelines: [bad], labels: [bad], rules: [bad], severities: [bad] }, 4, bad, bad),
    ],
    [
      'change a receiver',
      receiverCall(null, { url: bad, events: [bad], secrets: [bad], description: bad, team: bad }),
    ],
    ['delete', deleteCall(bad)],
    ['edit', editCall(bad, bad, { description: bad })],
    ['create from a file', createCall(bad, bad)],
    ['publish a file', publishCall(bad)],
  ])('quotes everything that a person wrote: %s', (_, call) => expect(loose(call)).not.toContain('curl evil'))

  it('leaves what a shell takes as it is without quotes', () => {
    expect(removeHostCall('alpha.example').cli).toMatch(/^headgate --url \S+ hosts remove alpha.example$/)
  })
})
