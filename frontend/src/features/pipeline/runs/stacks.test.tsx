import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import type { Stacks } from '@/api/types'
import { pipeline, run, session, T0, team } from '@/testing/factories'
import { show } from '@/testing/render'
import { given } from '@/testing/server'
import { StacksDialog } from './StacksDialog'

const dump: Stacks['dumps'][number] = {
  stop_stage: 'live',
  number: 0,
  asked: 'a1',
  at: T0,
  stuck: ['sinks.out'],
  silent: [4711],
  files: [{ name: 'live-jvm.txt', process: 'jvm', text: 'at java.net.SocketInputStream.read' }],
}
const answer = (dumps: Stacks['dumps']): Stacks => ({ run: 7, dumps, elsewhere: '' })

async function takeOne() {
  await waitFor(() =>
    expect(screen.getByRole('button', { name: 'Take dump' })).not.toHaveAttribute('aria-disabled'),
  )
  await userEvent.click(screen.getByRole('button', { name: 'Take dump' }))
}

describe('the stacks of a run', () => {
  beforeEach(() => {
    given.get('/session', () => session('operator'))
    given.post('/runs/7/stacks', () => ({ asked: 'a1' }))
  })

  it('are taken now, and say what is at work and who did not answer', async () => {
    let taken = false
    given.get('/runs/7/stacks', (request) => {
      taken ||= new URL(request.url).searchParams.get('asked') === 'a1'
      return answer(taken ? [dump] : [])
    })
    show(<StacksDialog name="orders" run={run()} onClose={() => {}} />)
    expect(await screen.findByText('No dumps')).toBeInTheDocument()
    await takeOne()
    expect(await screen.findByText('Busy: sinks.out')).toBeInTheDocument()
    expect(screen.getByText('No response from: 4711')).toBeInTheDocument()
    expect(screen.getByText('at java.net.SocketInputStream.read')).toBeInTheDocument()
  })

  it('that do not come in time are said to be on their way', async () => {
    given.get('/runs/7/stacks', () => answer([]))
    show(<StacksDialog name="orders" run={run()} onClose={() => {}} />)
    await takeOne()
    expect(await screen.findByText(/has not responded yet/)).toBeInTheDocument()
  })

  it('of a run that is over are not taken any more', async () => {
    given.get('/runs/7/stacks', () => answer([dump]))
    show(<StacksDialog name="orders" run={run({ ended_at: T0 })} onClose={() => {}} />)
    expect(await screen.findByText(/on request/)).toBeInTheDocument()
    expect(screen.getByRole('button', { name: 'Take dump' })).toHaveAccessibleDescription(
      'The run has ended.',
    )
  })

  it('are not taken by a viewer of the team, whatever the role elsewhere', async () => {
    given.get('/session', () => ({ ...session('operator'), everywhere: null }))
    given.get('/teams', () => ({
      results: [team('default', 'viewer'), team('cobalt', 'operator')],
      next: null,
    }))
    given.get('/pipelines', () => ({ results: [pipeline()], next: null }))
    given.get('/runs/7/stacks', () => answer([]))
    show(<StacksDialog name="orders" run={run()} onClose={() => {}} />)
    await waitFor(() =>
      expect(screen.getByRole('button', { name: 'Take dump' })).toHaveAccessibleDescription(
        /^Your role in the team default is Viewer/,
      ),
    )
  })
})
