import { screen } from '@testing-library/react'
import { migration, T0 } from '@/testing/factories'
import { showRouted } from '@/testing/render'
import { given } from '@/testing/server'
import { MigrationsWaiting } from './MigrationsWaiting'

it('finds those that wait longest behind the first page', async () => {
  const stuck = migration({ pipeline: 'stuck', stage: 'NEEDS_ATTENTION', stage_since: T0 })
  const pages: Record<string, object> = {
    '': { results: Array.from({ length: 50 }, (_, row) => migration({ id: `m${row}` })), next: 'older' },
    older: { results: [stuck], next: null },
  }
  given.get('/migrations', ({ url }) => {
    const { searchParams } = new URL(url)
    expect(searchParams.get('state')).toBe('open')
    return pages[searchParams.get('cursor') ?? '']
  })
  showRouted(<MigrationsWaiting />)
  expect(await screen.findByText('51 migrations')).toBeInTheDocument()
  expect(screen.getAllByRole('listitem')[0]).toHaveTextContent('stuck')
  expect(screen.getByRole('link', { name: 'Show all 51' })).toBeInTheDocument()
})
