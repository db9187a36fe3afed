import { Problem } from '@/api/problem'
import { governed, requestCall } from './changes'

const BAD = "a'; rm -rf /"

describe('the call that requests a governed change', () => {
  it('has the options of the command that makes the change', () => {
    const { cli } = requestCall('orders', { kind: 'stop', arguments: { drain: false }, reason: 'why not' })
    expect(cli).toMatch(/ stop orders --no-drain --request 'why not'$/)
  })

  it('has no command where the page does not know its arguments', () => {
    expect(requestCall('orders', { kind: 'publish', arguments: {}, reason: '' }).cli).toBeNull()
  })

  it('quotes what a shell would read', () => {
    const { cli } = requestCall('orders', { kind: 'positions', arguments: { hash: BAD }, reason: BAD })
    expect(cli).toMatch(/ positions apply orders '.*' --request '.*'$/)
    expect(cli?.replaceAll(String.raw`'\''`, '')).not.toContain(BAD)
  })
})

describe('a refusal', () => {
  it('is one of governance by its code', () => {
    expect(governed(new Problem(409, { code: 'change_frozen' }))).not.toBeNull()
    expect(governed(new Problem(409, { code: 'busy' }))).toBeNull()
    expect(governed(new Error('approval_required'))).toBeNull()
  })
})
