import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { detail, session } from '@/testing/factories'
import { showRouted } from '@/testing/render'
import { given } from '@/testing/server'
import { MoreMenu } from './MoreMenu'

it('has the diagnostic bundle as a download, for viewers too', async () => {
  given.get('/session', () => session('viewer'))
  showRouted(<MoreMenu pipeline={detail()} />)
  await userEvent.click(await screen.findByRole('button', { name: 'More for orders' }))
  const item = await screen.findByRole('menuitem', { name: /Download diagnostics/ })
  expect(item).toHaveAttribute('href', '/api/v1/pipelines/orders/diagnostics')
  expect(item).toHaveAttribute('download')
})
