import { screen } from '@testing-library/react'
import { keys } from '@/api/keys'
import { pipeline } from '@/testing/factories'
import { show, testClient } from '@/testing/render'
import { useReadOnly, useRefusal } from './useReadOnly'

function Reason({ name }: { name: string }) {
  return <p>{useReadOnly(name) ?? 'may change'}</p>
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
