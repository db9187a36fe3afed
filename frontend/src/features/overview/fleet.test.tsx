import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import type { FleetPipeline, Phase, Pipeline } from '@/api/types'
import { operation, pipeline, session } from '@/testing/factories'
import { show, showRouted } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { BulkBar } from './BulkBar'
import { filterPipelines, readOverviewSearch } from './filter'
import { FleetTile } from './FleetTile'
import { groupings, groupPipelines, isGrouping, tableRows, titleOf } from './grouping'
import { daySaid, spansOf } from './strip'
import { Verdict } from './Verdict'
import { withView } from './views'

const ROWS = [
  pipeline({ name: 'calm', team: 'web', labels: { tier: '1' } }),
  pipeline({ name: 'broken', team: 'data', phase: 'FAILED', labels: { tier: '2' } }),
  pipeline({ name: 'alone', team: 'web', host: null }),
]

function day(...parts: [Phase | null, number][]): FleetPipeline['history'] {
  const phases = parts.flatMap(([phase, slots]) => Array.from({ length: slots }, () => phase))
  return { since: '2026-11-20T12:30:00Z', slot_seconds: 1_800, phases }
}

describe('groups', () => {
  it('begin with what requires action and end with pipelines that are in none', () => {
    expect(groupPipelines(ROWS, 'team').map(({ name }) => name)).toEqual(['data', 'web'])
    expect(groupPipelines(ROWS, 'label:tier').map(({ name }) => name)).toEqual(['2', '1', null])
    expect(groupPipelines(ROWS, 'host').map(({ name }) => name)).toEqual(['alpha', null])
  })

  it('are called by what their pipelines share', () => {
    expect([titleOf('web', 'team'), titleOf('1', 'label:tier'), titleOf(null, 'host')]).toEqual([
      'Team web',
      'tier: 1',
      'No host',
    ])
    expect(groupings(ROWS).map(({ value }) => value)).toEqual(['team', 'host', 'label:tier'])
  })

  it('stand in the list as rows of their own', () => {
    expect(tableRows(ROWS, undefined)).toHaveLength(3)
    expect(tableRows(ROWS, 'team').map(({ kind }) => kind)).toEqual([
      'group',
      'pipeline',
      'group',
      'pipeline',
      'pipeline',
    ])
  })

  it('come from the address, which anybody may write', () => {
    expect(readOverviewSearch({ group: 'label:tier', favourites: 'true' })).toMatchObject({
      group: 'label:tier',
      favourites: true,
    })
    expect(['', 'label:', 'colour', 'team', 'host'].map(isGrouping)).toEqual([
      false,
      false,
      false,
      true,
      true,
    ])
    expect(readOverviewSearch({ group: 'colour' }).group).toBeUndefined()
  })
})

it('favourites narrow what is shown', () => {
  expect(filterPipelines(ROWS, { favourites: true }, new Set(['calm'])).map(({ name }) => name)).toEqual([
    'calm',
  ])
})

it('a view of the same name is replaced', () => {
  const old = [{ name: 'Mine', to: '/' }]
  expect(withView(old, { name: 'Mine', to: '/fleet' })).toEqual([{ name: 'Mine', to: '/fleet' }])
  expect(withView(old, { name: 'All', to: '/fleet' }).map(({ name }) => name)).toEqual(['All', 'Mine'])
})

describe('the last 24 hours', () => {
  it('are spans of equal phases, and are said with the longest first', () => {
    const history = day([null, 2], ['STOPPED', 1], ['RUNNING', 44], ['UNKNOWN', 1])
    expect(spansOf(history)).toEqual([
      { phase: null, slot: 0, slots: 2 },
      { phase: 'STOPPED', slot: 2, slots: 1 },
      { phase: 'RUNNING', slot: 3, slots: 44 },
      { phase: 'UNKNOWN', slot: 47, slots: 1 },
    ])
    expect(daySaid(history)).toBe('running 22 h, not created yet 1 h, stopped 30 min, unknown 30 min')
  })
})

