import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import type { MigrationDetail, Shadow } from '@/api/types'
import {
  finding,
  migration,
  migrationChoice,
  migrationPlan,
  migrationStep,
  impact,
  session,
  T0,
} from '@/testing/factories'
import { showRouted } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { Footer } from './Footer'
import { ApprovePage } from './pages/ApprovePage'
import { BackPage } from './pages/BackPage'
import { ChangePage } from './pages/ChangePage'
import { CommitPage } from './pages/CommitPage'
import { CutOverPage } from './pages/CutOverPage'
import { PausePage } from './pages/PausePage'
import { PlanPage } from './pages/PlanPage'
import { PreflightPage } from './pages/PreflightPage'
import { ProofPage } from './pages/ProofPage'
import { ReportPage } from './pages/ReportPage'
import { ShadowPage } from './pages/ShadowPage'
import { SnapshotPage } from './pages/SnapshotPage'
import { VerifyPage } from './pages/VerifyPage'
import { RollbackPanel } from './RollbackPanel'

const ID = migration().id
const pressable = async (name: string) => {
  await waitFor(() => expect(screen.getByRole('button', { name })).not.toHaveAttribute('aria-disabled'))
  return screen.getByRole('button', { name })
}

beforeEach(() => given.get('/session', () => session()))

describe('the plan', () => {
  it('says what changes, what it means, the pause and the counts', async () => {
    const plan = migrationPlan({ skip: 1_204, replay: 7 })
    showRouted(<PlanPage migration={migration({ plan })} readOnly={null} />)
    const row = await screen.findByRole('row', { name: /sinks\.out\.topic/ })
    expect(row).toHaveTextContent('elsewhere')
    expect(row).toHaveTextContent('Restart')
    expect(screen.getByText('4.2 s')).toBeInTheDocument()
    expect(screen.getByText('1,204')).toBeInTheDocument()
    expect(screen.getByText(/Ready to start/)).toBeInTheDocument()
  })

  it('lists everything that blocks it at once', async () => {
    const blockers = [finding(), finding({ code: 'NO_CAPACITY', message: 'There is no room.' })]
    const found = migration({ stage: 'DRAFT', plan: migrationPlan({ blockers }) })
    showRouted(<PlanPage migration={found} readOnly={null} />)
    expect(await screen.findByText('2 blocking')).toBeInTheDocument()
    expect(screen.getByText('There is no room.')).toBeInTheDocument()
  })

  it('is made again until the host has counted', async () => {
    const asked = vi.fn()
    given.post(`/migrations/${ID}/plan`, () => {
      asked()
      return migration()
    })
    const counting = migrationPlan({ blockers: [finding({ code: 'COUNTING' })] })
    showRouted(<PlanPage migration={migration({ stage: 'DRAFT', plan: counting })} readOnly={null} />)
    await waitFor(() => expect(asked).toHaveBeenCalled(), { timeout: 10_000 })
  })
})

it('names the tests that passed, and says nothing where the plan has none', async () => {
  const plan = migrationPlan({ passed_tests: ['orders arrive', 'keep-alive lines are filtered'] })
  const { unmount } = showRouted(<PlanPage migration={migration({ plan })} readOnly={null} />)
  expect(await screen.findByText('2 tests passed')).toBeInTheDocument()
  expect(screen.getByRole('list', { name: 'Tests that passed' })).toHaveTextContent(
    /orders arrive.*keep-alive/,
  )
  unmount()
  showRouted(<PlanPage migration={migration()} readOnly={null} />)
  expect(await screen.findByRole('heading', { name: 'Blockers' })).toBeInTheDocument()
  expect(screen.queryByText(/tests passed/)).toBeNull()
})

