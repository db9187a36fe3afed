import { router } from './router'

it('reads from the address what a new migration begins with', () => {
  const { validateSearch } = router.routesByPath['/migrations/new'].options
  const read = validateSearch as (search: object) => object
  const search = { pipeline: 'orders', kind: 'host', host: 'beta', from: '0b7f3c52' }
  expect(read({ ...search, other: 1 })).toEqual(search)
  expect(read({ kind: 'none', from: '' })).toEqual({})
})
