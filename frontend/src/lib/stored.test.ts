import { vi } from 'vitest'
import { stored, storedByUser } from './stored'

const number = (key: string) => stored<number>(key, (text) => Number(text ?? 0), String)

describe('a stored value', () => {
  it('outlives the page and tells who follows it', () => {
    const value = number('test.number')
    let heard = 0
    value.subscribe(() => (heard += 1))
    value.update((old) => old + 2)
    expect([value.get(), heard, number('test.number').get()]).toEqual([2, 1, 2])
  })

  it('is changed from what another tab has stored meanwhile', () => {
    const value = number('test.number')
    localStorage.setItem('test.number', '7')
    value.update((old) => old + 1)
    expect(value.get()).toBe(8)
  })

  it('is kept in memory where the browser refuses storage', () => {
    const value = number('test.number')
    const refuse = vi.spyOn(Storage.prototype, 'setItem').mockImplementation(() => {
      throw new Error('refused')
    })
    value.update(() => 3)
    refuse.mockRestore()
    expect(value.get()).toBe(3)
  })

  it('is another one for each user', () => {
    const of = storedByUser<string>('test.name', (text) => text ?? '', String)
    of('ana').update(() => 'x')
    expect([of('ana').get(), of('ben').get()]).toEqual(['x', ''])
  })
})
