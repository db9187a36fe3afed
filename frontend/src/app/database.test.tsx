import { useMutation, useQuery } from '@tanstack/react-query'
import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { logIn } from '@/api/session'
import { pipelinesQuery } from '@/api/pipelines'
import { Problem, Unreachable } from '@/api/problem'
import { retry, retryDelay } from './queryClient'
import { show } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { DatabaseBanner } from '@/components/ui/DatabaseBanner'
import { ErrorNote } from '@/components/ui/Feedback'

const away = () => problem(503, 'database_unavailable', 'The database cannot be used: it is locked.')

function List() {
  const { data, refetch } = useQuery(pipelinesQuery)
  return (
    <>
      <DatabaseBanner />
      <button onClick={() => void refetch()}>Refresh</button>
      {data && 'Loaded'}
    </>
  )
}

function Form() {
  const [name, setName] = useState('')
  const save = useMutation({ mutationFn: (user: string) => logIn(user, 'x') })
  return (
    <>
      <input aria-label="Name" value={name} onChange={(event) => setName(event.target.value)} />
      <button onClick={() => save.mutate(name)}>Save</button>
      {save.error && <ErrorNote error={save.error} />}
      {save.isSuccess && 'Saved'}
    </>
  )
}

it('a page says that the database is unavailable until an answer shows otherwise', async () => {
  given.get('/pipelines', away)
  show(<List />)
  expect(await screen.findByRole('alert')).toHaveTextContent('The database is unavailable.')
  given.get('/pipelines', () => ({ results: [], next: null }))
  await userEvent.click(screen.getByRole('button', { name: 'Refresh' }))
  expect(await screen.findByText(/Loaded/)).toBeInTheDocument()
  expect(screen.queryByRole('alert')).not.toBeInTheDocument()
})

it('reads are repeated with growing pauses until the database answers, refusals are not', () => {
  const unavailable = new Problem(503, { code: 'database_unavailable' })
  expect([0, 5, 500].map((failures) => retry(failures, unavailable))).toEqual([true, true, true])
  expect(retry(2, new Problem(503, { code: 'host_silent' }))).toBe(false)
  expect(retry(0, new Problem(404, {}))).toBe(false)
  expect([retry(0, new Unreachable()), retry(2, new Unreachable())]).toEqual([true, false])
  expect([0, 1, 2, 10].map(retryDelay)).toEqual([1_000, 2_000, 4_000, 15_000])
})

it('a change keeps what was entered and is requested again with one click', async () => {
  given.post('/session', away)
  show(<Form />)
  await userEvent.type(screen.getByLabelText('Name'), 'ana')
  await userEvent.click(screen.getByRole('button', { name: 'Save' }))
  expect(await screen.findByRole('alert')).toHaveTextContent('it is locked')
  expect(screen.getByLabelText('Name')).toHaveValue('ana')
  const asked: unknown[] = []
  given.post('/session', async (request) => {
    asked.push(await request.json())
    return {
      authenticated: true,
      user: 'ana',
      role: 'admin',
      csrf_token: 'b',
      provider: null,
      problem: null,
      waits_for_code: false,
      passkeys: false,
      enrolment_required: false,
      proof: null,
    }
  })
  await userEvent.click(screen.getByRole('button', { name: 'Try again' }))
  await waitFor(() => expect(screen.getByText(/Saved/)).toBeInTheDocument())
  expect(asked).toEqual([{ username: 'ana', password: 'x' }])
})

it('a refusal offers nothing to try again', async () => {
  given.post('/session', () => problem(401, 'bad_credentials', 'Wrong.'))
  show(<Form />)
  await userEvent.click(screen.getByRole('button', { name: 'Save' }))
  expect(await screen.findByRole('alert')).toHaveTextContent('Wrong.')
  expect(screen.queryByRole('button', { name: 'Try again' })).not.toBeInTheDocument()
})