describe('the shadow', () => {
  const wanted = { seconds: 600, records: 100_000, most_different: 0.01, channels: { shop: 'main' } }
  const plan = migrationPlan({ shadow: wanted })
  const side = { result: 'delivered', channels: ['main'], component: '', cause: '' } as const
  const event = (body: string) => ({ key: null, headers: [], bytes: 3, body, note: '' })
  const difference = {
    ...{
      topic: 'in',
      partition: 0,
      offset: 7,
      copy_number: 0,
      kinds: ['body'],
      components: [],
      record: null,
    },
    before: { ...side, event: event('old text') },
    after: { ...side, event: event('new text') },
    ...{ headers: [], body: [] },
  } as unknown as Shadow['samples'][number]['difference']
  const shadow: Shadow = {
    ...{ since: T0, share: 0.1, parts: 1, failures: 0, findings: [], shows_records: true },
    counts: {
      records: 90_000,
      identical: 81_000,
      different: 9_000,
      only_old: 0,
      only_new: 0,
      kinds: { body: 9_000 },
    },
    not_compared: { shop: { headers: ['at'], key: false, body: false } },
    samples: [{ source: 'shop', difference }],
    ...{ unlike_ledger: 1, notes: ['filtered 5 in the ledger, 7 now.'], rate_before: 1_000, rate: 990 },
  }

  it('shows progress, the four counts, both rates, and events side by side', async () => {
    showRouted(<ShadowPage migration={migration({ stage: 'SHADOWING', plan, shadow })} readOnly={null} />)
    expect(await screen.findByRole('row', { name: /^Records compared/ })).toHaveTextContent(
      '90,000 of 100,000',
    )
    expect(screen.getByRole('row', { name: /^Identical/ })).toHaveTextContent('81,000')
    expect(screen.getByRole('row', { name: /^Different/ })).toHaveTextContent('9,000')
    expect(screen.getByRole('row', { name: /^Share that differs/ })).toHaveTextContent('10.00 %')
    expect(screen.getByRole('row', { name: /^Share that may differ/ })).toHaveTextContent('1.00 %')
    expect(screen.getByRole('row', { name: /agent now/ })).toHaveTextContent('990')
    expect(screen.getByText(/no run repeats it: shop: header at/)).toBeInTheDocument()
    expect(screen.getByText('filtered 5 in the ledger, 7 now.')).toBeInTheDocument()
    const found = screen.getByRole('article', { name: 'in/0:7' })
    expect(found).toHaveTextContent(/old text.*new text/)
  })

  it('says that nothing was compared yet', async () => {
    showRouted(<ShadowPage migration={migration({ stage: 'SHADOWING', plan })} readOnly={null} />)
    expect(await screen.findByText('Nothing has been compared yet')).toBeInTheDocument()
  })
})

describe('prediction', () => {
  const totals = {
    ...{ events: 1_000, delivered: 1_000, channels: { main: 1_000 }, filtered: {} },
    ...{ dead_letters: 0, unrouted: 0, size: 52_000, sizes: { main: 52_000 } },
  }
  const filtered = { 'sources.shop.interceptors[0]': 1_000 }
  const lost = { ...totals, delivered: 0, channels: { main: 0 }, filtered, size: 0, sizes: { main: 0 } }
  const found = { source: 'shop', preview: null, pending: false, reason: '', records: 1_000 }
  const plan = migrationPlan({
    predictions: [{ ...found, before: totals, after: lost }],
    to_acknowledge: 1_000,
  })

  it('shows what both revisions make of the records, by component', async () => {
    showRouted(<PlanPage migration={migration({ plan })} readOnly={null} />)
    const delivered = await screen.findByRole('row', { name: /^Delivered/ })
    expect(delivered).toHaveTextContent(/1,000 of 1,000 \(100.0 %\).*0 of 1,000 \(0.0 %\)/)
    expect(screen.getByRole('row', { name: /^Filtered sources.shop.interceptors\[0\]/ })).toHaveTextContent(
      /0.*1,000/,
    )
    expect(screen.getByRole('row', { name: /^Output records/ })).toBeInTheDocument()
  })

  it('that is not there says why, and is not shown as good', async () => {
    const reason = 'the source has no records of the last 10 minutes'
    const none = migrationPlan({ predictions: [{ ...found, reason, before: null, after: null }] })
    showRouted(<PlanPage migration={migration({ plan: none })} readOnly={null} />)
    expect(await screen.findByText(`Not predicted, because ${reason}.`)).toBeInTheDocument()
  })

  it('of a loss is started with the typed number alone', async () => {
    const sent = vi.fn()
    given.post(`/migrations/${ID}/advance`, async (request) => {
      sent(await request.json())
      return migration({ stage: 'PREFLIGHT' })
    })
    const choices = [migrationChoice('advance')]
    showRouted(<ApprovePage migration={migration({ stage: 'APPROVED', plan, choices })} readOnly={null} />)
    await screen.findByRole('button', { name: 'Start migration' })
    expect(screen.getByRole('button', { name: 'Start migration' })).toHaveAccessibleDescription(
      'Type the number of records first.',
    )
    await userEvent.type(screen.getByLabelText('Type 1000 to acknowledge'), '1000')
    await userEvent.click(await pressable('Start migration'))
    await waitFor(() => expect(sent).toHaveBeenCalledWith({ hash: 'abc123', acknowledge: 1_000 }))
  })
})

