import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import { outcome, receiverWords } from './words'
import { matcherWords } from '@/domain/matchers'
import type { Alert } from '@/api/types'
import { alert, detail, silence, T0, team } from '@/testing/factories'
import { show, showRouted } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { AcknowledgeDialog } from './AcknowledgeDialog'
import { notesOf } from '@/lib/notifications'
import { AlertCards, type Selection } from './AlertCards'
import { BulkAcknowledge } from './BulkAcknowledge'
import { grouped } from './grouping'
import { NotifyButton } from './NotifyButton'
import { SilenceDialog } from './SilenceDialog'
import { Silences } from './Silences'
import { useAlertKeys } from './useAlertKeys'

const nothing = () => {}

beforeEach(() => {
  given.get('/alerts', () => ({ results: [alert()], next: null }))
  given.get('/session', () => ({ authenticated: true, user: 'ana', role: 'operator', everywhere: null }))
  inTeams('shop')
})

function inTeams(...names: string[]) {
  given.get('/teams', () => ({ results: names.map((name) => team(name, 'operator')), next: null }))
  given.get('/pipelines/orders', () => detail({ team: names.at(-1) }))
}

const cards = (...alerts: Alert[]) =>
  showRouted(<AlertCards label="Firing" alerts={alerts} onAcknowledge={nothing} onSilence={nothing} />)

/** The cards, without the lists within them. */
const shown = async () => [...(await screen.findByRole('list', { name: 'Firing' })).children] as HTMLElement[]

describe('the list of alerts', () => {
  it('says what is wrong, since when, what to do and who was told', async () => {
    cards(
      alert(),
      alert({
        id: 18,
        message: 'Late.',
        silenced_until: '2026-11-21T16:00:00Z',
        silence: 3,
        severity: 'warning',
      }),
    )
    const [first, second] = await shown()
    expect(first).toHaveTextContent(/Criticalordersblockedsince .*OpenA sink refuses.Next step: Decide./)
    expect(first).toHaveTextContent('Operations: firing delivered (200)')
    expect(second).toHaveTextContent('Warning')
    expect(second).toHaveTextContent('Silenced until')
    expect(within(first as HTMLElement).getByRole('link', { name: 'orders' })).toBeVisible()
  })

  it('says who acknowledged it and why, and offers no second time', async () => {
    cards(
      alert({
        state: 'ACKNOWLEDGED',
        acknowledged_by: 'ben',
        acknowledged_at: T0,
        acknowledged_note: 'On it.',
      }),
    )
    const [row] = await shown()
    expect(row).toHaveTextContent('Acknowledgedby ben')
    expect(row).toHaveTextContent('On it.')
    expect(screen.queryByRole('button', { name: /^Acknowledge/ })).toBeNull()
    expect(screen.getByRole('button', { name: 'Silence: A sink refuses.' })).toBeVisible()
  })

  it('asks nothing of what is resolved, and lists nobody who was not told', async () => {
    cards(alert({ state: 'RESOLVED', resolved_at: T0, deliveries: [] }))
    const [row] = await shown()
    expect(row).toHaveTextContent('Sent to no receiver.')
    expect(row).not.toHaveTextContent('Next step')
    expect(screen.queryByRole('button')).toBeNull()
  })

  it('tells a viewer why nothing can be done', async () => {
    given.get('/session', () => ({ authenticated: true, user: 'vera', role: 'viewer' }))
    cards(alert())
    await waitFor(() =>
      expect(screen.getByRole('button', { name: 'Acknowledge: A sink refuses.' })).toHaveAttribute(
        'aria-disabled',
        'true',
      ),
    )
  })

  it('has words for every outcome', () => {
    const [told] = alert().deliveries
    if (!told) throw new Error('no delivery')
    expect(outcome({ ...told, about: 'alert.resolved', state: 'SUPPRESSED' })).toBe('resolved suppressed')
    expect(outcome({ ...told, state: 'FAILED', response_status: null })).toBe('firing failed')
    expect(receiverWords({ ...told, receiver_name: 'slack' })).toBe('Slack 1')
    expect(matcherWords({ pipelines: [], labels: [], rules: [], severities: [] })).toBe('all alerts')
    expect(matcherWords({ pipelines: ['a'], labels: [], rules: ['host_silent'], severities: ['info'] })).toBe(
      'pipeline a; rule host silent; severity info',
    )
  })
})

describe('acknowledging', () => {
  it('sends a note', async () => {
    const asked = vi.fn()
    const closed = vi.fn()
    given.post('/alerts/17/acknowledge', async (request) => {
      asked(await request.json())
      return alert({ state: 'ACKNOWLEDGED' })
    })
    show(<AcknowledgeDialog alert={alert()} onClose={closed} />)
    await userEvent.type(await screen.findByLabelText('Note'), 'On it.{Enter}')
    await waitFor(() => expect(closed).toHaveBeenCalled())
    expect(asked).toHaveBeenCalledWith({ note: 'On it.' })
  })
})

