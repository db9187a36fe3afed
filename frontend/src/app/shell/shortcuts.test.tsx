import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { FilterInput } from '@/components/ui/FilterInput'
import { pipeline, session } from '@/testing/factories'
import { showRouted } from '@/testing/render'
import { given } from '@/testing/server'
import { Shortcuts } from './Shortcuts'

beforeEach(() => {
  given.get('/session', () => session('operator'))
  given.get('/pipelines', () => ({
    results: [pipeline({ name: 'orders' }), pipeline({ name: 'clicks' })],
    next: null,
  }))
})

it('opens the palette by its keys, each time, and goes where one types', async () => {
  const { router } = showRouted(<Shortcuts />)
  await screen.findByRole('button', { name: /Go to/ })
  for (let time = 0; time < 2; time += 1) {
    await userEvent.keyboard('{Control>}k{/Control}')
    const field = await screen.findByRole('textbox', { name: 'Page, pipeline or command' })
    await userEvent.type(field, 'click')
    expect((await screen.findAllByRole('button', { name: /clicks/ }))[0]).toBeVisible()
    expect(screen.queryByRole('button', { name: /orders/ })).toBeNull()
    await userEvent.keyboard('{Enter}')
    await waitFor(() => expect(screen.queryByRole('textbox')).toBeNull())
    expect(router.history.location.pathname).toBe('/pipelines/clicks')
  }
})

it('shows the shortcuts, and finds the filter of the page', async () => {
  showRouted(
    <>
      <Shortcuts />
      <div id="content">
        <FilterInput label="Filter" placeholder="" value="" onChange={() => undefined} />
      </div>
    </>,
  )
  await screen.findByRole('button', { name: /Go to/ })
  await userEvent.keyboard('{Shift>}?{/Shift}')
  expect(await screen.findByRole('dialog', { name: 'Keyboard shortcuts' })).toBeVisible()
  await userEvent.keyboard('{Escape}')
  await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull())
  await userEvent.keyboard('/')
  expect(screen.getByLabelText('Filter')).toHaveFocus()
  expect(screen.getByLabelText('Filter')).toHaveValue('')
})