describe('approval', () => {
  it('is of this plan, by its hash', async () => {
    const sent = vi.fn()
    given.post(`/migrations/${ID}/approve`, async (request) => {
      sent(await request.json())
      return migration({ stage: 'APPROVED' })
    })
    showRouted(<ApprovePage migration={migration()} readOnly={null} />)
    await userEvent.click(await pressable('Approve plan'))
    await waitFor(() => expect(sent).toHaveBeenCalledWith({ hash: 'abc123' }))
  })

  it('and start are one press where nobody else has to approve', async () => {
    const sent = vi.fn()
    for (const deed of ['approve', 'advance'])
      given.post(`/migrations/${ID}/${deed}`, async (request) => {
        sent(deed, await request.json())
        return migration({ stage: deed === 'approve' ? 'APPROVED' : 'PREFLIGHT' })
      })
    showRouted(<ApprovePage migration={migration()} readOnly={null} />)
    await userEvent.click(await pressable('Approve and start'))
    await waitFor(() => expect(sent).toHaveBeenCalledTimes(2))
    expect(sent.mock.calls).toEqual([
      ['approve', { hash: 'abc123' }],
      ['advance', { hash: 'abc123', acknowledge: null }],
    ])
  })

  it('is waited for where others have to approve', async () => {
    showRouted(<ApprovePage migration={migration({ approvers_needed: 1 })} readOnly={null} />)
    expect(await screen.findByRole('button', { name: 'Start migration' })).toHaveAccessibleDescription(
      '1 more must approve it.',
    )
  })

  it('by its author is refused where others have to', async () => {
    showRouted(<ApprovePage migration={migration({ approvers_needed: 2 })} readOnly={null} />)
    await waitFor(() =>
      expect(screen.getByRole('button', { name: 'Approve plan' })).toHaveAccessibleDescription(
        /^You requested this migration. 2 other users have to approve it/,
      ),
    )
  })

  it('of a plan that became stale is refused in words', async () => {
    given.post(`/migrations/${ID}/approve`, () =>
      problem(409, 'plan_stale', 'This plan is not one of the present state.', { hint: 'Plan again.' }),
    )
    showRouted(<ApprovePage migration={migration()} readOnly={null} />)
    await userEvent.click(await pressable('Approve plan'))
    expect(await screen.findByText('This plan is not one of the present state.')).toBeInTheDocument()
  })
})

it('shows the preflight by component and host', async () => {
  const component = { kind: 'sink', type: 'kafka', detail: '' }
  const evidence = {
    run: 2,
    host: 'beta',
    findings: [],
    components: [
      { ...component, name: 'out', state: 'ready' },
      { ...component, name: 'lake', state: 'failed', detail: 'The topic does not exist.' },
      { ...component, name: 'slow', state: 'initialising' },
    ],
  }
  const steps = [migrationStep('prepare_standby', 'PREFLIGHT', { state: 'failed', evidence })]
  showRouted(<PreflightPage migration={migration({ stage: 'ABORTED', steps })} readOnly={null} />)
  expect(await screen.findByRole('row', { name: /^out/ })).toHaveTextContent('Passed')
  expect(screen.getByRole('row', { name: /^lake/ })).toHaveTextContent(/beta.*Failed.*does not exist/)
  expect(screen.getByRole('row', { name: /^slow/ })).toHaveTextContent(/Not checked.*ended before/)
})

