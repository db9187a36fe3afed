import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import { delivery, READ_ONLY, READ_ONLY_WORDS, receiver, secret, session, team } from '@/testing/factories'
import { show, showRouted } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { Deliveries } from './Deliveries'
import { DeleteDialog } from './DeleteDialog'
import { ReceiverDialog } from './ReceiverDialog'
import { ReceiverTable } from './ReceiverTable'

const nothing = () => {}

beforeEach(() => inTeams('admin', 'default'))

/** `everywhere`: the role in all teams; null: only that of an administrator in each of these. */
function inTeams(everywhere: 'admin' | null, ...names: string[]) {
  given.get('/session', () => ({ ...session('admin'), everywhere }))
  given.get('/teams', () => ({ results: names.map((name) => team(name)), next: null }))
}

const table = (...receivers: ReturnType<typeof receiver>[]) =>
  showRouted(<ReceiverTable receivers={receivers} onEdit={nothing} onDelete={nothing} onPing={nothing} />)

async function choose(label: string, option: string) {
  await userEvent.click(screen.getByRole('combobox', { name: label }))
  await userEvent.click(await screen.findByRole('option', { name: option }))
}

describe('the form of a receiver', () => {
  beforeEach(() =>
    given.get('/secrets', () => ({
      results: ['hooks', 'hooks-2'].map((name) => secret({ name, purpose: 'receivers' })),
      next: null,
    })),
  )

  it('sends types and a reference to the secret', async () => {
    const asked = vi.fn()
    const closed = vi.fn()
    given.post('/receivers', async (request) => {
      asked(await request.json())
      return receiver()
    })
    show(<ReceiverDialog onClose={closed} />)
    expect(await screen.findByRole('button', { name: 'Add receiver' })).toHaveAccessibleDescription(
      'Enter the URL first.',
    )
    await userEvent.type(screen.getByLabelText('URL'), 'https://ops.example.com/hook')
    await userEvent.type(screen.getByLabelText('Events'), 'migration.*, alert.*')
    await choose('Secret', 'hooks')
    await userEvent.click(screen.getByRole('button', { name: 'Add receiver' }))
    await waitFor(() => expect(closed).toHaveBeenCalled())
    expect(asked).toHaveBeenCalledWith({
      kind: 'webhook',
      email: null,
      matchers: { pipelines: [], labels: [], rules: [], severities: [] },
      url: 'https://ops.example.com/hook',
      events: ['migration.*', 'alert.*'],
      secrets: ['${secret:hooks}'],
      description: '',
      enabled: true,
      team: null,
    })
  })

  it('is of the team that was chosen, with what is wrong at its field', async () => {
    const asked = vi.fn()
    inTeams(null, 'payments', 'risk')
    given.post('/receivers', async (request) => {
      asked(await request.json())
      return problem(422, 'receiver_invalid', 'The receiver is not valid.', {
        findings: [finding('team', 'It is closed.')],
      })
    })
    show(<ReceiverDialog onClose={nothing} />)
    await choose('Kind', 'Email')
    await userEvent.type(screen.getByLabelText('Recipients'), 'ana@example.com')
    const send = () => screen.getByRole('button', { name: 'Add receiver' })
    await waitFor(() => expect(send()).toHaveAccessibleDescription('Choose the team first.'))
    await userEvent.selectOptions(screen.getByLabelText('Team'), 'risk')
    await userEvent.click(send())
    await waitFor(() => expect(screen.getByLabelText('Team')).toHaveAccessibleDescription(/It is closed./))
    expect(asked.mock.calls[0]?.[0]).toMatchObject({ team: 'risk' })
    expect(screen.queryByRole('alert')).toBeNull()
  })

  it('adds a mailbox that gets critical alerts of a label', async () => {
    const asked = vi.fn()
    given.post('/receivers', async (request) => {
      asked(await request.json())
      return receiver({ kind: 'email' })
    })
    show(<ReceiverDialog onClose={nothing} />)
    await choose('Kind', 'Email')
    await userEvent.type(screen.getByLabelText('Recipients'), 'ana@example.com, ops@example.com')
    await userEvent.type(screen.getByLabelText('Labels'), 'team:shop floor, env')
    await userEvent.click(screen.getByRole('button', { name: 'Add receiver' }))
    await waitFor(() => expect(asked).toHaveBeenCalled())
    expect(asked.mock.calls[0]?.[0]).toMatchObject({
      kind: 'email',
      url: '',
      events: ['alert.opened', 'alert.resolved'],
      secrets: [],
      matchers: { labels: ['team:shop floor', 'env'] },
      email: { recipients: ['ana@example.com', 'ops@example.com'], host: '', port: 587 },
    })
  })

  it('keeps what the form does not show', async () => {
    const asked = vi.fn()
    given.patch('/receivers/:id', async (request) => {
      asked(await request.json())
      return receiver()
    })
    const own = { host: 'smtp.example.com', port: 465, tls: 'tls', user: 'u' }
    const kept = receiver({
      kind: 'email',
      url: '',
      email: { recipients: ['ana@example.com'], sender: '', ...own },
      matchers: { pipelines: ['orders'], labels: [], rules: ['lag'], severities: ['critical'] },
    })
    show(<ReceiverDialog receiver={kept} onClose={nothing} />)
    expect(screen.queryByLabelText('Team')).toBeNull()
    await userEvent.click(await screen.findByRole('button', { name: 'Save receiver' }))
    await waitFor(() => expect(asked).toHaveBeenCalled())
    expect(asked.mock.calls[0]?.[0]).toMatchObject({
      secrets: ['${secret:hooks}'],
      email: own,
      matchers: { pipelines: ['orders'], rules: ['lag'], severities: ['critical'] },
    })
    expect(asked.mock.calls[0]?.[0]).not.toHaveProperty('kind')
  })

  it('shows findings about what it has no field for', async () => {
    given.post('/receivers', () =>
      problem(422, 'receiver_invalid', 'The receiver is not valid.', {
        findings: [finding('email.host', 'No mail server is set.', 'Set HEADGATE_SMTP_HOST.')],
      }),
    )
    show(<ReceiverDialog onClose={nothing} />)
    await choose('Kind', 'Email')
    await userEvent.type(screen.getByLabelText('Recipients'), 'ana@example.com')
    await userEvent.click(screen.getByRole('button', { name: 'Add receiver' }))
    expect(await screen.findByRole('alert')).toHaveTextContent(
      'No mail server is set. Set HEADGATE_SMTP_HOST.',
    )
  })

  it('shows each finding at its field', async () => {
    given.post('/receivers', () =>
      problem(422, 'receiver_invalid', 'The receiver is not valid.', {
        findings: [
          finding('url', 'Receivers are sent with encryption alone.', 'Use https://.'),
          finding('events[0]', '"No" is no type of events.'),
          finding('secrets[0]', 'The secret hooks cannot sign.'),
        ],
      }),
    )
    show(<ReceiverDialog onClose={nothing} />)
    await userEvent.type(await screen.findByLabelText('URL'), 'http://ops')
    await userEvent.type(screen.getByLabelText('Events'), 'No')
    await choose('Secret', 'hooks')
    await userEvent.click(screen.getByRole('button', { name: 'Add receiver' }))
    await waitFor(() => expect(screen.getByLabelText('URL')).toBeInvalid())
    expect(screen.getByLabelText('URL')).toHaveAccessibleDescription(/encryption alone. Use https/)
    expect(screen.getByLabelText('Events')).toHaveAccessibleDescription(/is no type of events/)
    expect(screen.getByRole('combobox', { name: 'Secret' })).toHaveAccessibleDescription(/cannot sign/)
  })

  it('exchanges the secret with both for a while, and only of what was read', async () => {
    const asked = vi.fn()
    given.patch('/receivers/:id', async (request) => {
      asked(request.headers.get('If-Match'), await request.json())
      return receiver()
    })
    show(<ReceiverDialog receiver={receiver({ etag: '"7"' })} onClose={nothing} />)
    await screen.findByRole('button', { name: 'Save receiver' })
    await choose('Secret', 'hooks-2')
    await choose('Previous secret', 'hooks')
    await userEvent.click(screen.getByRole('button', { name: 'Save receiver' }))
    await waitFor(() => expect(asked).toHaveBeenCalled())
    const [match, body] = asked.mock.calls[0] as [string, object]
    expect(match).toBe('"7"')
    expect(body).toMatchObject({ secrets: ['${secret:hooks-2}', '${secret:hooks}'] })
    expect(body).not.toHaveProperty('enabled')
  })
})

