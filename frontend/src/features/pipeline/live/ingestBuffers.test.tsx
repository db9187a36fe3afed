import { screen } from '@testing-library/react'
import type { IngestBuffer } from '@/api/types'
import { show } from '@/testing/render'
import { answersOf, IngestBuffers } from './IngestBuffers'

const ingestBuffer = (fields: Partial<IngestBuffer> = {}): IngestBuffer => ({
  source: 'shop',
  taken: 12_345,
  held: 10,
  capacity: 1_000,
  answers: { '503': 1, '200': 9 },
  held_up_by: '',
  failure: '',
  ...fields,
})

it('says what a source took in, how full its log is and what it answered', () => {
  show(<IngestBuffers ingest_buffers={[ingestBuffer()]} />)
  const row = screen.getByRole('row', { name: /shop/ })
  expect(row).toHaveTextContent('12,345')
  expect(row).toHaveTextContent('10 of 1,000 events')
  expect(row).toHaveTextContent('200: 9, 503: 1')
  expect(answersOf({ answers: {} })).toBe('–')
})

it('says in words that a log is nearly full, what holds it up, and that nobody takes events in', () => {
  show(
    <IngestBuffers
      ingest_buffers={[
        ingestBuffer({ held: 950, held_up_by: 'sinks.out' }),
        ingestBuffer({ source: 'clicks', failure: 'The port is taken.' }),
      ]}
    />,
  )
  expect(screen.getByRole('row', { name: /shop/ })).toHaveTextContent('nearly full')
  expect(screen.getByRole('row', { name: /shop/ })).toHaveTextContent('sinks.out')
  expect(screen.getByRole('row', { name: /clicks/ })).toHaveTextContent('The port is taken.')
})
