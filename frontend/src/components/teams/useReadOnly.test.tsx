import { screen } from '@testing-library/react'
import { keys } from '@/api/keys'
import { pipeline, READ_ONLY, READ_ONLY_WORDS, session } from '@/testing/factories'
import { show, testClient } from '@/testing/render'
import { useNoRights, useReadOnly, useRefusal } from './useReadOnly'

function Reason({ name }: { name: string }) {
  return <p>{useReadOnly(name) ?? 'may change'}</p>
}

function Both() {
  return (
    <p>
      {useReadOnly('ours')} / {useNoRights('ours') ?? 'allowed'}
    </p>
  )
}

function clientOf(roles: Record<string, string>) {
  const client = testClient()
  client.setQueryData(keys.session, { authenticated: true, role: 'operator', everywhere: null })
  client.setQueryData(
    keys.teams,
    Object.entries(roles).map(([team, role]) => ({ name: team, role })),
  )
  client.setQueryData(keys.pipelines, [
    pipeline({ name: 'ours', team: 'default' }),
    pipeline({ name: 'theirs', team: 'cobalt' }),
  ])
  client.setDefaultOptions({ queries: { staleTime: Infinity } })
  return client
}

it.each([
  ['ours', /^Your role in the team default is Viewer/],
  ['theirs', /^may change$/],
])('a viewer here and an operator there is told of %s what counts', async (name, words) => {
  show(<Reason name={name} />, clientOf({ default: 'viewer', cobalt: 'operator' }))
  expect(await screen.findByText(words)).toBeInTheDocument()
})

it.each([
  ['default', 'operator', /^Your role in the team default is Viewer/],
  ['cobalt', 'operator', null],
  ['cobalt', 'admin', /^Only administrators can do this/],
  [null, 'operator', /^The installation owns this/],
] as const)('of what %s owns, %s is refused or not', async (owner, needed, words) => {
  function Refusal() {
    return <p>{useRefusal(needed)(owner) ?? 'may change'}</p>
  }
  show(<Refusal />, clientOf({ default: 'viewer', cobalt: 'operator' }))
  expect(await screen.findByText(words ?? 'may change')).toBeInTheDocument()
})

it('an operator can change nothing of an installation that is read-only, and may still do what that allows', async () => {
  const client = testClient()
  client.setQueryData(keys.session, { ...session('operator'), read_only: READ_ONLY })
  client.setDefaultOptions({ queries: { staleTime: Infinity } })
  show(<Both />, client)
  expect(await screen.findByText(`${READ_ONLY_WORDS} / allowed`)).toBeInTheDocument()
})

it('a viewer is told of the role, which stays when the mode has ended', async () => {
  const client = testClient()
  client.setQueryData(keys.session, { ...session('viewer'), read_only: READ_ONLY })
  client.setDefaultOptions({ queries: { staleTime: Infinity } })
  show(<Reason name="ours" />, client)
  expect(await screen.findByText(/^Your role is Viewer/)).toBeInTheDocument()
})