function finding(path: string, message: string, suggestion = '') {
  return { path, code: 'c', message, suggestion, severity: 'error', line: null, column: null }
}

describe('the list of receivers', () => {
  it('says in words how an endpoint is doing', async () => {
    table(
      receiver({ id: 1, failing_since: '2026-11-21T12:00:00Z' }),
      receiver({ id: 2, enabled: false, disabled_reason: 'its server answers 410 Gone.' }),
      receiver({ id: 3, enabled: false }),
    )
    const rows = await screen.findAllByRole('row')
    expect(rows[1]).toHaveTextContent('Failing since')
    expect(rows[2]).toHaveTextContent('automatically: its server answers 410 Gone.')
    expect(rows[3]).toHaveTextContent('Disabled')
    expect(
      within(rows[3] as HTMLElement).getByRole('button', { name: 'Send test to receiver 3' }),
    ).toHaveAttribute('aria-disabled', 'true')
  })

  it('says whose each is where the user sees several teams', async () => {
    inTeams('admin', 'payments', 'risk')
    table(receiver({ id: 1, team: 'risk' }), receiver({ id: 2 }))
    expect(await screen.findByRole('columnheader', { name: 'Team' })).toBeVisible()
    const [, ofTeam, ofAll] = screen.getAllByRole('row')
    expect(ofTeam).toHaveTextContent('risk')
    expect(ofAll).toHaveTextContent('Installation')
  })

  it('tries an endpoint out and switches it off', async () => {
    const asked = vi.fn()
    given.post('/receivers/1/test', () => {
      asked('ping')
      return delivery({ type: 'webhook.ping', state: 'WAITING' })
    })
    given.patch('/receivers/1', async (request) => {
      asked(await request.json())
      return receiver({ enabled: false })
    })
    table(receiver())
    await waitFor(() =>
      expect(
        screen.getByRole('button', { name: 'Send test to receiver 1' }),
      ).not.toHaveAccessibleDescription(),
    )
    await userEvent.click(screen.getByRole('button', { name: 'Send test to receiver 1' }))
    await userEvent.click(screen.getByRole('button', { name: 'Disable receiver 1' }))
    await waitFor(() => expect(asked.mock.calls).toEqual([['ping'], [{ enabled: false }]]))
  })
})

