import { afterEach, describe, expect, it, vi } from 'vitest'
import { api, take } from './client'
import { explain, Problem } from './problem'

afterEach(() => vi.unstubAllGlobals())

describe('an error on the page', () => {
  it('says that the server cannot be reached only where a request had no answer', async () => {
    vi.stubGlobal('fetch', () => Promise.reject(new TypeError('Failed to fetch')))
    const error: unknown = await take(api.GET('/api/v1/session')).catch((raised: unknown) => raised)
    expect(explain(error).text).toBe('The server cannot be reached.')
  })

  it('does not say that a change without an answer was refused', async () => {
    vi.stubGlobal('fetch', () => Promise.reject(new TypeError('Failed to fetch')))
    const error: unknown = await take(api.DELETE('/api/v1/session')).catch((raised: unknown) => raised)
    expect(explain(error).text).toBe('The server did not answer.')
    expect(explain(error).hint).toContain('The change may have been made.')
  })

  it('names a defect of the page as one, with what to report', () => {
    const error = new TypeError("Cannot destructure property 'before'")
    expect(explain(error).text).toBe('The dashboard has a defect here.')
    expect(explain(error).hint).toContain("Cannot destructure property 'before'")
  })

  it('repeats what the server said', () => {
    expect(explain(new Problem(409, { detail: 'It runs already.', hint: 'Stop it first.' }))).toMatchObject({
      text: 'It runs already.',
      hint: 'Stop it first.',
    })
  })
})
