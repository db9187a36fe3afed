import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import type { Finding } from '@/api/types'
import { pipeline, run, session, status } from '@/testing/factories'
import { show, showRouted } from '@/testing/render'
import { given } from '@/testing/server'
import { Decisions } from './Decisions'
import { openQuestions } from './open'

const finding = (code: string): Finding => ({
  path: '',
  code,
  message: '',
  suggestion: '',
  severity: 'error',
  line: null,
  column: null,
})
const behind = status({ findings: [finding('DATABASE_BEHIND')] })
const silent = pipeline({ phase: 'UNKNOWN', phase_reason: 'host_lost' })

async function confirm(act: string) {
  const dialog = within(screen.getByRole('dialog'))
  await userEvent.type(dialog.getByLabelText('Type orders to confirm'), 'orders')
  await userEvent.click(dialog.getByRole('button', { name: act }))
}

it('the questions that stand open are those that the server has put', () => {
  const choice = { to: 'earliest', skip: 0, replay: 4, recommended: true, reason: 'Fewest.', partitions: [] }
  expect(openQuestions(pipeline(), status())).toEqual([])
  expect(openQuestions(pipeline(), status({ choices: [choice] }))).toEqual(['positions'])
  expect(openQuestions(pipeline(), status({ findings: [finding('CRASH_LOOP')] }))).toEqual(['quarantine'])
  expect(openQuestions(pipeline(), behind)).toEqual(['reconcile'])
  expect(openQuestions(pipeline({ phase: 'UNKNOWN', phase_reason: 'database_behind' }), status())).toEqual([
    'reconcile',
  ])
  expect(openQuestions(silent, status())).toEqual(['lost'])
})

it('where to go on is said with what each way skips and reads again', async () => {
  const choices = [
    {
      to: 'earliest',
      skip: 1_204,
      replay: 0,
      recommended: true,
      reason: 'It skips the fewest.',
      partitions: [],
    },
  ]
  showRouted(<Decisions pipeline={pipeline()} status={status({ choices })} />)
  expect(await screen.findByText(/skips 1,204, rereads 0/)).toBeInTheDocument()
  const link = screen.getByRole('link', { name: 'Choose start position' })
  expect(link).toHaveAttribute('href', '/pipelines/orders/positions')
})

describe('the source of truth', () => {
  it('is answered with a reason, once the name was typed', async () => {
    const asked = vi.fn()
    given.get('/session', () => session())
    given.post('/pipelines/orders/reconcile', async (request) => {
      asked(await request.json())
      return { source_of_truth: 'database' }
    })
    show(<Decisions pipeline={pipeline()} status={behind} />)
    await waitFor(() =>
      expect(screen.getByRole('button', { name: 'Choose source of truth' })).not.toHaveAttribute(
        'aria-disabled',
      ),
    )
    await userEvent.click(screen.getByRole('button', { name: 'Choose source of truth' }))
    expect(await screen.findByText(/redelivers everything since then/)).toBeInTheDocument()
    await userEvent.click(screen.getByRole('radio', { name: /The database/ }))
    await userEvent.type(screen.getByLabelText('Reason'), 'an old backup')
    await confirm('Use the database')
    await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull())
    expect(asked.mock.calls).toEqual([[{ source_of_truth: 'database', reason: 'an old backup' }]])
  })

  it('is for administrators alone', async () => {
    given.get('/session', () => session('operator'))
    show(<Decisions pipeline={pipeline()} status={behind} />)
    expect(await screen.findByRole('button', { name: 'Choose source of truth' })).toHaveAccessibleDescription(
      'Only administrators can do this.',
    )
  })
})

it('a run of a silent host is declared lost with the name once more', async () => {
  const asked = vi.fn()
  given.get('/session', () => session())
  given.post('/pipelines/orders/declare-lost', async (request) => {
    asked(await request.json())
    return run({ outcome: 'LOST' })
  })
  show(<Decisions pipeline={silent} status={status({ run: run() })} />)
  expect(screen.getByText('Confirm whether run 3 on alpha is dead')).toBeInTheDocument()
  await waitFor(() =>
    expect(screen.getByRole('button', { name: 'Declare run lost' })).not.toHaveAttribute('aria-disabled'),
  )
  await userEvent.click(screen.getByRole('button', { name: 'Declare run lost' }))
  expect(await screen.findByText(/delivered twice/)).toBeInTheDocument()
  await confirm('Declare run lost')
  await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull())
  expect(asked.mock.calls).toEqual([[{ confirm: 'orders' }]])
})
