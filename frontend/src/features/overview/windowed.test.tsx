import { vi } from 'vitest'
import { pipeline, session } from '@/testing/factories'
import { showRouted } from '@/testing/render'
import { given } from '@/testing/server'
import { FleetWall } from './FleetWall'

const MANY = Array.from({ length: 100 }, (_, number) => pipeline({ name: `p${number}`, team: 'web' }))

it('a long list is drawn without asking the browser for a place or a size, which would lay out the page', async () => {
  const asked = [
    vi.spyOn(HTMLElement.prototype, 'offsetHeight', 'get'),
    vi.spyOn(HTMLElement.prototype, 'offsetWidth', 'get'),
    vi.spyOn(Element.prototype, 'clientWidth', 'get'),
    vi.spyOn(Element.prototype, 'getBoundingClientRect'),
  ]
  const scrolled = vi.spyOn(window, 'scrollTo').mockReturnValue()
  given.get('/session', () => session())
  const { findByText } = showRouted(<FleetWall pipelines={MANY} histories={new Map()} group="team" />)
  await findByText('p0')
  expect(asked.map(({ mock }) => mock.calls.length)).toEqual([0, 0, 0, 0])
  expect(scrolled.mock.calls.length).toBeLessThanOrEqual(1) // the router's
})
