import { useQuery } from '@tanstack/react-query'
import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { hostsQuery } from '@/api/hosts'
import { ErrorNote, Unread } from '@/components/ui/Feedback'
import { show } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { ReadBanner } from './ReadBanner'

const failure = () => problem(500, 'boom', 'The server failed.')

/** Something that says nothing of a failure by itself, unless it `tells`. */
function Hosts({ tells = false }: { tells?: boolean }) {
  const query = useQuery(hostsQuery)
  return (
    <>
      <ReadBanner />
      <p>{query.data?.length ?? 'no'} hosts</p>
      <button onClick={() => void query.refetch()}>Refresh</button>
      {tells && query.error && <ErrorNote error={query.error} />}
    </>
  )
}

it('tells of a request that failed and shows nowhere else, until it succeeds', async () => {
  given.get('/hosts', failure)
  show(<Hosts />)
  expect(await screen.findByRole('alert')).toHaveTextContent(
    /^1 part of this page could not be read\. The server failed\./,
  )
  given.get('/hosts', () => [])
  await userEvent.click(screen.getByRole('button', { name: 'Try again' }))
  expect(await screen.findByText('0 hosts')).toBeInTheDocument()
  expect(screen.queryByRole('alert')).toBeNull()
})

it('says from when that is what is still shown', async () => {
  given.get('/hosts', () => [])
  show(<Hosts />)
  await screen.findByText('0 hosts')
  given.get('/hosts', failure)
  await userEvent.click(screen.getByRole('button', { name: 'Refresh' }))
  expect(await screen.findByRole('alert')).toHaveTextContent(/What is shown of it is from \d\d:\d\d:\d\d\./)
  expect(screen.getByText('0 hosts')).toBeInTheDocument()
})

it('leaves to its place what is told there, and a refusal to the page', async () => {
  given.get('/hosts', failure)
  const { unmount } = show(<Hosts tells />)
  await waitFor(() => expect(screen.getAllByRole('alert')).toHaveLength(1))
  expect(screen.queryByText(/of this page could not be read/)).toBeNull()
  unmount()
  given.get('/hosts', () => problem(403, 'forbidden', 'Not yours.'))
  show(<Hosts />)
  await waitFor(() => expect(screen.getByText('no hosts')).toBeInTheDocument())
  expect(screen.queryByRole('alert')).toBeNull()
})

it('what is not read yet is loading, and what could not be read has its cause and a way to try again', async () => {
  function Names() {
    const query = useQuery(hostsQuery)
    return query.data ? <p>{query.data.length} hosts</p> : <Unread query={query} what="hosts" />
  }
  given.get('/hosts', failure)
  show(<Names />)
  expect(screen.getByRole('status', { name: 'Loading hosts' })).toBeInTheDocument()
  expect(await screen.findByText(/The hosts could not be read. The server failed./)).toBeInTheDocument()
  given.get('/hosts', () => [])
  await userEvent.click(screen.getByRole('button', { name: 'Try again' }))
  expect(await screen.findByText('0 hosts')).toBeInTheDocument()
})