it('shows the warnings of the preflight with their advice, and counts them', async () => {
  const component = { kind: 'sink', type: 'kafka', detail: 'Replication factor 1.', state: 'ready' }
  const warning = {
    path: 'sinks.out',
    code: 'REPLICATION_ONE',
    message: 'Replication factor 1.',
    suggestion: 'Raise it.',
  }
  const evidence = {
    run: 2,
    host: 'beta',
    findings: [],
    components: [
      { ...component, name: 'out', warnings: [warning] },
      { ...component, name: 'lake', detail: '' },
    ],
  }
  const steps = [migrationStep('prepare_standby', 'PREFLIGHT', { state: 'done', evidence })]
  showRouted(<PreflightPage migration={migration({ stage: 'PREFLIGHT', steps })} readOnly={null} />)
  expect(await screen.findByText(/1 passed, 1 with warnings/)).toBeInTheDocument()
  const row = screen.getByRole('row', { name: /^out/ })
  expect(row).toHaveTextContent(/Warning.*Replication factor 1\..*Raise it\./)
  expect(row).not.toHaveTextContent('Passed')
  expect(screen.getByRole('row', { name: /^lake/ })).toHaveTextContent(/Passed.*Initialized and probed/)
})

it('says what a pause waits for, how to cancel it, and what force would cost', async () => {
  const draining = { batches: 1, records: 1_250, rate: 1_000, held_by: ['sinks.out'] }
  const steps = [migrationStep('pause', 'PAUSING', { state: 'running', intent_at: new Date().toISOString() })]
  showRouted(<PausePage migration={migration({ stage: 'PAUSING', steps, draining })} readOnly={null} />)
  expect(await screen.findByText('up to 1,250')).toBeInTheDocument()
  expect(screen.getByText('sinks.out')).toBeInTheDocument()
  expect(screen.getByText(/at most 1,250 possible duplicates/)).toBeInTheDocument()
  expect(screen.getByText(/^Times out in .*, then rolls back/)).toBeInTheDocument()
})

it('shows what the agent was doing when its pause was given up', async () => {
  const drain_dump = { run: 7, number: 3, at: T0, stuck: ['sinks.out'] }
  const steps = [migrationStep('pause', 'PAUSING', { state: 'failed' })]
  showRouted(<PausePage migration={migration({ stage: 'ABORTED', steps, drain_dump })} readOnly={null} />)
  expect(await screen.findByText('sinks.out')).toBeInTheDocument()
  expect(screen.getByRole('link', { name: 'dumps of run 3' })).toHaveAttribute(
    'href',
    '/pipelines/orders/runs',
  )
})

it('shows the proof as a checklist with its evidence', async () => {
  const checks = [
    { name: 'gate', holds: true, words: 'The gate is closed.', evidence: '' },
    { name: 'ledger', holds: false, words: 'All is in the ledger.', evidence: '1 open batch.' },
  ]
  const steps = [migrationStep('prove_pause', 'PAUSE_PROVEN', { state: 'running', evidence: { checks } })]
  showRouted(<ProofPage migration={migration({ stage: 'PAUSE_PROVEN', steps })} readOnly={null} />)
  const items = await screen.findAllByRole('listitem')
  expect(items[0]).toHaveTextContent('Passed: The gate is closed.')
  expect(items[1]).toHaveTextContent('Failed: All is in the ledger.1 open batch.')
})

it('shows the snapshot', async () => {
  const place = { source: 'shop', channel: 'main', topic: 'orders-in', partition: 0, offset: 48_210 }
  const snapshot = {
    ...{ revision: 3, host: 'alpha', run: 1, lineage: 1, digest: 'd1', at: T0 },
    totals: { read: 10, delivered: 9 },
    positions: [place],
  }
  showRouted(<SnapshotPage migration={migration({ snapshot })} readOnly={null} />)
  expect(await screen.findByRole('row', { name: /orders-in\/0/ })).toHaveTextContent('48,210')
  expect(screen.getByText('d1')).toBeInTheDocument()
})

