import { createMemoryHistory, createRouter, RouterProvider } from '@tanstack/react-router'
import { act, cleanup, screen } from '@testing-library/react'
import { http } from 'msw'
import { keys } from '@/api/keys'
import { rememberGuide } from '@/lib/guide'
import { session } from '@/testing/factories'
import { show, testClient } from '@/testing/render'
import { problem, server } from '@/testing/server'
import { FullWorld } from '@/testing/world'
import { router } from './router'

/**
 * Every page of the router, in an installation in which each list has something in it: what a page cannot read, or has
 * not read yet, it never shows as nothing.
 */

const { pipeline } = FullWorld
const WRITTEN: Record<string, string> = {
  '/evacuations/$id': '/evacuations/e1',
  '/migrations/$id/$step': '/migrations/m1/report',
}
const addressOf = (path: string) => (WRITTEN[path] ?? path).replace('$name', pipeline).replace('$id', 'm1')

const PATHS = Object.keys(router.routesByPath).filter((path) => path.length < 2 || !path.endsWith('/'))
const PAGES = [
  ...PATHS.map(addressOf),
  ...['revision', 'host', 'cluster', 'position', 'software'].map(
    (kind) => `/migrations/new?pipeline=${pipeline}&kind=${kind}`,
  ),
  `/pipelines/${pipeline}?node=sources.shop.interceptors[0]`,
  '/receivers?id=1',
]

const STEPS_MS = 10
const LONGEST_STEPS = 400

/** Opens a page whose requests are answered by `answer`, and waits until nothing more of it is read. */
async function open(address: string, answer: (path: string, request: Request) => Promise<Response>) {
  let waiting = 0
  const hung = new Set<string>()
  server.use(
    http.all('*/api/v1/*', async ({ request }) => {
      waiting += 1
      const path = `${request.method} ${new URL(request.url).pathname.replace('/api/v1', '')}`
      const given = answer(path, request)
      if (given === FOREVER) {
        waiting -= 1
        hung.add(path)
      }
      const response = await given
      waiting -= 1
      return response
    }),
  )
  const client = testClient()
  client.setQueryDefaults(keys.session, { staleTime: Infinity })
  client.setQueryData(keys.session, { ...session('admin'), demo_pipeline: pipeline })
  const own = createRouter({
    routeTree: router.routeTree,
    history: createMemoryHistory({ initialEntries: [address] }),
  })
  await own.load()
  show(<RouterProvider router={own as never} />, client)
  let quiet = 0
  for (let step = 0; step < LONGEST_STEPS && quiet < 4; step += 1) {
    await act(() => new Promise((resolve) => setTimeout(resolve, STEPS_MS)))
    quiet = waiting === 0 && document.querySelector('main')?.textContent ? quiet + 1 : 0
  }
}

const FOREVER = new Promise<Response>(() => {})
const failure = () => problem(500, 'boom', 'The server failed.')

/** What a page says of nothing: its empty states, and sentences such as "There are no …". */
function nothings(): string[] {
  const empty = [...document.querySelectorAll('[data-empty]')].map((each) => each.textContent ?? '')
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  const said: string[] = []
  while (texts.nextNode()) {
    const text = texts.currentNode.textContent?.trim() ?? ''
    if (/^(no|none|nothing)\b|\bthere (is|are) no\b|^0\b/i.test(text)) said.push(text)
  }
  return [...empty, ...said]
}

const ways = () => screen.queryAllByRole('button', { name: 'Try again' }).length

beforeEach(() => {
  rememberGuide()
  vi.spyOn(window, 'scrollTo').mockImplementation(() => {})
})

/** Pages that say of a thing that is not asked for what is right whatever the server answers. */
const OWN_WORDS = ['No tests', 'No tokens']

it.each(PAGES)('%s says of nothing that it is not there while all of it is read', async (page) => {
  await open(page, () => FOREVER)
  expect(nothings().filter((each) => !OWN_WORDS.some((own) => each.startsWith(own)))).toEqual([])
})

it.each(PAGES)('%s says that it failed, and offers to try again', async (page) => {
  await open(page, () => Promise.resolve(failure()))
  expect(nothings().filter((each) => !OWN_WORDS.some((own) => each.startsWith(own)))).toEqual([])
  expect(ways()).toBeGreaterThan(0)
})

/** Asked for on every page, or on every tab of a pipeline: once is enough. */
const seen = new Set<string>()
const around = (page: string, request: string) =>
  request.includes('/alerts/counts') ? request : `${page.startsWith('/pipelines/') ? 'tab' : page} ${request}`

/** A page is opened once for each thing that it reads. */
const EACH_MS = 300_000

/** What is no query of the page: the past of the sparklines, which go on from now without it. */
const BESIDE = /\/series$/

it.each(PAGES)(
  '%s tells apart each thing that it reads',
  async (page) => {
    const world = new FullWorld()
    const asked = new Set<string>()
    await open(page, (path, request) => {
      asked.add(path)
      return world.answer(request)
    })
    const before = nothings()
    cleanup()
    const fresh = [...asked].filter((path) => !BESIDE.test(path) && !seen.has(around(page, path)))
    const wrong: string[] = []
    for (const path of fresh) {
      seen.add(around(page, path))
      await open(page, (each, request) =>
        each === path ? Promise.resolve(failure()) : world.answer(request),
      )
      wrong.push(
        ...nothings()
          .filter((each) => !before.includes(each))
          .map((each) => `${path} failed: ${each}`),
      )
      if (ways() === 0) wrong.push(`${path} failed: silently`)
      cleanup()
    }
    expect(wrong).toEqual([])
  },
  EACH_MS,
)