describe('a tile', () => {
  const tile = (fields: Partial<Pipeline>) =>
    showRouted(
      <FleetTile
        pipeline={pipeline(fields)}
        history={day(['RUNNING', 46], ['FAILED', 2])}
        favourite={false}
        onStar={() => {}}
      />,
    )

  it('says why it requires action, and shows its day as a table', async () => {
    tile({ phase: 'FAILED', phase_message: 'Ten runs in a row ended by themselves.' })
    const shown = await screen.findByRole('article', { name: 'orders' })
    expect(shown).toHaveAttribute('data-tone', 'bad')
    expect(shown).toHaveTextContent('Ten runs in a row ended by themselves.')
    await userEvent.click(
      within(shown).getByRole('button', { name: 'Last 24 hours of orders: running 23 h, failed 1 h' }),
    )
    expect(within(shown).getByRole('table')).toHaveTextContent(/Failed.*Running/)
  })

  it('is neither good nor bad where no supervisor watches, and marks old figures', async () => {
    tile({ supervised: false })
    const shown = await screen.findByRole('article')
    expect(shown).toHaveAttribute('data-tone', 'warn')
    expect(shown).toHaveTextContent('Not supervised: the worker on alpha is silent.')
    expect(shown).toHaveTextContent(/old/)
  })
})

describe('the verdict', () => {
  it('is red only where something bad was observed', () => {
    const { unmount } = show(<Verdict pipelines={[pipeline()]} />)
    expect(screen.getByText('No pipeline requires action')).toHaveAttribute('data-tone', 'ok')
    unmount()
    const other = show(
      <Verdict pipelines={[pipeline(), pipeline({ phase: 'UNKNOWN', supervised: false })]} />,
    )
    expect(screen.getByText('1 pipeline requires action')).toHaveAttribute('data-tone', 'warn')
    other.unmount()
    show(<Verdict pipelines={[pipeline({ phase: 'FAILED' }), pipeline({ phase: 'BLOCKED' })]} />)
    expect(screen.getByText('2 pipelines require action')).toHaveAttribute('data-tone', 'bad')
  })
})

describe('the bar of bulk actions', () => {
  const chosen = [
    pipeline({ name: 'a' }, ['pause', 'stop']),
    pipeline({ name: 'b' }, ['pause']),
    pipeline({ name: 'c' }, ['start']),
  ]

  it('sends what can be undone at once, and says what became of each', async () => {
    const asked = vi.fn()
    given.get('/session', () => session('operator'))
    given.post('/pipelines/a/pause', () => {
      asked('a')
      return operation({ pipeline: 'a' })
    })
    given.post('/pipelines/b/pause', () => problem(503, 'database_away', 'The database is away.'))
    show(<BulkBar chosen={chosen} onClear={() => {}} />)
    await userEvent.click(screen.getByRole('button', { name: 'Pause 2' }))
    const dialog = await screen.findByRole('dialog', { name: 'Pause 2 pipelines' })
    await waitFor(() => expect(dialog).toHaveTextContent('1 accepted, 1 rejected, 1 failed.'))
    expect(dialog).toHaveTextContent('No pause now.')
    expect(asked).toHaveBeenCalledOnce()
  })

  it('asks once before a stop, by the number of those that change, and lets nothing be typed', async () => {
    const asked = vi.fn()
    given.post('/pipelines/a/stop', () => {
      asked()
      return operation({ kind: 'stop', pipeline: 'a' })
    })
    show(<BulkBar chosen={chosen} onClear={() => {}} />)
    await userEvent.click(screen.getByRole('button', { name: 'Stop 1' }))
    const dialog = await screen.findByRole('dialog', { name: 'Stop 1 pipeline' })
    expect(dialog).toHaveTextContent('2 other selected pipelines do not change.')
    expect(within(dialog).queryByRole('textbox')).toBeNull()
    expect(asked).not.toHaveBeenCalled()
    await userEvent.click(within(dialog).getByRole('button', { name: 'Stop 1 pipeline' }))
    await waitFor(() => expect(asked).toHaveBeenCalledOnce())
  })

  it('starts what can be started, and says why nothing can be resumed', async () => {
    show(<BulkBar chosen={chosen} onClear={() => {}} />)
    expect(screen.getByRole('button', { name: 'Start 1' })).toBeEnabled()
    expect(screen.getByRole('button', { name: 'Resume' })).toHaveAccessibleDescription(
      'Resume is not possible for any of them now.',
    )
  })
})
