import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import type { ChangeRequest } from '@/api/types'
import { ActionButtons } from '@/components/actions/ActionButtons'
import { DeleteDialog } from '@/components/actions/DeleteDialog'
import { operation, pipeline, session, T0 } from '@/testing/factories'
import { show } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { ChangeRequests } from './ChangeRequests'
import { OperationPanel } from './OperationPanel'

const REFUSED = 'This change (pause) of orders is governed: 2 other users have to approve it.'

function request(fields: Partial<ChangeRequest> = {}): ChangeRequest {
  return {
    id: 'r1',
    pipeline: 'orders',
    kind: 'stop',
    arguments: { drain: false },
    summary: '',
    reason: 'maintenance',
    state: 'AWAITING_APPROVAL',
    open: true,
    stale: false,
    frozen: [],
    hash: 'f00d',
    approvers_needed: 2,
    approvals_counted: 0,
    approvals: [],
    created_by: 'ben',
    created_at: T0,
    expires_at: T0,
    ended_by: '',
    ended_at: null,
    message: '',
    ...fields,
  }
}

const button = (name: string) => screen.findByRole('button', { name: `${name}: Stop, maintenance` })

/** Takes the request of any change, and shows what was sent. */
function refusing() {
  const asked = vi.fn()
  given.post('/pipelines/orders/change-requests', async (sent) => {
    asked(await sent.json())
    return request()
  })
  return asked
}

async function requestIt() {
  await userEvent.type(await screen.findByLabelText('Reason'), 'maintenance')
  await userEvent.click(screen.getByRole('button', { name: 'Request change' }))
  await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull())
}

function listed(fields: Partial<ChangeRequest> = {}) {
  given.get('/session', () => ({ ...session('operator'), user: 'ana' }))
  given.get('/change-requests', () => ({ results: [request(fields)], next: null }))
  show(<ChangeRequests name="orders" />)
}

describe('an action of a governed pipeline', () => {
  it('is requested from other users with a reason', async () => {
    const asked = vi.fn()
    given.get('/session', () => session('operator'))
    given.post('/pipelines/orders/pause', () => problem(409, 'approval_required', REFUSED))
    given.post('/pipelines/orders/change-requests', async (sent) => {
      asked(await sent.json())
      return request({ kind: 'pause' })
    })
    show(<ActionButtons pipeline={pipeline({}, ['pause'])} />)
    await userEvent.click(screen.getByRole('button', { name: 'Pause' }))
    expect(await screen.findByText(REFUSED)).toBeInTheDocument()
    expect(screen.queryByRole('button', { name: 'Break glass' })).toBeNull()
    await userEvent.type(screen.getByLabelText('Reason'), 'maintenance')
    await userEvent.click(screen.getByRole('button', { name: 'Request change' }))
    await waitFor(() =>
      expect(asked).toHaveBeenCalledWith({ kind: 'pause', arguments: {}, reason: 'maintenance' }),
    )
    await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull())
  })

  it('is made at once by an administrator who breaks glass', async () => {
    const asked = vi.fn()
    given.get('/session', () => session('admin'))
    given.post('/pipelines/orders/pause', () => problem(409, 'change_frozen', 'Frozen until Monday.'))
    given.post('/pipelines/orders/break-glass', async (sent) => {
      asked(await sent.json())
      return { pipeline: 'orders', kind: 'pause', operation: operation({ kind: 'pause' }) }
    })
    show(<ActionButtons pipeline={pipeline({}, ['pause'])} />)
    await userEvent.click(screen.getByRole('button', { name: 'Pause' }))
    await userEvent.type(await screen.findByLabelText('Reason'), 'the sink is flooded')
    await userEvent.click(await screen.findByRole('button', { name: 'Break glass' }))
    await waitFor(() =>
      expect(asked).toHaveBeenCalledWith({ kind: 'pause', arguments: {}, reason: 'the sink is flooded' }),
    )
  })

  it('is requested wherever it is offered', async () => {
    given.get('/session', () => session('operator'))
    const asked = refusing()
    given.post('/pipelines/orders/stop', () => problem(409, 'approval_required', REFUSED))
    const step = {
      name: 'draining',
      state: 'running' as const,
      message: '',
      started_at: null,
      ended_at: null,
    }
    const draining = operation({ kind: 'stop', steps: [step] })
    show(<OperationPanel operation={draining} pipeline={pipeline({}, ['force-stop'])} />)
    await userEvent.click(screen.getByRole('button', { name: 'Stop without draining' }))
    await requestIt()
    expect(asked).toHaveBeenCalledWith({ kind: 'stop', arguments: { drain: false }, reason: 'maintenance' })
  })
})