it('continues at a gate, by the hash of the plan', async () => {
  const sent = vi.fn()
  given.post(`/migrations/${ID}/advance`, async (request) => {
    sent(await request.json())
    return migration({ stage: 'READY_TO_CUT_OVER' })
  })
  const held_until = new Date(Date.now() + 3_590_000).toISOString()
  const waiting = migration({
    stage: 'APPLYING',
    waits_for: 'READY_TO_CUT_OVER',
    steps: [migrationStep('check_standby', 'READY_TO_CUT_OVER', { gate: true, held_until })],
    choices: [migrationChoice('advance')],
  })
  showRouted(<CutOverPage migration={waiting} readOnly={null} />)
  expect(await screen.findByText('Before the new agent takes over')).toBeInTheDocument()
  expect(screen.getByText(/^Nothing is delivered until then. Rolls back in 59 min/)).toBeInTheDocument()
  await userEvent.click(await pressable('Continue migration'))
  await waitFor(() => expect(sent).toHaveBeenCalledWith({ hash: 'abc123', acknowledge: null }))
})

it('compares before and after, and names the rule that would roll back', async () => {
  const check = { name: 'lag', before: 120, after: 9_000, words: 'The lag is at most 1120 records.' }
  const evidence = {
    ...{ conclusion: 'wait', seconds: 29, left: 31 },
    checks: [{ ...check, holds: false, fatal: false }],
  }
  const steps = [migrationStep('observe', 'VERIFYING', { state: 'running', evidence })]
  const found = migration({ stage: 'VERIFYING', steps, choices: [migrationChoice('advance')] })
  showRouted(<VerifyPage migration={found} readOnly={null} />)
  const row = await screen.findByRole('row', { name: /The lag is at most/ })
  expect(row).toHaveTextContent(/Failed.*120.*9,000/)
  expect(screen.getByText(/observed for 29 s, 31 s left/)).toBeInTheDocument()
  expect(screen.getByText(/Otherwise it rolls back automatically/)).toBeInTheDocument()
  expect(await pressable('Commit migration')).toBeInTheDocument()
})

it('shows a rule with nothing to judge as waiting, and neither as passed nor as failed', async () => {
  const check = { before: '100.0%', after: '0 of 0', fatal: false, holds: false, waits: true }
  const share = (component: string) => ({ ...check, name: 'filtered_share', component, words: component })
  const checks = [
    { ...check, name: 'delivering', component: '', words: 'The new agent has delivered records.' },
    share('sources.a.interceptors[0]'),
    share('sources.b.interceptors[0]'),
  ]
  const evidence = { conclusion: 'wait', seconds: 2, left: 58, checks }
  const steps = [migrationStep('observe', 'VERIFYING', { state: 'running', evidence })]
  showRouted(<VerifyPage migration={migration({ stage: 'VERIFYING', steps })} readOnly={null} />)
  expect(await screen.findAllByText('Waiting')).toHaveLength(3)
  expect(screen.queryByText('Failed')).not.toBeInTheDocument()
  expect(screen.queryByText('Passed')).not.toBeInTheDocument()
})

it('says on every page that a decision is requested where a gate stands before that', async () => {
  const plan = migrationPlan({ gates: ['COMMITTED'] })
  const found = migration({ stage: 'VERIFYING', plan, choices: [migrationChoice('advance')] })
  const { unmount } = showRouted(<VerifyPage migration={found} readOnly={null} />)
  expect(await screen.findByText(/a decision is requested. Otherwise/)).toBeInTheDocument()
  unmount()
  const { unmount: leave } = showRouted(<CommitPage migration={found} readOnly={null} />)
  expect(await screen.findByText(/a decision is requested. Otherwise/)).toBeInTheDocument()
  leave()
  showRouted(<ChangePage migration={found} readOnly={null} />)
  expect((await screen.findByText('If all checks pass')).nextSibling).toHaveTextContent('request a decision')
})

it('shows the call with a word about what is hidden in it', async () => {
  const spec = { definition: { sinks: { out: { password: '[hidden]' } } } }
  showRouted(<ChangePage migration={migration({ spec })} readOnly={null} />)
  await userEvent.click(await screen.findByRole('button', { name: 'Show API call' }))
  expect(await screen.findByRole('group', { name: 'Plan: API call with curl' })).toHaveTextContent(
    '"[hidden]"',
  )
  expect(screen.getByText(/^A value is hidden/)).toBeInTheDocument()
})

