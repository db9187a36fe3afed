import { fireEvent, screen, waitFor } from '@testing-library/react'
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
  await userEvent.click(screen.getByRole('radio', { name: 'A label' }))
  const button = screen.getByRole('button', { name: 'Freeze' })
  expect(button).toHaveAccessibleDescription('Write a label first.')
  await userEvent.type(screen.getByRole('textbox', { name: 'Label' }), 'tier:1')
  fireEvent.change(screen.getByLabelText('From'), { target: { value: '2026-12-01T08:00' } })
  fireEvent.change(screen.getByLabelText('Until'), { target: { value: '2026-12-01T07:00' } })
  expect(screen.getByRole('button', { name: 'Freeze' })).toHaveAccessibleDescription(/after it begins/)
  fireEvent.change(screen.getByLabelText('Until'), { target: { value: '2026-12-02T08:00' } })
  await userEvent.type(screen.getByLabelText('Reason'), 'The sale')
  await userEvent.click(screen.getByRole('button', { name: 'Freeze' }))
  await waitFor(() => expect(sent).toHaveBeenCalled())
  expect(sent.mock.calls[0]?.[0]).toMatchObject({ label: 'tier:1', pipeline: '', reason: 'The sale' })
})

it('ends a freeze; only administrators do', async () => {
  const ended = vi.fn()
  given.get('/freezes', () => ({ results: [freeze], next: null }))
  given.delete('/freezes/3', () => {
    ended()
    return new Response(null, { status: 204 })
  })
  const { unmount } = show(<FreezesPanel refused={null} />)
  expect(await screen.findByText('Frozen now')).toBeInTheDocument()
  await userEvent.click(screen.getByRole('button', { name: 'End it: the freeze of label tier:1, The sale' }))
  await waitFor(() => expect(ended).toHaveBeenCalled())
  unmount()
  show(<FreezesPanel refused="Only an administrator may do this." />)
  expect(await screen.findByRole('button', { name: 'Add a freeze' })).toHaveAccessibleDescription(
    'Only an administrator may do this.',
  )
})

it('sets how many people have to approve, of everything', async () => {
  const sent = vi.fn()
  given.post('/approval-policies', async (request) => {
    sent(await request.json())
    return {}
  })
  show(<PolicyDialog onClose={() => {}} />)
  await userEvent.click(screen.getByRole('button', { name: 'Set it' }))
  await waitFor(() =>
    expect(sent).toHaveBeenCalledWith({ label: '', pipeline: '', approvers: 1, expiry_seconds: 86_400 }),
  )
})

it('says that nobody else has to approve where no policy is set', async () => {
  given.get('/approval-policies', () => ({ results: [], next: null }))
  show(<PoliciesPanel refused={null} />)
  expect(await screen.findByText('Nobody else has to approve')).toBeInTheDocument()
})
