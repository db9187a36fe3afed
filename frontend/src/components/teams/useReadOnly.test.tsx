import { screen } from '@testing-library/react'
import { keys } from '@/api/keys'
import { pipeline } from '@/testing/factories'
import { show, testClient } from '@/testing/render'
import { useReadOnly } from './useReadOnly'

function Reason({ name }: { name: string }) {
  return <p>{useReadOnly(name) ?? 'may change'}</p>
}

function shownFor(name: string, roles: Record<string, string>) {
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
  show(<Reason name={name} />, client)
}

it.each([
  ['ours', /^Your role in the team default is Viewer/],
  ['theirs', /^may change$/],
])('a viewer here and an operator there is told of %s what counts', async (name, words) => {
  shownFor(name, { default: 'viewer', cobalt: 'operator' })
  expect(await screen.findByText(words)).toBeInTheDocument()
})