describe('silencing', () => {
  it('is about the rule of the pipeline unless something wider is chosen', async () => {
    const asked = vi.fn()
    const closed = vi.fn()
    given.post('/silences', async (request) => {
      asked(await request.json())
      return silence()
    })
    show(<SilenceDialog alert={alert()} onClose={closed} />)
    expect(await screen.findByRole('radio', { name: 'pipeline orders; rule blocked' })).toBeChecked()
    expect(screen.getByRole('button', { name: 'Create silence' })).toHaveAccessibleDescription(
      'Enter a comment first.',
    )
    await userEvent.click(screen.getByRole('radio', { name: 'label team:shop' }))
    await userEvent.type(screen.getByLabelText(/^Comment/), 'Works.')
    await userEvent.click(screen.getByRole('button', { name: 'Create silence' }))
    await waitFor(() => expect(closed).toHaveBeenCalled())
    const body = asked.mock.calls[0]?.[0] as { ends_at: string }
    expect(body).toMatchObject({
      comment: 'Works.',
      matchers: { labels: ['team:shop'], pipelines: [], rules: [] },
    })
    expect(new Date(body.ends_at).getTime()).toBeGreaterThan(Date.now())
  })

  it('is of the team of the pipeline, unless another one is chosen', async () => {
    const asked = vi.fn()
    inTeams('payments', 'shop')
    given.post('/silences', async (request) => {
      asked(await request.json())
      return silence()
    })
    show(<SilenceDialog alert={alert()} onClose={nothing} />)
    await userEvent.type(await screen.findByLabelText(/^Comment/), 'Works.')
    await waitFor(() => expect(screen.getByLabelText('Team')).toHaveValue('shop'))
    await userEvent.click(screen.getByRole('button', { name: 'Create silence' }))
    await waitFor(() => expect(asked).toHaveBeenCalled())
    expect(asked.mock.calls[0]?.[0]).toMatchObject({ team: 'shop' })
  })

  it('shows what the server has against it', async () => {
    given.post('/silences', () =>
      problem(422, 'silence_invalid', 'The silence is not valid.', {
        findings: [
          {
            path: 'ends_at',
            code: 'out_of_range',
            message: 'It lasts too long.',
            suggestion: 'End it earlier.',
          },
        ],
      }),
    )
    show(<SilenceDialog alert={alert({ pipeline: null })} onClose={nothing} />)
    await userEvent.type(await screen.findByLabelText(/^Comment/), 'Works.')
    await userEvent.click(screen.getByRole('button', { name: 'Create silence' }))
    expect(await screen.findByRole('alert')).toHaveTextContent('It lasts too long. End it earlier.')
  })

  it('is listed while it lasts, and ended early', async () => {
    const asked = vi.fn()
    given.get('/silences', () => ({ results: [silence({ team: 'shop' })], next: null }))
    given.post('/silences/3/end', () => {
      asked()
      return silence({ state: 'ENDED' })
    })
    show(<Silences />)
    expect(await screen.findByRole('row', { name: /pipeline orders Works. ana/ })).toHaveTextContent('2')
    await userEvent.click(screen.getByRole('button', { name: 'End silence 3' }))
    await waitFor(() => expect(asked).toHaveBeenCalled())
  })

  it('is listed with its team where the user sees several', async () => {
    inTeams('payments', 'shop')
    given.get('/silences', () => ({
      results: [silence({ team: 'shop' }), silence({ id: 4 })],
      next: null,
    }))
    show(<Silences />)
    expect(await screen.findByRole('row', { name: /pipeline orders shop Works./ })).toBeVisible()
    expect(screen.getByRole('row', { name: /pipeline orders Installation Works./ })).toBeVisible()
  })

  it('takes no room while there is none', async () => {
    const asked = vi.fn()
    given.get('/silences', () => {
      asked()
      return { results: [], next: null }
    })
    show(<Silences />)
    await waitFor(() => expect(asked).toHaveBeenCalled())
    expect(screen.queryByText('Active silences')).toBeNull()
  })
})

describe('acknowledging several', () => {
  it('shows the result of each, and a refused one stops no other', async () => {
    const notes: unknown[] = []
    given.post('/alerts/17/acknowledge', () =>
      problem(409, 'alert_resolved', 'Alert 17 is resolved.', { hint: 'No action is required.' }),
    )
    given.post('/alerts/18/acknowledge', async (request) => {
      notes.push(await request.json())
      return alert({ id: 18, state: 'ACKNOWLEDGED' })
    })
    const cleared = vi.fn()
    show(<BulkAcknowledge chosen={[alert(), alert({ id: 18, message: 'Late.' })]} onClear={cleared} />)
    await userEvent.click(screen.getByRole('button', { name: 'Acknowledge 2 alerts' }))
    await userEvent.type(await screen.findByLabelText('Note'), 'On it.{Enter}')
    const table = screen.getByRole('table', { name: 'Alerts to acknowledge' })
    expect(await within(table).findByText('Acknowledged')).toBeVisible()
    expect(within(table).getByText('Alert 17 is resolved. No action is required.')).toBeVisible()
    expect(notes).toEqual([{ note: 'On it.' }])
    await userEvent.click(screen.getByRole('button', { name: 'Close' }))
    expect(cleared).toHaveBeenCalled()
  })
})

