import { screen, within } from '@testing-library/react'
import type { Evidence } from '@/api/migrations'
import { show } from '@/testing/render'
import { OutcomePanel } from './OutcomePanel'

const row = (
  figure: string,
  present: number | null,
  predicted: number | null,
  found: number | null,
  more = {},
) => ({
  ...{ source: 'shop', component: '', figure, present, predicted, found },
  ...more,
})
const counts = { records: 90, identical: 60, different: 10, only_old: 30, only_new: 0, kinds: {} }
const content = (more: Partial<Evidence['content']>) =>
  ({ outcome: [], shadow: null, ...more }) as unknown as Evidence['content']

const figure = (name: string) => within(screen.getByRole('region', { name }))
const widths = (name: string) =>
  [...screen.getByRole('region', { name }).querySelectorAll('[data-side]')].map(
    (bar) => (bar as HTMLElement).style.width,
  )

it('has a bar with its number for the present, the predicted and the found figure', () => {
  const filtered = row('filtered_share', 0.05, 0.38, 0.375, { component: 'sources.shop.interceptors[0]' })
  show(<OutcomePanel content={content({ outcome: [filtered, row('bytes_per_output', 400, null, 100)] })} />)
  const share = figure('Events filtered, sources.shop.interceptors[0]')
  expect(share.getAllByRole('definition').map(({ textContent }) => textContent)).toEqual([
    '5.0 %',
    '38.0 %',
    '37.5 %',
  ])
  expect(widths('Events filtered, sources.shop.interceptors[0]')).toEqual(['5%', '38%', '37.5%'])
  expect(widths('Bytes of an event delivered, shop')).toEqual(['100%', '0%', '25%'])
  expect(figure('Bytes of an event delivered, shop').getByText('–')).toBeInTheDocument()
})

it('shows the shadow comparison as shares of its events', () => {
  show(<OutcomePanel content={content({ shadow: { counts } })} />)
  expect(figure('Shadow comparison, 90 records').getByText('60 (60.0 %)')).toBeInTheDocument()
  expect(widths('Shadow comparison, 90 records')).toEqual(['60%', '10%', '30%', '0%'])
})

it('is not there where nothing is known', () => {
  show(<OutcomePanel content={content({ shadow: { counts: { ...counts, records: 0 } } })} />)
  expect(screen.queryByRole('heading')).toBeNull()
})
