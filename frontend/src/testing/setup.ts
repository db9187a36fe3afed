import { cleanNotifications } from '@mantine/notifications'
import '@testing-library/jest-dom/vitest'
import { cleanup, configure } from '@testing-library/react'
import { afterAll, afterEach, beforeAll, vi } from 'vitest'
import { server } from './server'

// jsdom has none of these; Mantine and the chart ask for them.
window.matchMedia = vi.fn().mockImplementation((query: string) => ({
  matches: false,
  media: query,
  addEventListener: () => {},
  removeEventListener: () => {},
  addListener: () => {},
  removeListener: () => {},
}))
window.ResizeObserver = class {
  observe() {}
  unobserve() {}
  disconnect() {}
}
Object.defineProperty(document, 'fonts', { value: new EventTarget(), configurable: true })
window.HTMLElement.prototype.scrollIntoView = () => {}

configure({ asyncUtilTimeout: 20_000 }) // the machine may be busy

beforeAll(() => server.listen({ onUnhandledRequest: 'error' }))
afterEach(() => {
  cleanup()
  server.resetHandlers()
  vi.useRealTimers()
})
afterAll(() => {
  server.close()
  // The next file finds the window as this one did.
  vi.unstubAllGlobals()
  cleanNotifications()
  localStorage.clear()
  sessionStorage.clear()
  document.body.replaceChildren()
})
