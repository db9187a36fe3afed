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
import { AlertCards } from './AlertCards'
import { SilenceDialog } from './SilenceDialog'
import { Silences } from './Silences'

const nothing = () => {}

beforeEach(() => {
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
    given.get('/silences', () => ({ results: [silence()], next: null }))
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
