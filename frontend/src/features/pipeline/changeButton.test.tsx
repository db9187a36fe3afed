import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { detail, session } from '@/testing/factories'
import { showRouted } from '@/testing/render'
import { given } from '@/testing/server'
import { ChangeButton } from './ChangeButton'

const edit = (reason: string) => [{ name: 'edit' as const, allowed: !reason, reason, consequence: '' }]

it.each([
  ['a revision while the pipeline is stopped', '', '/pipelines/orders/edit'],
  ['a migration while it runs', 'It runs.', '/migrations/new?pipeline=orders&kind=revision'],
])('leads to %s', async (_, reason, place) => {
  given.get('/session', () => session('operator'))
  const { router } = showRouted(<ChangeButton pipeline={detail({ allowed_actions: edit(reason) })} />)
  await screen.findByRole('button', { name: 'Change' })
  await waitFor(() => expect(screen.getByRole('button')).not.toHaveAttribute('aria-disabled'))
  await userEvent.click(screen.getByRole('button'))
  await waitFor(() => expect(router.state.location.href).toBe(place))
})

it('is refused to viewers', async () => {
  given.get('/session', () => session('viewer'))
  showRouted(<ChangeButton pipeline={detail()} />)
  await waitFor(() => expect(screen.getByRole('button')).toHaveAttribute('aria-disabled', 'true'))
})
