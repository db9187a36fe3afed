import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import { deadLetter, operation } from '@/testing/factories'
import { show } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { Causes } from './Causes'
import { DeadLetterDrawer } from './DeadLetterDrawer'
import { DeadLetterTable } from './DeadLetterTable'
import { ReplayDialog } from './ReplayDialog'

const PATH = '/pipelines/orders/dead-letters'

function open(fields = {}, readOnly: string | null = null) {
  const onClose = vi.fn()
  given.get(`${PATH}/abc1`, () => deadLetter(fields))
  show(<DeadLetterDrawer name="orders" id="abc1" readOnly={readOnly} onClose={onClose} />)
  return onClose
}

describe('one dead letter', () => {
  it('shows what was wrong, where it came from, its headers and its body', async () => {
    open({ headers: [{ name: 'country', value: null, value_base64: '/w==' }] })
    expect(await screen.findByText('too large')).toBeInTheDocument()
    expect(screen.getByText(/orders-in\/0@7/)).toBeInTheDocument()
    expect(screen.getByText('/w== (base64)')).toBeInTheDocument()
    expect(screen.getByLabelText('Body')).toHaveTextContent('hello')
  })

  it('is repaired in place and sent, and the drawer closes', async () => {
    const sent: unknown[] = []
    given.post(`${PATH}/retry`, async (request) => {
      sent.push(await request.json())
      return operation({ kind: 'retry' })
    })
    const onClose = open()
    await userEvent.click(await screen.findByRole('button', { name: 'Retry' }))
    const body = await screen.findByRole('textbox', { name: 'Body' })
    await userEvent.clear(body)
    await userEvent.type(body, 'mended')
    await userEvent.click(screen.getByRole('button', { name: 'Edit and retry' }))
    await waitFor(() => expect(onClose).toHaveBeenCalled())
    expect(sent).toEqual([
      expect.objectContaining({
        ids: null,
        repair: { id: 'abc1', body: 'mended', body_base64: null, headers: null },
      }),
    ])
  })

  it('cannot be edited where it is longer than what is shown, and says how to', async () => {
    open({ truncated: true, size: 70_000 })
    await userEvent.click(await screen.findByRole('button', { name: 'Retry' }))
    expect(await screen.findByText(/retry --body FILE/)).toBeInTheDocument()
    expect(screen.queryByRole('textbox')).not.toBeInTheDocument()
  })

  it('that was replayed offers nothing more, and says why', async () => {
    open({ state: 'RETRIED' })
    const button = await screen.findByRole('button', { name: 'Discard' })
    expect(button).toHaveAttribute('aria-disabled', 'true')
    expect(button).toHaveAccessibleDescription('This dead letter is retried already.')
  })

  it('is discarded with a reason', async () => {
    const sent: unknown[] = []
    given.post(`${PATH}/discard`, async (request) => {
      sent.push(await request.json())
      return { discarded: 1 }
    })
    const onClose = open()
    await userEvent.click(await screen.findByRole('button', { name: 'Discard' }))
    await userEvent.type(await screen.findByLabelText(/Reason/), 'a test')
    await userEvent.click(screen.getByRole('button', { name: 'Discard dead letter' }))
    await waitFor(() => expect(onClose).toHaveBeenCalled())
    expect(sent).toEqual([{ ids: ['abc1'], reason: 'a test' }])
  })

  it('keeps its content from a viewer and asks for nothing', () => {
    show(<DeadLetterDrawer name="orders" id="abc1" readOnly="Your role is viewer." onClose={() => {}} />)
    expect(screen.getByText(/The content is untrusted data. Your role is viewer./)).toBeInTheDocument()
  })
})

describe('many dead letters', () => {
  it('are replayed by cause at a rate, and a refusal stays on the dialog', async () => {
    const sent: unknown[] = []
    given.post(`${PATH}/retry`, async (request) => {
      sent.push(await request.json())
      return problem(409, 'not_replayable', 'shop does not read the topic orders-in any more.')
    })
    const onClose = vi.fn()
    show(<ReplayDialog name="orders" filter={{ cause: 'too large' }} onClose={onClose} />)
    await userEvent.click(await screen.findByRole('button', { name: 'Retry dead letters' }))
    expect(await screen.findByRole('alert')).toHaveTextContent('does not read the topic')
    expect(sent).toEqual([
      expect.objectContaining({
        filter: { component: null, cause: 'too large', source: null, since: null },
        rate: 100,
      }),
    ])
    expect(onClose).not.toHaveBeenCalled()
  })

  it('say in the list which were replayed, are being replayed, or may have been', () => {
    const deadLetters = [
      deadLetter({ id: 'a', state: 'RETRIED' }),
      deadLetter({ id: 'b', operation: 'op-1' }),
      deadLetter({ id: 'c', in_doubt: true }),
    ]
    show(<DeadLetterTable deadLetters={deadLetters} onShow={() => {}} />)
    for (const word of ['Retried', 'Retrying', 'In doubt']) expect(screen.getByText(word)).toBeInTheDocument()
  })

  it('are summed up by cause, and a cause narrows the list', async () => {
    const cause = { component: 'sinks.lake', cause: 'too large', dead_letters: 3, first_at: T, last_at: T }
    const onChoose = vi.fn()
    const summary = { new: 3, retried: 1, discarded: 0, causes: [cause], more_causes: false }
    show(<Causes summary={summary} onChoose={onChoose} />)
    expect(screen.getByText('3 new dead letters; 1 retried, 0 discarded')).toBeInTheDocument()
    await userEvent.click(screen.getByRole('button', { name: 'Show dead letters of sinks.lake: too large' }))
    expect(onChoose).toHaveBeenCalledWith(cause)
  })
})

const T = '2026-11-21T12:00:00Z'
