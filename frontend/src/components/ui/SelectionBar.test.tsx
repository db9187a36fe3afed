import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import { show } from '@/testing/render'
import { SelectionBar } from './SelectionBar'

it('says how many rows are selected, and clears the selection', async () => {
  const cleared = vi.fn()
  show(
    <SelectionBar count={2} noun="pipeline" onClear={cleared}>
      <button type="button">Stop 2</button>
    </SelectionBar>,
  )
  const bar = await screen.findByRole('region', { name: 'Actions for the selected pipelines' })
  expect(bar).toHaveTextContent('2 pipelines selected')
  expect(screen.getByRole('button', { name: 'Stop 2' })).toBeVisible()
  await userEvent.click(screen.getByRole('button', { name: 'Clear selection' }))
  expect(cleared).toHaveBeenCalled()
})

it('is not there while nothing is selected', () => {
  show(
    <SelectionBar count={0} noun="alert" onClear={() => {}}>
      <p>Acknowledge</p>
    </SelectionBar>,
  )
  expect(screen.queryByText('Acknowledge')).toBeNull()
})