it('offers another try where the way back is stuck', async () => {
  const steps = [
    migrationStep('start_old', 'ROLLING_BACK', { state: 'failed', message: 'Its host is silent.' }),
  ]
  const stuck = migration({ stage: 'NEEDS_ATTENTION', steps, choices: [migrationChoice('advance')] })
  showRouted(<BackPage migration={stuck} readOnly={null} />)
  expect(await screen.findByText('Its host is silent.')).toBeInTheDocument()
  expect(await pressable('Retry failed step')).toBeInTheDocument()
})

it('shows the report with its digest and both downloads', async () => {
  const place = { source: 'shop', channel: 'main', topic: 'orders-in', partition: 0 }
  given.get(`/migrations/${ID}/evidence`, () => ({
    sha256: 'f00d',
    content: {
      positions: [{ ...place, stopped_at: 100, snapshot: 100, started_at: 100, gap: 0, overlap: 0 }],
      ...{
        gap: 0,
        overlap: 0,
        totals: { before: { read: 1 }, after: { gaps: 0, delivered: 1, filtered: 1, read: 2 } },
      },
      pause: { expected: 4.2, seen: 2.1 },
      ...{ steps: [], outcome: [], shadow: null },
      expected: { skip: 0, replay: 0 },
      rollback: null,
    },
  }))
  showRouted(<ReportPage migration={migration({ stage: 'COMMITTED', open: false })} readOnly={null} />)
  expect(await screen.findByText('SHA-256 f00d')).toBeInTheDocument()
  expect(screen.getByText('2.1 s')).toBeInTheDocument()
  const totals = within(screen.getByRole('table', { name: 'Ledger totals before and after' }))
  expect(totals.getAllByRole('rowheader').map(({ textContent }) => textContent)).toEqual([
    ...['read', 'filtered', 'delivered', 'gaps'],
  ])
  expect(screen.getByRole('link', { name: 'Download JSON' })).toHaveAttribute(
    'href',
    `/api/v1/migrations/${ID}/evidence?format=json`,
  )
  expect(screen.getByRole('link', { name: /Open printable report/ })).toHaveAttribute(
    'href',
    `/api/v1/migrations/${ID}/evidence?format=html`,
  )
})

it('shows both cuts of one that was taken back after its new side had delivered', async () => {
  const place = { source: 'shop', channel: 'main', topic: 'orders-in', partition: 0, gap: 0, overlap: 0 }
  given.get(`/migrations/${ID}/evidence`, () => ({
    sha256: 'f00d',
    content: {
      positions: [{ ...place, stopped_at: 100, snapshot: 100, started_at: 100 }],
      ...{ gap: 0, overlap: 0, totals: { before: { read: 1 }, after: { read: 2 } } },
      pause: { expected: 4.2, seen: 2.1 },
      ...{ steps: [], outcome: [], shadow: null },
      expected: { skip: 0, replay: 0 },
      rollback: {
        positions: [{ ...place, stopped_at: 250, started_at: 250 }],
        gap: 0,
        overlap: 0,
        seen: 3.4,
        duplicates_max: 40,
      },
    },
  }))
  showRouted(<ReportPage migration={migration({ stage: 'ROLLED_BACK', open: false })} readOnly={null} />)
  expect(await screen.findByText('3.4 s')).toBeInTheDocument()
  expect(screen.getByText('0 skipped, 0 reread, at most 40 possible duplicates')).toBeInTheDocument()
  const back = screen.getByRole('table', { name: 'Rollback positions' })
  expect(within(back).getAllByRole('cell', { name: '250' })).toHaveLength(2)
  expect(within(back).queryByText('Snapshot')).not.toBeInTheDocument()
})

