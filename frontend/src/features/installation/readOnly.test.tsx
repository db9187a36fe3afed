import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { keys } from '@/api/keys'
import type { ReadOnlyMode } from '@/api/types'
import { session, T0 } from '@/testing/factories'
import { show, testClient } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { ReadOnlyPanel } from './ReadOnlyPanel'

const OFF: ReadOnlyMode = { read_only: false, source: null, reason: '', set_by: '', since: null, etag: '"4"' }
const ON: ReadOnlyMode = {
  ...{ read_only: true, source: 'administrator', reason: 'Upgrade to 2.0', set_by: 'root', since: T0 },
  etag: '"5"',
}

function open(mode: ReadOnlyMode, role: 'admin' | 'operator' = 'admin') {
  const who = session(role)
  given.get('/session', () => ({ ...who, read_only: mode.read_only ? mode : null }))
  given.get('/installation/read-only', () => mode)
  const client = testClient()
  client.setQueryData(keys.session, { ...who, read_only: mode.read_only ? mode : null })
  return show(<ReadOnlyPanel />, client)
}

it('turns the mode on with a reason, and against what was read', async () => {
  const sent: unknown[] = []
  given.put('/installation/read-only', async (request) => {
    sent.push(request.headers.get('If-Match'), await request.json())
    return ON
  })
  open(OFF)
  await userEvent.click(await screen.findByRole('button', { name: 'Make read-only' }))
  const submit = screen.getAllByRole('button', { name: 'Make read-only' }).at(-1)!
  expect(submit).toHaveAttribute('aria-disabled', 'true')
  await userEvent.type(screen.getByLabelText('Reason'), 'Upgrade to 2.0')
  await userEvent.click(screen.getAllByRole('button', { name: 'Make read-only' }).at(-1)!)
  await waitFor(() => expect(sent).toEqual(['"4"', { read_only: true, reason: 'Upgrade to 2.0' }]))
  await waitFor(() => expect(screen.queryByLabelText('Reason')).toBeNull())
})

it('turns it off although nothing else can be changed, and says who was faster', async () => {
  given.put('/installation/read-only', () =>
    problem(412, 'changed_meanwhile', 'The read-only mode was changed meanwhile: ana turned it off.'),
  )
  open(ON)
  expect(await screen.findByText(/set by root: “Upgrade to 2.0”/)).toBeVisible()
  await userEvent.click(await screen.findByRole('button', { name: 'Make writable' }))
  await userEvent.type(screen.getByLabelText('Reason'), 'Done')
  await userEvent.click(screen.getAllByRole('button', { name: 'Make writable' }).at(-1)!)
  expect(await screen.findByText(/ana turned it off/)).toBeVisible()
})

it.each([
  ['of an operator says who can', OFF, 'operator', 'Only administrators of all teams can do this.'],
  [
    'of a setting says where it ends',
    { ...ON, source: 'setting', set_by: 'the setting HEADGATE_READ_ONLY', since: null },
    'admin',
    'the setting HEADGATE_READ_ONLY decides. Remove it and restart the web servers.',
  ],
] as const)('a button %s', async (_, mode, role, words) => {
  open(mode, role)
  expect(await screen.findByRole('button', { name: /^Make/ })).toHaveAccessibleDescription(words)
})