describe('actions that cannot be taken', () => {
  const ROW = ['Send test to', 'Disable', 'Edit', 'Delete'].map((verb) => `${verb} receiver 1`)

  it('says so beforehand while the installation is read-only', async () => {
    given.get('/session', () => ({ ...session('admin'), read_only: READ_ONLY }))
    given.get('/receivers/1/deliveries', () => ({ results: [delivery({ state: 'FAILED' })], next: null }))
    table(receiver())
    for (const name of ROW)
      await waitFor(() =>
        expect(screen.getByRole('button', { name })).toHaveAccessibleDescription(READ_ONLY_WORDS),
      )
    showRouted(<Deliveries receiver={receiver()} onState={nothing} />)
    await waitFor(() =>
      expect(screen.getByRole('button', { name: /^Retry/ })).toHaveAccessibleDescription(READ_ONLY_WORDS),
    )
  })

  it('says so beforehand where the receiver is not of a team that the user administers', async () => {
    inTeams(null, 'risk')
    table(receiver({ id: 1, team: null }), receiver({ id: 2, team: 'risk' }))
    for (const name of ROW)
      await waitFor(() =>
        expect(screen.getByRole('button', { name })).toHaveAccessibleDescription(
          /The installation owns this/,
        ),
      )
    expect(screen.getByRole('button', { name: 'Edit receiver 2' })).not.toHaveAccessibleDescription()
  })
})

describe('deliveries', () => {
  it('shows what came of each and sends one again', async () => {
    const asked = vi.fn()
    given.get('/receivers/1/deliveries', () => ({
      results: [
        delivery({ id: 12, event: 9, state: 'FAILED', response_status: 503, last_error: 'It answers 503.' }),
        delivery({ id: 11, event: 8, state: 'SENDING' }),
      ],
      next: null,
    }))
    given.post('/receivers/1/deliveries/12/retry', () => {
      asked()
      return delivery({ id: 12, state: 'WAITING' })
    })
    showRouted(<Deliveries receiver={receiver()} onState={nothing} />)
    const [, failed, sending] = await screen.findAllByRole('row')
    expect(failed).toHaveTextContent('Failed1503It answers 503.')
    await waitFor(() =>
      expect(
        within(sending as HTMLElement).getByRole('button', { name: 'Retry alert.opened of event 8' }),
      ).toHaveAccessibleDescription('A delivery is in progress.'),
    )
    await userEvent.click(screen.getByRole('button', { name: 'Retry alert.opened of event 9' }))
    await waitFor(() => expect(asked).toHaveBeenCalled())
  })

  it('cannot be sent again while the receiver is off', async () => {
    given.get('/receivers/1/deliveries', () => ({ results: [delivery()], next: null }))
    showRouted(<Deliveries receiver={receiver({ enabled: false })} onState={nothing} />)
    await waitFor(() =>
      expect(screen.getByRole('button', { name: /^Send again alert/ })).toHaveAccessibleDescription(
        'The receiver is disabled.',
      ),
    )
  })
})

describe('deleting a receiver', () => {
  it('says what goes with it', async () => {
    const closed = vi.fn()
    given.delete('/receivers/1', () => new Response(null, { status: 204 }))
    show(<DeleteDialog receiver={receiver()} onClose={closed} />)
    expect(await screen.findByText(/its deliveries are deleted/)).toBeVisible()
    await userEvent.click(screen.getByRole('button', { name: 'Delete receiver' }))
    await waitFor(() => expect(closed).toHaveBeenCalled())
  })
})