describe('the cancel of an operation of a governed pipeline', () => {
  beforeEach(() => given.get('/session', () => session('operator')))

  it('is requested by the operation', async () => {
    const asked = refusing()
    given.delete('/operations/op-1', () => problem(409, 'approval_required', REFUSED))
    show(<OperationPanel operation={operation({ kind: 'start' })} pipeline={pipeline()} />)
    await userEvent.click(screen.getByRole('button', { name: 'Cancel' }))
    await requestIt()
    expect(asked).toHaveBeenCalledWith({
      kind: 'cancel',
      arguments: { operation: 'op-1' },
      reason: 'maintenance',
    })
  })

  it('that is refused for another reason says so', async () => {
    given.delete('/operations/op-1', () => problem(409, 'operation_over', 'It has ended.'))
    show(<OperationPanel operation={operation({ kind: 'start' })} pipeline={pipeline()} />)
    await userEvent.click(screen.getByRole('button', { name: 'Cancel' }))
    expect(await screen.findByText('It has ended.')).toBeInTheDocument()
    expect(screen.queryByRole('button', { name: 'Request change' })).toBeNull()
  })
})

describe('the change requests of a pipeline', () => {
  it('are approved by the hash that was shown', async () => {
    const asked = vi.fn()
    listed()
    given.post('/pipelines/orders/change-requests/r1/approve', async (sent) => {
      asked(await sent.json())
      return request({ state: 'APPROVED' })
    })
    expect(await button('Apply')).toHaveAccessibleDescription('This change is not approved yet.')
    await userEvent.click(await button('Approve'))
    await waitFor(() => expect(asked).toHaveBeenCalledWith({ hash: 'f00d' }))
  })

  it('are not approved by their author', async () => {
    listed({ created_by: 'ana' })
    await waitFor(async () =>
      expect(await button('Approve')).toHaveAccessibleDescription(
        'You requested this change. Other users approve it.',
      ),
    )
  })

  it('that are approved are applied, unless a freeze or another change forbids it', async () => {
    const applied = vi.fn()
    listed({ state: 'APPROVED', approvals_counted: 2 })
    given.post('/pipelines/orders/change-requests/r1/apply', () => {
      applied()
      return { pipeline: 'orders', kind: 'stop', operation: null }
    })
    await userEvent.click(await button('Apply'))
    await waitFor(() => expect(applied).toHaveBeenCalled())
  })

  it('that are stale say what to do', async () => {
    listed({ state: 'APPROVED', stale: true })
    expect(await button('Apply')).toHaveAccessibleDescription(
      'The pipeline has changed since. Cancel the request, and request the change again.',
    )
  })

  it('are denied with a reason', async () => {
    const asked = vi.fn()
    listed()
    given.post('/pipelines/orders/change-requests/r1/deny', async (sent) => {
      asked(await sent.json())
      return request({ state: 'DENIED' })
    })
    await userEvent.click(await button('Deny'))
    await userEvent.type(await screen.findByLabelText('Reason'), 'not today')
    await userEvent.click(screen.getByRole('button', { name: 'Deny change' }))
    await waitFor(() => expect(asked).toHaveBeenCalledWith({ reason: 'not today' }))
  })

  it('take no place where there are none', async () => {
    given.get('/change-requests', () => ({ results: [], next: null }))
    const { container } = show(<ChangeRequests name="orders" />)
    await waitFor(() => expect(container.querySelector('section')).toBeNull())
  })
})

describe('a dialog whose change is governed', () => {
  it('leads to the request of exactly that change', async () => {
    const asked = vi.fn()
    given.get('/session', () => session('admin'))
    given.delete('/pipelines/orders', () => problem(409, 'approval_required', REFUSED))
    given.post('/pipelines/orders/change-requests', async (sent) => {
      asked(await sent.json())
      return request({ kind: 'delete' })
    })
    show(<DeleteDialog pipeline={pipeline()} onDeleted={vi.fn()} onClose={vi.fn()} />)
    await userEvent.type(screen.getByLabelText('Type orders to confirm'), 'orders')
    await userEvent.click(screen.getByRole('button', { name: 'Delete pipeline' }))
    await userEvent.click(await screen.findByRole('button', { name: 'Request this change…' }))
    await userEvent.type(await screen.findByLabelText('Reason'), 'not used')
    await userEvent.click(screen.getByRole('button', { name: 'Request change' }))
    await waitFor(() =>
      expect(asked).toHaveBeenCalledWith({ kind: 'delete', arguments: {}, reason: 'not used' }),
    )
  })
})
