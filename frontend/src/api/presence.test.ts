import { fireEvent } from '@testing-library/react'
import { vi } from 'vitest'
import { given } from '@/testing/server'
import { api, take } from './client'

describe('a page that is left alone', () => {
  it('says so with what it asks, until its user comes back', async () => {
    const idle: (string | null)[] = []
    given.get('/hosts', (request) => {
      idle.push(request.headers.get('X-Headgate-Idle'))
      return { items: [], next: null }
    })
    const start = Date.now()
    const now = vi.spyOn(Date, 'now').mockReturnValue(start)
    fireEvent.keyDown(document.body)
    await take(api.GET('/api/v1/hosts'))
    now.mockReturnValue(start + 61_000)
    await take(api.GET('/api/v1/hosts'))
    fireEvent.pointerDown(document.body)
    await take(api.GET('/api/v1/hosts'))
    expect(idle).toEqual([null, 'true', null])
  })
})
