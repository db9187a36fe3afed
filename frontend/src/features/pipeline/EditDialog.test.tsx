import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import { detail } from '@/testing/factories'
import { show } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { EditDialog } from './EditDialog'

describe('two people who edit one pipeline', () => {
  it('the second is told, sees what the first wrote, keeps the own text, and decides', async () => {
    const theirs = detail({ description: 'Theirs', etag: '"4"' })
    const versions: (string | null)[] = []
    given.get('/pipelines/orders', () => theirs)
    given.patch('/pipelines/orders', (request) => {
      const version = request.headers.get('if-match')
      versions.push(version)
      return version === '"4"' ? theirs : problem(412, 'changed_meanwhile', 'Version 4 is newer.')
    })
    const closed = vi.fn()
    show(<EditDialog pipeline={detail()} onClose={closed} />)
    const field = await screen.findByLabelText('Description')
    await userEvent.type(field, 'Mine')
    await userEvent.click(screen.getByRole('button', { name: 'Save' }))

    expect(await screen.findByRole('alert')).toHaveTextContent('Nothing was saved')
    await userEvent.click(screen.getByRole('button', { name: 'Show current values' }))
    expect(await screen.findByText(/Theirs/)).toBeInTheDocument()
    expect(field).toHaveValue('Mine')

    await userEvent.click(screen.getByRole('button', { name: 'Save' }))
    await waitFor(() => expect(closed).toHaveBeenCalled())
    expect(versions).toEqual(['"3"', '"4"'])
  })

  it('a wrong label is named and nothing is sent', async () => {
    show(<EditDialog pipeline={detail()} onClose={() => {}} />)
    await userEvent.type(await screen.findByLabelText('Labels'), 'oops')
    await userEvent.click(screen.getByRole('button', { name: 'Save' }))
    expect(screen.getByText(/“oops” is not of the form/)).toBeInTheDocument()
  })
})