describe('cancel and roll back', () => {
  const back = migrationChoice('rollback', {
    sentence: 'Roll back migration.',
    impact: impact({ pause: 20, words: 'The old agent starts anew.' }),
  })

  it('is in sight with its price, and asked for with a reason', async () => {
    const sent = vi.fn()
    given.post(`/migrations/${ID}/rollback`, async (request) => {
      sent(await request.json())
      return migration({ stage: 'ROLLING_BACK' })
    })
    showRouted(<RollbackPanel migration={migration({ stage: 'RESUMING', choices: [back] })} rights={null} />)
    expect(await screen.findByText(/pause of about 20 s\. The old agent starts anew/)).toBeInTheDocument()
    await userEvent.click(screen.getByRole('button', { name: 'Roll back migration' }))
    const dialog = await screen.findByRole('dialog', { name: 'Roll back this migration?' })
    await userEvent.type(within(dialog).getByLabelText('Reason'), 'too slow')
    await userEvent.click(within(dialog).getByRole('button', { name: 'Roll back migration' }))
    await waitFor(() => expect(sent).toHaveBeenCalledWith({ reason: 'too slow' }))
  })

  it('is refused to viewers and, too late, to everybody, with the reason', async () => {
    const late = migrationChoice('abort', { allowed: false, reason: 'Something has changed already.' })
    showRouted(<RollbackPanel migration={migration({ choices: [late] })} rights={null} />)
    expect(await screen.findByRole('button', { name: 'Cancel migration' })).toHaveAccessibleDescription(
      'Something has changed already.',
    )
  })

  it('of one that was closed does not say where the pipeline is', async () => {
    const closed = { stage: 'ROLLED_BACK', open: false, choices: [] } satisfies Partial<MigrationDetail>
    const steps = [migrationStep('start_old', 'ROLLING_BACK', { state: 'failed' })]
    const { unmount } = showRouted(
      <RollbackPanel migration={migration({ ...closed, steps })} rights={null} />,
    )
    expect(await screen.findByText('Completed.')).toBeInTheDocument()
    unmount()
    const gone = [migrationStep('start_old', 'ROLLING_BACK', { state: 'done' })]
    showRouted(<RollbackPanel migration={migration({ ...closed, steps: gone })} rights={null} />)
    expect(await screen.findByText('Completed. The pipeline is as it was before.')).toBeInTheDocument()
  })

  it('after the commit plans a migration of its own, and goes there', async () => {
    const choices = [migrationChoice('revert', { sentence: 'Revert migration.' })]
    const over = migration({ stage: 'COMMITTED', open: false, choices, old_revision: 3 })
    const sent = vi.fn()
    given.post(`/migrations/${over.id}/revert`, async (request) => {
      sent(await request.json())
      return migration({ id: 'the-way-back', stage: 'PLANNED', reverts: over.id })
    })
    const { router } = showRouted(<RollbackPanel migration={over} rights={null} />)
    await userEvent.click(await screen.findByRole('button', { name: 'Plan revert' }))
    const dialog = await screen.findByRole('dialog')
    await userEvent.type(within(dialog).getByLabelText('Reason'), 'too slow')
    await userEvent.click(within(dialog).getByRole('button', { name: 'Plan revert' }))
    await waitFor(() => expect(router.state.location.pathname).toBe('/migrations/the-way-back'))
    expect(sent).toHaveBeenCalledWith({ reason: 'too slow' })
  })

  it('is refused, after the commit, where nothing leads back', async () => {
    const choice = migrationChoice('revert', {
      allowed: false,
      reason: 'Install the earlier software first.',
    })
    showRouted(<RollbackPanel migration={migration({ choices: [choice] })} rights={null} />)
    expect(await screen.findByRole('button', { name: 'Plan revert' })).toHaveAccessibleDescription(
      'Install the earlier software first.',
    )
  })
})

it('has a Next that says, in sight and to readers, why it cannot be pressed', async () => {
  const plan = migrationPlan({ blockers: [finding()] })
  showRouted(<Footer migration={migration({ stage: 'DRAFT', plan })} step="plan" />)
  const next = await screen.findByRole('button', { name: 'Next: Approve' })
  expect(next).toHaveAccessibleDescription(/1 blocker/)
  expect(screen.getAllByText(/1 blocker/)[0]).toBeVisible()
  expect(screen.getByRole('link', { name: 'Change' })).toBeInTheDocument()
})
