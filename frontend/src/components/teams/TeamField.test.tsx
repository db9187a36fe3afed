import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { Problem } from '@/api/problem'
import type { Session, Team } from '@/api/types'
import { session, team } from '@/testing/factories'
import { show } from '@/testing/render'
import { given } from '@/testing/server'
import { TeamField } from './TeamField'
import { type TeamChoice, useOwnerChoice, usePipelineTeam, useTokenTeam } from './useTeamChoice'

const FINDING = {
  path: 'team',
  code: 'team_missing',
  message: 'You are operator in several teams: a, b.',
  suggestion: 'Name the one that owns it.',
  severity: 'error' as const,
  line: null,
  column: null,
}

/** The field in a form, with what would be sent and what has to be chosen first. */
function Form({ use, error = null }: { use: () => TeamChoice; error?: Error | null }) {
  const choice = use()
  return (
    <>
      <TeamField choice={choice} description="It owns the thing." error={error} />
      <output>{choice.missing ?? `sends ${choice.team}`}</output>
    </>
  )
}

const useOwner = () => useOwnerChoice('operator')
const useOwnerLikelyB = () => useOwnerChoice('operator', 'b')

/** `everywhere`: the role in all teams; null: only those in the teams. */
function drawn(everywhere: Session['everywhere'], teams: Team[], use = useOwner, error?: Error) {
  given.get('/session', () => ({ ...session('operator'), everywhere }))
  given.get('/teams', () => ({ results: teams, next: null }))
  show(<Form use={use} error={error} />)
}

const says = (words: string) => waitFor(() => expect(screen.getByRole('status')).toHaveTextContent(words))
const field = () => screen.findByRole('combobox', { name: 'Team' })
const offers = async () => [...(await field()).querySelectorAll('option')].map((each) => each.textContent)

describe('the team of something new', () => {
  it('is the only one without a question', async () => {
    drawn(null, [team('a', 'operator')])
    await says('sends a')
    expect(screen.queryByLabelText('Team')).toBeNull()
  })

  it('is one where the role suffices', async () => {
    drawn(null, [team('a', 'viewer'), team('b', 'operator')])
    await says('sends b')
    expect(screen.queryByLabelText('Team')).toBeNull()
  })

  it('has to be chosen among several, since the server takes none by itself', async () => {
    drawn(null, [team('a', 'operator'), team('b', 'admin')])
    await says('Choose the team first.')
    expect(await offers()).toEqual(['Choose a team', 'a', 'b'])
    await userEvent.selectOptions(await field(), 'b')
    await says('sends b')
  })

  it('is the preferred one of several until another is chosen', async () => {
    drawn(null, [team('a', 'operator'), team('b', 'admin')], useOwnerLikelyB)
    await says('sends b')
    expect(await offers()).toEqual(['a', 'b'])
    await userEvent.selectOptions(await field(), 'a')
    await says('sends a')
  })

  it('is the installation for a role in all teams, unless a team is chosen', async () => {
    drawn('operator', [team('a'), team('b')], useOwnerLikelyB)
    await waitFor(async () => expect(await offers()).toEqual(['Installation', 'a', 'b']))
    await says('sends null')
    await userEvent.selectOptions(await field(), 'a')
    await says('sends a')
  })

  it('is not the installation where the role in all teams is too low', async () => {
    drawn('viewer', [team('a', 'operator'), team('b', 'operator'), team('c', 'viewer')])
    await says('Choose the team first.')
    expect(await offers()).toEqual(['Choose a team', 'a', 'b'])
  })

  it('is the default team for a pipeline, and never the installation', async () => {
    drawn('admin', [team('a'), team('default')], usePipelineTeam)
    await says('sends default')
    expect(await offers()).toEqual(['a', 'default'])
  })

  it('is no matter for a pipeline where there is one team', async () => {
    drawn('admin', [team('default')], usePipelineTeam)
    await says('sends default')
    expect(screen.queryByLabelText('Team')).toBeNull()
  })

  it('is all of them for a token', async () => {
    drawn(null, [team('a', 'viewer'), team('b')], useTokenTeam)
    await says('sends null')
    expect(await offers()).toEqual(['All your teams', 'a', 'b'])
  })

  it('stands with what the server has against it, also where there was no choice', async () => {
    drawn(null, [team('a', 'operator')], useOwner, new Problem(422, { findings: [FINDING] }))
    expect(await field()).toHaveAccessibleDescription(/several teams: a, b. Name the one that owns it./)
    expect(await field()).toBeInvalid()
  })
})
