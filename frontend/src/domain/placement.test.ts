import { pinnedTo, withHost } from './placement'

const REST = 'sinks:\n  out:\n    host: db.example\n'

it('a pipeline is pinned where its definition names a host', () => {
  expect(pinnedTo({ placement: { host: 'alpha' } })).toBe('alpha')
  expect(pinnedTo({ placement: { host: 'any' } })).toBeNull()
  expect(pinnedTo({})).toBeNull()
})

describe('a host in the text of a definition', () => {
  it('replaces the one that is there and touches nothing else', () => {
    const text = `placement:\n  host: any\n  launcher:\n    host: x\n${REST}`
    expect(withHost(text, 'alpha')).toBe(`placement:\n  host: "alpha"\n  launcher:\n    host: x\n${REST}`)
  })

  it('joins a placement without one', () => {
    expect(withHost(`${REST}placement:\n    launcher: {}\n`, 'alpha')).toBe(
      `${REST}placement:\n    host: "alpha"\n    launcher: {}\n`,
    )
  })

  it('keeps the comments of a text that was written by hand', () => {
    const text = 'placement: # near\n  # the broker\n  host: any  # for now\n  launcher: {}\n'
    expect(withHost(text, 'alpha')).toBe(
      'placement: # near\n  # the broker\n  host: "alpha"  # for now\n  launcher: {}\n',
    )
  })

  it.each([
    ['placement: {host: any}', 'placement: {host: "alpha"}'],
    [
      'placement: {launcher: {type: local}, host: "b"} # c',
      'placement: {launcher: {type: local}, host: "alpha"} # c',
    ],
    ['placement: {launcher: {type: local}}', 'placement: {host: "alpha", launcher: {type: local}}'],
    ['placement: {}', 'placement: {host: "alpha"}'],
  ])('is set in a placement on one line: %s', (text, made) => {
    expect(withHost(`${text}\n${REST}`, 'alpha')).toBe(`${made}\n${REST}`)
  })

  it('is added where nothing is said about a place', () => {
    expect(withHost('name: orders', 'any')).toBe('name: orders\nplacement:\n  host: "any"\n')
  })
})
