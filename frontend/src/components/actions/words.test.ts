import { expect, it } from 'vitest'
import { verbOf } from './words'

it('offers a try at once while a pipeline waits for the next one', () => {
  expect(verbOf('start', 'BACKOFF')).toBe('Retry now')
  expect(verbOf('start', 'BLOCKED')).toBe('Start')
  expect(verbOf('stop', 'BACKOFF')).toBe('Stop')
})
