import { fireEvent, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import { T0 } from '@/testing/factories'
import { show } from '@/testing/render'
import { given } from '@/testing/server'
import { FreezeDialog } from './FreezeDialog'
import { FreezesPanel } from './FreezesPanel'
import { PoliciesPanel } from './PoliciesPanel'
import { PolicyDialog } from './PolicyDialog'

const freeze = {
  ...{ id: 3, label: 'tier:1', pipeline: '', reason: 'The sale', created_by: 'ana', created_at: T0 },
  starts_at: '2020-01-01T00:00:00Z',
  ends_at: '2120-01-01T00:00:00Z',
}

it('freezes a label for a time', async () => {
  const sent = vi.fn()
  given.post('/freezes', async (request) => {
    sent(await request.json())
    return freeze
  })
  show(<FreezeDialog onClose={() => {}} />)
  await userEvent.click(screen.getByRole('radio', { name: 'Label' }))
  const button = screen.getByRole('button', { name: 'Add freeze' })
  expect(button).toHaveAccessibleDescription('Enter a label first.')
  await userEvent.type(screen.getByRole('textbox', { name: 'Label' }), 'tier:1')
  fireEvent.change(screen.getByLabelText('From'), { target: { value: '2026-12-01T08:00' } })
  fireEvent.change(screen.getByLabelText('Until'), { target: { value: '2026-12-01T07:00' } })
  expect(screen.getByRole('button', { name: 'Add freeze' })).toHaveAccessibleDescription(/after the start/)
  fireEvent.change(screen.getByLabelText('Until'), { target: { value: '2026-12-02T08:00' } })
  await userEvent.type(screen.getByLabelText('Reason'), 'The sale')
  await userEvent.click(screen.getByRole('button', { name: 'Add freeze' }))
  await waitFor(() => expect(sent).toHaveBeenCalled())
  expect(sent.mock.calls[0]?.[0]).toMatchObject({ label: 'tier:1', pipeline: '', reason: 'The sale' })
})

const policy = {
  ...{ id: 5, label: '', pipeline: 'orders', approvers: 2, expiry_seconds: 86_400 },
  ...{ updated_by: 'ana', updated_at: T0 },
}

it('ends a freeze after a question; only administrators do', async () => {
  const ended = vi.fn()
  given.get('/freezes', () => ({ results: [freeze], next: null }))
  given.delete('/freezes/3', () => {
    ended()
    return new Response(null, { status: 204 })
  })
  const { unmount } = show(<FreezesPanel refused={null} />)
  expect(await screen.findByText('Active')).toBeInTheDocument()
  await userEvent.click(screen.getByRole('button', { name: 'End freeze: label tier:1, The sale' }))
  const dialog = await screen.findByRole('dialog', { name: 'End the freeze of label tier:1?' })
  expect(ended).not.toHaveBeenCalled()
  await userEvent.click(within(dialog).getByRole('button', { name: 'Show API call' }))
  expect(await within(dialog).findByText(/curl -X DELETE .*\/freezes\/3/)).toBeInTheDocument()
  await userEvent.click(within(dialog).getByRole('button', { name: 'End freeze' }))
  await waitFor(() => expect(ended).toHaveBeenCalled())
  await waitFor(() => expect(screen.queryByRole('dialog')).not.toBeInTheDocument())
  unmount()
  show(<FreezesPanel refused="Only administrators can do this." />)
  expect(await screen.findByRole('button', { name: 'Add freeze' })).toHaveAccessibleDescription(
    'Only administrators can do this.',
  )
})

it('has nothing to end of a freeze that is over', async () => {
  const past = { ...freeze, ends_at: '2020-01-02T00:00:00Z' }
  given.get('/freezes', () => ({ results: [past], next: null }))
  show(<FreezesPanel refused={null} />)
  expect(await screen.findByText('Ended')).toBeInTheDocument()
  expect(screen.queryByRole('button', { name: /^End freeze/ })).not.toBeInTheDocument()
})

it('removes a policy after a question', async () => {
  const removed = vi.fn()
  given.get('/approval-policies', () => ({ results: [policy], next: null }))
  given.delete('/approval-policies/5', () => {
    removed()
    return new Response(null, { status: 204 })
  })
  show(<PoliciesPanel refused={null} />)
  const remove = () => screen.getByRole('button', { name: 'Remove policy: orders' })
  await screen.findByText('orders')
  await userEvent.click(remove())
  const dialog = await screen.findByRole('dialog', { name: 'Remove the policy of orders?' })
  expect(dialog).toHaveTextContent('no longer need approval by 2 other users')
  await userEvent.click(within(dialog).getByRole('button', { name: 'Show API call' }))
  expect(await within(dialog).findByText(/approval-policies\/5/)).toBeInTheDocument()
  await userEvent.click(within(dialog).getByRole('button', { name: 'Keep it' }))
  expect(removed).not.toHaveBeenCalled()
  await userEvent.click(remove())
  const again = await screen.findByRole('dialog')
  await userEvent.click(within(again).getByRole('button', { name: 'Remove policy' }))
  await waitFor(() => expect(removed).toHaveBeenCalled())
})

it('sets how many people have to approve, of everything', async () => {
  const sent = vi.fn()
  given.post('/approval-policies', async (request) => {
    sent(await request.json())
    return {}
  })
  show(<PolicyDialog onClose={() => {}} />)
  await userEvent.click(screen.getByRole('button', { name: 'Set policy' }))
  await waitFor(() =>
    expect(sent).toHaveBeenCalledWith({ label: '', pipeline: '', approvers: 1, expiry_seconds: 86_400 }),
  )
})

it('says that nobody else has to approve where no policy is set', async () => {
  given.get('/approval-policies', () => ({ results: [], next: null }))
  show(<PoliciesPanel refused={null} />)
  expect(await screen.findByText('No approval policies')).toBeInTheDocument()
})
