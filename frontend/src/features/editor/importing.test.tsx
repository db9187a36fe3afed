import { fireEvent, screen, waitFor } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, it, vi } from 'vitest'
import { show } from '@/testing/render'
import { server } from '@/testing/server'
import { commented, ImportDialog, systemOf } from './ImportDialog'

const MADE = {
  definition: {},
  definition_yaml: 'name: orders\n',
  valid: false,
  findings: [
    {
      path: 'sinks.out',
      code: 'columns_needed',
      message: 'Columns name theirs.',
      suggestion: 'Write columns.',
      severity: 'error',
      line: 7,
      column: null,
      key: 'fields.whitelist',
      done: 'Decide.',
    },
  ],
} as const

it('tells the systems apart by their text', () => {
  expect(systemOf('{"name": "x"}')).toBe('connect')
  expect(systemOf('name=x\nconnector.class=FileStreamSink')).toBe('connect')
  expect(systemOf('a.sources = s')).toBe('flume')
})

it('keeps what is to be decided as comments', () => {
  expect(commented({ ...MADE, findings: [...MADE.findings] })).toBe(
    '# To decide, from the import:\n# sinks.out: Columns name theirs. Write columns.\nname: orders\n',
  )
  expect(commented({ ...MADE, findings: [] })).toBe('name: orders\n')
})

it('converts a connector and gives it to the editor with its findings', async () => {
  const sent = vi.fn<(body: unknown) => void>()
  server.use(
    http.post('*/api/v1/imports/connect', async ({ request }) => {
      sent(await request.json())
      return HttpResponse.json(MADE)
    }),
  )
  const onUse = vi.fn<(text: string) => void>()
  show(<ImportDialog onUse={onUse} onClose={() => {}} />)
  fireEvent.change(screen.getByLabelText('Configuration'), { target: { value: '{"connector.class": "x"}' } })
  fireEvent.change(screen.getByLabelText('Bootstrap servers'), { target: { value: 'b:9092' } })
  fireEvent.click(screen.getByRole('button', { name: 'Convert configuration' }))
  expect(await screen.findByText(/1 error to decide/)).toBeInTheDocument()
  expect(screen.getByText('fields.whitelist, line 7')).toBeInTheDocument()
  expect(sent).toHaveBeenCalledWith({
    text: '{"connector.class": "x"}',
    connector: null,
    bootstrap_servers: 'b:9092',
  })
  fireEvent.click(screen.getByRole('button', { name: 'Open in the editor' }))
  await waitFor(() => expect(onUse).toHaveBeenCalledWith(expect.stringContaining('name: orders')))
})
