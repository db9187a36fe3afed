import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import { pipeline, session } from '@/testing/factories'
import { show, showRouted } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { PipelineRow } from './PipelineRow'
import { RowActions } from './RowActions'

describe('an action of a row', () => {
  it('that is governed is requested from other users', async () => {
    const asked = vi.fn()
    given.get('/session', () => session('operator'))
    given.post('/pipelines/orders/pause', () => problem(409, 'approval_required', 'It is governed.'))
    given.post('/pipelines/orders/change-requests', async (sent) => {
      asked(await sent.json())
      return {}
    })
    show(<RowActions pipeline={pipeline()} />)
    await userEvent.click(screen.getByRole('button', { name: 'Actions for orders' }))
    await userEvent.click(await screen.findByRole('menuitem', { name: 'Pause' }))
    await userEvent.type(await screen.findByLabelText('Reason'), 'maintenance')
    await userEvent.click(screen.getByRole('button', { name: 'Request change' }))
    await waitFor(() =>
      expect(asked).toHaveBeenCalledWith({ kind: 'pause', arguments: {}, reason: 'maintenance' }),
    )
  })
})

it('tells in full what its narrow cells may cut off', async () => {
  const row = {
    ...{ index: 0, selected: false, favourite: false, onToggle: vi.fn(), onStar: vi.fn() },
    pipeline: pipeline({ description: 'Cleaned', labels: { tier: 'gold' }, host: 'alpha' }),
  }
  showRouted(
    <table>
      <tbody>
        <PipelineRow {...row} />
      </tbody>
    </table>,
  )
  const name = await screen.findByRole('link', { name: 'orders' })
  expect(name.closest('td')).toHaveAttribute('title', 'orders\ntier:gold\nCleaned')
  expect(screen.getByText('alpha')).toHaveAttribute('title', 'alpha')
})
