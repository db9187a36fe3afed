import { applyDensity, setDensity } from './preferences'

it('puts the density where styles find it, and keeps it for the next tab', () => {
  applyDensity()
  expect(document.documentElement.dataset.density).toBe('comfortable')
  setDensity('compact')
  expect(document.documentElement.dataset.density).toBe('compact')
  expect(localStorage.getItem('headgate.density')).toBe('compact')
  setDensity('comfortable')
})
