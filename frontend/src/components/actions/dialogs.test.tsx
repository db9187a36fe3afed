import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import { operation, pipeline } from '@/testing/factories'
import { show } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { ActionButtons } from './ActionButtons'
import { DeleteDialog } from './DeleteDialog'
import { ForceStopDialog } from './ForceStopDialog'

describe('the action buttons', () => {
  it('keep a refused action reachable and say why', async () => {
    show(<ActionButtons pipeline={pipeline({}, ['pause'])} />)
    const start = screen.getByRole('button', { name: 'Start' })
    expect(start).toHaveAttribute('aria-disabled', 'true')
    expect(start).toHaveAccessibleDescription('No start now.')
    expect(start).not.toBeDisabled()
    await userEvent.click(start)
  })

  it('send a pause at once, with a key that makes a repeat harmless', async () => {
    const asked = vi.fn()
    given.post('/pipelines/orders/pause', (request) => {
      asked(request.headers.get('idempotency-key'))
      return operation()
    })
    show(<ActionButtons pipeline={pipeline()} />)
    await userEvent.click(screen.getByRole('button', { name: 'Pause' }))
    await waitFor(() => expect(asked).toHaveBeenCalledWith(expect.stringMatching(/^[0-9a-f]{32}$/)))
  })

  it('ask once before a stop and send how it shall be done', async () => {
    const asked = vi.fn()
    given.post('/pipelines/orders/stop', async (request) => {
      asked(await request.json())
      return operation({ kind: 'stop' })
    })
    show(<ActionButtons pipeline={pipeline()} />)
    await userEvent.click(screen.getByRole('button', { name: 'Stop' }))
    expect(asked).not.toHaveBeenCalled()
    await userEvent.click(await screen.findByRole('radio', { name: /Stop now/ }))
    await userEvent.click(screen.getByRole('button', { name: 'Stop now' }))
    await waitFor(() => expect(asked).toHaveBeenCalledWith({ drain: false }))
  })

  it('offer to go on as it was where the batch in hand does not end in time', async () => {
    const asked = vi.fn()
    given.post('/pipelines/orders/stop', async (request) => {
      asked(await request.json())
      return operation({ kind: 'stop' })
    })
    show(<ActionButtons pipeline={pipeline()} />)
    await userEvent.click(screen.getByRole('button', { name: 'Stop' }))
    await userEvent.click(await screen.findByRole('radio', { name: /or continue running/ }))
    await userEvent.click(screen.getByRole('button', { name: 'Drain and stop' }))
    await waitFor(() => expect(asked).toHaveBeenCalledWith({ drain: true, on_timeout: 'abort' }))
  })

  it('ask before a restart, which is given up where the batch in hand does not end unless a stop is chosen', async () => {
    const asked = vi.fn()
    given.post('/pipelines/orders/restart', async (request) => {
      asked(await request.json())
      return operation({ kind: 'restart' })
    })
    show(<ActionButtons pipeline={pipeline()} />)
    for (const how of [/or continue running/, /then stop/]) {
      await userEvent.click(screen.getByRole('button', { name: 'Restart' }))
      await userEvent.click(await screen.findByRole('radio', { name: how }))
      await userEvent.click(within(screen.getByRole('dialog')).getByRole('button', { name: 'Restart' }))
      await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull())
    }
    expect(asked.mock.calls).toEqual([[{ on_timeout: 'abort' }], [{ on_timeout: 'stop' }]])
  })

  it('show the reason of a refusal that came while the page was out of date', async () => {
    given.post('/pipelines/orders/pause', () => problem(409, 'not_possible', 'It is being restarted.'))
    show(<ActionButtons pipeline={pipeline()} />)
    await userEvent.click(screen.getByRole('button', { name: 'Pause' }))
    expect(await screen.findByText(/It is being restarted\./)).toBeInTheDocument()
  })
})

describe('a stop by force', () => {
  it('says what comes of it and needs the typed name', async () => {
    const asked = vi.fn()
    const closed = vi.fn()
    given.post('/pipelines/orders/force-stop', () => {
      asked()
      return operation({ kind: 'force-stop' })
    })
    show(<ForceStopDialog pipeline={pipeline({}, ['force-stop'])} onClose={closed} />)
    expect(await screen.findByText(/The in-flight batch is cancelled\./)).toBeInTheDocument()
    await userEvent.click(screen.getByRole('button', { name: 'Force stop' }))
    expect(asked).not.toHaveBeenCalled()
    await userEvent.type(screen.getByLabelText('Type orders to confirm'), 'orders')
    await userEvent.click(screen.getByRole('button', { name: 'Force stop' }))
    await waitFor(() => expect(closed).toHaveBeenCalled())
    expect(asked).toHaveBeenCalledOnce()
  })

  it('that makes no sense any more says why', async () => {
    show(<ForceStopDialog pipeline={pipeline({}, [])} onClose={() => {}} />)
    await userEvent.type(await screen.findByLabelText('Type orders to confirm'), 'orders')
    expect(screen.getByRole('button', { name: 'Force stop' })).toHaveAccessibleDescription(
      'No force-stop now.',
    )
  })
})

describe('deleting', () => {
  it('needs the typed name and sends the version that was seen', async () => {
    const deleted = vi.fn()
    const done = vi.fn()
    given.delete('/pipelines/orders', (request) => {
      deleted(request.headers.get('if-match'))
      return new Response(null, { status: 204 })
    })
    show(<DeleteDialog pipeline={pipeline()} onDeleted={done} onClose={() => {}} />)
    const button = await screen.findByRole('button', { name: 'Delete pipeline' })
    await userEvent.click(button)
    expect(deleted).not.toHaveBeenCalled()
    await userEvent.type(screen.getByLabelText('Type orders to confirm'), 'orders')
    await userEvent.click(screen.getByRole('button', { name: 'Delete pipeline' }))
    await waitFor(() => expect(done).toHaveBeenCalled())
    expect(deleted).toHaveBeenCalledWith('"3"')
  })
})
