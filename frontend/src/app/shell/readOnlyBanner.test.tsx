import { screen } from '@testing-library/react'
import { vi } from 'vitest'
import { keys } from '@/api/keys'
import { READ_ONLY, session, T0 } from '@/testing/factories'
import { showRouted, testClient } from '@/testing/render'
import { given } from '@/testing/server'
import { ReadOnlyBanner } from './ReadOnlyBanner'

function open(mode: typeof READ_ONLY | null) {
  given.get('/session', () => ({ ...session(), read_only: mode }))
  return showRouted(<ReadOnlyBanner />)
}

it('says who has made the installation read-only, since when and why', async () => {
  open(READ_ONLY)
  const banner = await screen.findByRole('status')
  expect(banner).toHaveTextContent(/read-only since .*, set by root: “Upgrade to 2.0”. Pipelines continue/)
  expect(banner.querySelector('time')).toHaveAttribute('datetime', T0)
})

it('is not there while users can change things', async () => {
  const { client } = open(null)
  await vi.waitFor(() => expect(client.getQueryData(keys.session)).toBeDefined())
  expect(screen.queryByRole('status')).toBeNull()
})

it('reads again what can be done with pipelines when the mode changes', async () => {
  const client = testClient()
  client.setQueryData(keys.session, { ...session(), read_only: null })
  client.setQueryData(keys.pipelines, [])
  client.setQueryData(keys.hosts, [])
  given.get('/session', () => ({ ...session(), read_only: READ_ONLY }))
  showRouted(<ReadOnlyBanner />, client)
  await client.invalidateQueries({ queryKey: keys.session })
  await screen.findByRole('status')
  expect(client.getQueryState(keys.pipelines)?.isInvalidated).toBe(true)
  expect(client.getQueryState(keys.hosts)?.isInvalidated).toBe(false)
})