describe('keys of the inbox', () => {
  function Inbox({
    onAcknowledge,
    selection,
  }: {
    onAcknowledge: (alert: Alert) => void
    selection: Selection
  }) {
    const alerts = [alert(), alert({ id: 18, message: 'Late.' })]
    return (
      <div ref={useAlertKeys()}>
        <AlertCards
          label="Firing"
          alerts={alerts}
          selection={selection}
          onAcknowledge={onAcknowledge}
          onSilence={nothing}
        />
      </div>
    )
  }

  it('move between alerts, acknowledge and select them', async () => {
    const acknowledge = vi.fn()
    const toggle = vi.fn()
    showRouted(<Inbox onAcknowledge={acknowledge} selection={{ has: () => false, toggle }} />)
    const [first, second] = await shown()
    await userEvent.keyboard('a')
    expect(acknowledge).not.toHaveBeenCalled()
    await userEvent.keyboard('j')
    expect(first).toHaveFocus()
    await userEvent.keyboard('jj')
    expect(second).toHaveFocus()
    await waitFor(() =>
      expect(within(second!).getByRole('button', { name: /^Acknowledge/ })).not.toHaveAttribute(
        'aria-disabled',
      ),
    )
    await userEvent.keyboard('ax')
    expect(acknowledge).toHaveBeenCalledWith(expect.objectContaining({ id: 18 }))
    expect(toggle).toHaveBeenCalledWith(expect.objectContaining({ id: 18 }))
    await userEvent.keyboard('k')
    expect(first).toHaveFocus()
  })
})

describe('groups', () => {
  it('have the order of their first alerts', () => {
    const alerts = [alert(), alert({ id: 18, pipeline: null, rule: 'host_silent' }), alert({ id: 19 })]
    expect(grouped(alerts, 'pipeline').map((each) => [each.title, each.alerts.length])).toEqual([
      ['orders', 2],
      ['About no pipeline', 1],
    ])
    expect(grouped(alerts, 'rule').map(({ title }) => title)).toEqual(['blocked', 'host silent'])
    expect(grouped(alerts, undefined).map(({ title }) => title)).toEqual([''])
  })
})

describe('notifications', () => {
  /** The locks that tabs of the browser hold. */
  let held: { name: string }[] = []
  const now = [alert({ id: 18, severity: 'warning', message: 'Late.' }), alert()]
  /** What a tab finds once its browser has noted the alerts that there were. */
  const looked = async (before: Alert[]) => void (await notesOf(before, ['critical', 'warning']))

  beforeEach(() => {
    held = []
    const request = (_: string, work: () => void) => Promise.resolve(work())
    const value = { request, query: () => Promise.resolve({ held }) }
    Object.defineProperty(navigator, 'locks', { configurable: true, value })
  })

  it('tell of what is new, once for all tabs, and of nothing that was there before', async () => {
    await looked([alert()])
    expect(await notesOf(now, ['critical', 'warning'])).toEqual([
      { tag: 'headgate-alert-18', title: 'orders: blocked', body: 'Late.' },
    ])
    expect(await notesOf(now, ['critical', 'warning'])).toEqual([])
  })

  it('tell nothing while a tab is looked at, of other severities, or of what is silenced', async () => {
    await looked([alert({ id: 100 })])
    held = [{ name: 'headgate.visible' }]
    expect(await notesOf([alert({ id: 101 })], ['critical'])).toEqual([])
    held = []
    expect(await notesOf([alert({ id: 101 })], ['critical'])).toEqual([])
    expect(await notesOf([alert({ id: 102, severity: 'info' })], ['critical'])).toEqual([])
    expect(await notesOf([alert({ id: 103, silence: 3 })], ['critical'])).toEqual([])
  })

  it('are one where many alerts are new', async () => {
    await looked([alert({ id: 200 })])
    const many = [201, 202, 203, 204].map((id) => alert({ id }))
    expect((await notesOf(many, ['critical'])).map(({ title }) => title)).toEqual(['4 new alerts'])
  })

  it('are explained where the browser blocks them', async () => {
    vi.stubGlobal('Notification', { permission: 'denied' })
    show(<NotifyButton />)
    await userEvent.click(screen.getByRole('button', { name: 'Notify me' }))
    expect(await screen.findByRole('alert')).toHaveTextContent('Your browser blocks notifications')
    expect(screen.getByRole('checkbox', { name: 'Critical' })).toBeDisabled()
    vi.unstubAllGlobals()
  })

  it('are asked for when the first severity is chosen', async () => {
    const ask = vi.fn(() => Promise.resolve('granted'))
    vi.stubGlobal('Notification', { permission: 'default', requestPermission: ask })
    show(<NotifyButton />)
    await userEvent.click(screen.getByRole('button', { name: 'Notify me' }))
    await userEvent.click(await screen.findByRole('checkbox', { name: 'Critical' }))
    expect(await screen.findByRole('button', { name: 'Notifications on' })).toBeVisible()
    expect(ask).toHaveBeenCalledOnce()
    vi.unstubAllGlobals()
  })
})
