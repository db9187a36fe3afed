import { fireEvent, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { vi } from 'vitest'
import { run } from '@/testing/factories'
import { show } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { addressOf } from './buffer'
import { LogView } from './LogView'
import { wantedOf, type LogSearch } from './search'

const AT = '2026-01-01T00:00:0'
const LINES = [
  `${AT}1.000Z INFO    driver orders/7: begun`,
  `${AT}2.000Z ERROR   jvm orders/7: failed`,
  '\tat org.example.Needle',
  `${AT}3.000Z INFO    keeper orders/7: a needle`,
]
const whole = (text: string) => ({
  text,
  offset: text.length,
  size: text.length,
  rotated: false,
  total: 20_000_000,
  searched: 16_777_216,
  components: ['driver', 'jvm', 'keeper'],
})

function Shown({
  first,
  changed,
  follow = false,
}: {
  first: LogSearch
  changed?: typeof vi.fn
  follow?: boolean
}) {
  const [search, setSearch] = useState(first)
  const go = (change: Partial<LogSearch>) => {
    changed?.(change as never)
    setSearch({ ...search, ...change })
  }
  return (
    <LogView
      key={JSON.stringify(wantedOf(search))}
      run={run({ number: 7 })}
      search={search}
      follow={search.follow ?? follow}
      go={go}
    />
  )
}

beforeEach(() => {
  Element.prototype.scrollIntoView = vi.fn()
})

describe('the log of a run', () => {
  it('is filtered by the server, and says how far it was searched', async () => {
    const asked: URLSearchParams[] = []
    given.get('/runs/7/log', (request) => {
      asked.push(new URL(request.url).searchParams)
      return whole(`${LINES.join('\n')}\n`)
    })
    show(<Shown first={{ level: 'ERROR', component: 'jvm', since: '5m', find: 'needle', only: true }} />)
    expect(await screen.findByText(/4 lines shown/)).toHaveTextContent('Its last 16 MiB were searched')
    expect(Object.fromEntries(asked[0]!)).toMatchObject({
      level: 'ERROR',
      component: 'jvm',
      since: '5m',
      find: 'needle',
    })
  })

  it('marks matches, steps from one to the next, and shows one in its context', async () => {
    given.get('/runs/7/log', () => whole(`${LINES.join('\n')}\n`))
    const changed = vi.fn()
    show(<Shown first={{ find: 'NEEDLE' }} changed={changed as never} />)
    expect(await screen.findByText('2 matches')).toBeInTheDocument()
    await userEvent.click(screen.getByRole('button', { name: 'Next match' }))
    expect(screen.getByText('1 of 2')).toBeInTheDocument()
    expect(screen.getByText('Needle')).toHaveAttribute('data-current')
    await userEvent.click(screen.getByRole('button', { name: 'Previous match' }))
    expect(screen.getByText('2 of 2')).toBeInTheDocument()
    await userEvent.click(screen.getByRole('button', { name: 'Next match' }))
    await userEvent.click(screen.getByRole('button', { name: 'Show in context' }))
    expect(changed).toHaveBeenLastCalledWith({ at: addressOf(LINES[1]!), follow: undefined })
  })

  it('links to each line, shows the one that is linked to, and says when it is gone', async () => {
    const at = addressOf(LINES[3]!)!
    given.get('/runs/7/log', (request) =>
      new URL(request.url).searchParams.get('at') === at
        ? whole(`${LINES.join('\n')}\n`)
        : problem(404, 'log_line_not_found', 'The line is no longer in the log of run 7.'),
    )
    const { unmount } = show(<Shown first={{ at }} />)
    const links = await screen.findAllByRole('link', { name: 'Link to this line' })
    expect(links.map((link) => link.getAttribute('href'))).toContain(`?run=7&at=${encodeURIComponent(at)}`)
    expect(links).toHaveLength(3)
    expect(screen.getByText(/a needle/).closest('[data-target]')).not.toBeNull()
    unmount()
    show(<Shown first={{ at: `${AT}9.000Z~00000000` }} />)
    expect(await screen.findByText(/The line is no longer in the log of run 7/)).toBeInTheDocument()
    expect(screen.getByRole('button', { name: 'Show the end of the log' })).toBeInTheDocument()
  })

  it('is followed until you scroll up', async () => {
    given.get('/runs/7/log', () => whole(`${LINES.join('\n')}\n`))
    const changed = vi.fn()
    show(<Shown first={{}} changed={changed as never} follow />)
    const box = await screen.findByRole('group', { name: 'Log of run 7' })
    box.scrollTop = 100
    fireEvent.scroll(box)
    expect(changed).not.toHaveBeenCalled()
    box.scrollTop = 10
    fireEvent.scroll(box)
    await waitFor(() => expect(changed).toHaveBeenCalledWith({ follow: false }))
  })
})
