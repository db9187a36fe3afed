import { screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { vi } from 'vitest'
import type { AuditFilter } from '@/api/audit'
import type { AuditChain, AuditEntry, AuditForwarding } from '@/api/types'
import { auditCall, auditRowCall } from '@/domain/calls'
import { session, T0 } from '@/testing/factories'
import { showRouted } from '@/testing/render'
import { given, problem } from '@/testing/server'
import { HOSTILE, loose } from '@/testing/shell'
import { AuditList } from './AuditPage'
import { AuditRow } from './AuditRowPage'
import { ChainState, forwardingVerdict, verdict } from './ChainState'
import { differenceOf } from './changes'
import { ExportButtons } from './ExportButtons'
import { Filters } from './Filters'

function entry(fields: Partial<AuditEntry> = {}): AuditEntry {
  return {
    id: 1,
    at: T0,
    actor: 'ana',
    action: 'secret.replaced',
    pipeline: '',
    object: 'shop',
    team: '',
    token: 'hg_0123456789ab ci',
    request_id: 'r-1',
    address: '10.0.0.1',
    before: { name: 'shop', version: 1 },
    after: { name: 'shop', version: 2 },
    outcome: 'accepted',
    sequence: 7,
    digest: 'abc',
    ...fields,
  }
}

function chain(fields: Partial<AuditChain> = {}): AuditChain {
  return {
    head: { sequence: 12, digest: 'abc', at: T0, key: 'k', signature: 's' },
    unsealed: 0,
    oldest_unsealed_at: null,
    check: { at: T0, sequence: 10, holds: true, problem: '' },
    check_requested_at: null,
    forwarding: [],
    ...fields,
  }
}

function forwarding(fields: Partial<AuditForwarding> = {}): AuditForwarding {
  return {
    destination: 'syslog',
    address: 'tls://logs',
    sequence: 9,
    behind: 0,
    behind_since: null,
    forwarded_at: T0,
    failing_since: null,
    error: '',
    ...fields,
  }
}

describe('what a request changed', () => {
  it('compares key by key, and keeps what is the same beside it', () => {
    const before = { name: 'shop', spec: { a: 1, b: [1] }, gone: true }
    expect(differenceOf({ before, after: { name: 'shop', spec: { a: 2, b: [1] }, new: null } })).toEqual({
      changes: [
        { path: 'spec.a', op: 'change', old: 1, new: 2 },
        { path: 'gone', op: 'remove', old: true, new: undefined },
        { path: 'new', op: 'add', old: undefined, new: null },
      ],
      same: [
        ['name', 'shop'],
        ['spec.b', [1]],
      ],
    })
    expect(differenceOf({ before: null, after: null })).toEqual({ changes: [], same: [] })
    expect(differenceOf({ before: 'a', after: 'b' }).changes).toEqual([
      { path: 'value', op: 'change', old: 'a', new: 'b' },
    ])
  })
})

describe('the list', () => {
  const open = (rows: AuditEntry[], filter: AuditFilter = {}) => {
    given.get('/audit', () => ({ results: rows, next: null }))
    showRouted(<AuditList filter={filter} />)
  }

  it('shows who did what from where, and the difference behind it', async () => {
    open([entry(), entry({ id: 2, outcome: 'refused', sequence: null, before: null, after: null })])
    const [first, second] = await screen.findAllByRole('listitem')
    expect(first).toHaveTextContent('anasecret.replacedshop10.0.0.1')
    expect(second).toHaveTextContent('secret.replaced refused')
    await userEvent.click(within(first!).getByText('secret.replaced'))
    const changes = await within(first!).findByRole('table', { name: 'Changes of row 1' })
    expect(changes).toHaveTextContent('versionchanged12')
    expect(first).toHaveTextContent('Tokenhg_0123456789ab ci')
    expect(first).toHaveTextContent('Row7')
    expect(within(first!).getByRole('link', { name: 'Row 1' })).toHaveAttribute('href', '/audit/1')
    await userEvent.click(within(second!).getByText('secret.replaced'))
    expect(await within(second!).findByText('not sealed yet')).toBeVisible()
    expect(within(second!).queryByRole('table')).toBeNull()
  })

  it('says what would be here, and asks the server for what the filter leaves', async () => {
    open([])
    expect(await screen.findByText('No rows yet')).toBeVisible()
    const asked = vi.fn()
    given.get('/audit', ({ url }) => {
      asked(new URL(url).search)
      return { results: [], next: null }
    })
    showRouted(<AuditList filter={{ actor: 'ana', since: T0, action: undefined }} />)
    expect(await screen.findByText('No rows match')).toBeVisible()
    expect(asked).toHaveBeenCalledWith(`?actor=ana&since=${encodeURIComponent(T0)}&limit=50`)
  })
})

describe('a row at its own address', () => {
  it('shows what was before and after without a click, and how to get it otherwise', async () => {
    given.get('/audit/41', () => entry({ id: 41 }))
    showRouted(<AuditRow id={41} />)
    expect(await screen.findByRole('heading', { name: 'ana: secret.replaced shop' })).toBeVisible()
    expect(screen.getByRole('table', { name: 'Changes of row 41' })).toHaveTextContent('versionchanged12')
    expect(screen.getByRole('link', { name: 'All rows' })).toHaveAttribute('href', '/audit')
    expect(auditRowCall(41).cli).toContain('audit show 41')
  })

  it('that is not for the user is as one that does not exist', async () => {
    given.get('/audit/42', () => problem(404, 'audit_row_not_found', 'There is no row 42 in the audit.'))
    showRouted(<AuditRow id={42} />)
    expect(await screen.findByText('There is no such row')).toBeVisible()
    expect(screen.queryByRole('button', { name: 'Try again' })).toBeNull()
  })
})

describe('filters', () => {
  it('keeps the others, and clears all', async () => {
    const changed = vi.fn()
    showRouted(<Filters filter={{ actor: 'ana' }} onChange={changed} />)
    await userEvent.type(await screen.findByRole('textbox', { name: 'Action' }), 'secret.')
    await vi.waitFor(() => expect(changed).toHaveBeenLastCalledWith({ actor: 'ana', action: 'secret.' }))
    await userEvent.type(screen.getByLabelText(/^From/), '2026-11-21T12:00')
    expect(changed).toHaveBeenLastCalledWith({
      actor: 'ana',
      since: new Date('2026-11-21T12:00').toISOString(),
    })
    await userEvent.click(screen.getByRole('button', { name: 'Clear filters' }))
    expect(changed).toHaveBeenLastCalledWith({})
  })

  it('is a command that a shell cannot read otherwise', () => {
    const call = auditCall({ actor: HOSTILE, text: HOSTILE })
    expect(call.cli).toContain('audit list --actor ')
    expect(loose(call)).not.toContain('evil')
  })
})

describe('exports', () => {
  it('are links for administrators, with the filters', async () => {
    showRouted(<ExportButtons filter={{ actor: 'a&b' }} session={session('admin')} />)
    const link = await screen.findByRole('link', { name: 'Export CSV' })
    expect(link).toHaveAttribute('href', '/api/v1/audit/export?format=csv&actor=a%26b')
    expect(screen.getByRole('link', { name: 'Export JSON Lines' })).toBeVisible()
  })

  it('tell an operator why not', async () => {
    showRouted(<ExportButtons filter={{}} session={session('operator')} />)
    const button = await screen.findByRole('button', { name: 'Export CSV' })
    expect(button).toHaveAttribute('aria-disabled', 'true')
    expect(screen.queryByRole('link')).toBeNull()
  })
})

describe('the chain', () => {
  const now = Date.parse(T0)

  it.each([
    ['ok', 'Verified', chain()],
    ['warn', 'Verified earlier', chain({ check: { ...chain().check!, at: '2026-11-21T08:00:00Z' } })],
    [
      'bad',
      'Does not verify',
      chain({ check: { ...chain().check!, holds: false, problem: 'Row 3 was changed' } }),
    ],
    ['idle', 'Not verified yet', chain({ check: null })],
    ['idle', 'Nothing sealed yet', chain({ check: null, head: null })],
    ['warn', 'Head missing since it was verified', chain({ head: null })],
  ])('is %s and says "%s"', (tone, word, state) => {
    expect(verdict(state, now)).toMatchObject({ tone, word })
  })

  it('says how far it is verified, and asks a worker for more', async () => {
    given.get('/session', () => session('operator'))
    given.get('/audit/chain', () => chain({ unsealed: 2, oldest_unsealed_at: T0 }))
    showRouted(<ChainState />)
    expect(await screen.findByText(/up to row 10; 2 rows sealed since then/)).toBeVisible()
    expect(screen.getByText(/2 rows wait to be sealed.*Check that a worker runs/)).toBeVisible()
    given.post('/audit/chain/verify', () => chain({ check_requested_at: T0 }))
    await userEvent.click(screen.getByRole('button', { name: 'Verify now' }))
    expect(await screen.findByRole('button', { name: 'Verifying' })).toHaveAttribute('aria-disabled', 'true')
  })

  it.each([
    ['ok', 'Forwarded', {}],
    ['bad', 'Not forwarded', { error: 'Connection refused.', behind: 2 }],
    ['warn', 'Forwarding is behind', { behind: 2, behind_since: '2026-11-21T11:00:00Z' }],
    ['busy', 'Forwarding', { behind: 2, behind_since: T0 }],
    ['idle', 'Nothing to forward yet', { sequence: 0 }],
  ])('is forwarded: %s, "%s"', (tone, word, fields) => {
    expect(forwardingVerdict(forwarding(fields), now)).toMatchObject({ tone, word })
  })

  it('says how far a receiver is behind, since when and why', async () => {
    given.get('/session', () => session('operator'))
    const away = forwarding({ behind: 3, behind_since: T0, failing_since: T0, error: 'Connection refused.' })
    given.get('/audit/chain', () => chain({ forwarding: [away] }))
    showRouted(<ChainState />)
    expect(await screen.findByText('Not forwarded')).toBeVisible()
    expect(document.body).toHaveTextContent(/to tls:\/\/logs, up to row 9; 3 rows behind since/)
    expect(document.body).toHaveTextContent(/Failing since .*Connection refused/)
  })

  it('names the first row that does not hold', async () => {
    given.get('/session', () => session('operator'))
    given.get('/audit/chain', () =>
      chain({ check: { at: T0, sequence: 2, holds: false, problem: 'Row 3 was changed.' } }),
    )
    showRouted(<ChainState />)
    expect(await screen.findByText(/Row 3 was changed. Found at/)).toBeVisible()
    expect(screen.queryByText('Verified')).toBeNull()
  })
})
