import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import type { Evacuation, Host } from '@/api/types'
import { DEFAULT_RULES } from '@/domain/observationRules'
import { migration, session, T0 } from '@/testing/factories'
import { showRouted } from '@/testing/render'
import { given } from '@/testing/server'
import { EvacuateButton } from './Evacuating'
import { inOneSentence, tallyOf } from './progress'

const evacuation = (fields: Partial<Evacuation> = {}): Evacuation => ({
  id: 'e1',
  host: 'alpha',
  at_once: 2,
  go_on: false,
  rules: {},
  waiting: [],
  left: {},
  reason: 'kernel',
  created_by: 'ana',
  created_at: T0,
  ended_at: null,
  outcome: '',
  migrations: [],
  ...fields,
})

describe('how far an evacuation has come', () => {
  it('counts what moved, moves, waits and stays, each once', () => {
    const failed = migration({ pipeline: 'clicks', stage: 'ABORTED', open: false })
    const moved = migration({ pipeline: 'orders', stage: 'COMMITTED', open: false })
    const moving = migration({ pipeline: 'stock', stage: 'PAUSING' })
    const row = evacuation({
      migrations: [moved, moving, failed],
      waiting: ['later'],
      left: { clicks: 'Its sink has no topic.', tied: 'placement.host is alpha' },
    })
    expect(tallyOf(row)).toEqual({ moved: 1, moving: 1, waiting: 1, left: 2, all: 5 })
    expect(inOneSentence(row)).toBe('1 of 5 pipelines moved, 1 running, 1 waiting, 2 stay.')
  })

  it('of a host without pipelines is nothing', () => {
    expect(inOneSentence(evacuation())).toBe('0 of 0 pipelines moved.')
  })
})

it('is asked for with a reason and how many at once', async () => {
  const sent = vi.fn()
  given.get('/session', () => session())
  given.post('/evacuations', async (request) => {
    sent(await request.json())
    return evacuation()
  })
  showRouted(<EvacuateButton host={{ name: 'alpha', drained_at: null } as Host} />)
  await waitFor(() =>
    expect(screen.getByRole('button', { name: 'Evacuate host alpha' })).not.toHaveAttribute('aria-disabled'),
  )
  await userEvent.click(screen.getByRole('button', { name: 'Evacuate host alpha' }))
  expect(await screen.findByRole('dialog', { name: 'Evacuate alpha?' })).toHaveTextContent(
    'Drain the host afterwards',
  )
  await userEvent.click(screen.getByRole('button', { name: /^Verification rules/ }))
  const window = screen.getByLabelText('Observation window, seconds')
  await userEvent.clear(window)
  await userEvent.type(window, '5')
  await userEvent.type(screen.getByLabelText('Reason'), 'kernel')
  await userEvent.click(screen.getByRole('button', { name: 'Evacuate host' }))
  await waitFor(() =>
    expect(sent).toHaveBeenCalledWith({
      host: 'alpha',
      at_once: 1,
      go_on: false,
      rules: { ...DEFAULT_RULES, window: 5 },
      reason: 'kernel',
    }),
  )
})
