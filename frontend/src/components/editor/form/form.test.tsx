import { act, screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useSyncExternalStore } from 'react'
import { parse } from 'yaml'
import type { Finding } from '@/api/types'
import { show } from '@/testing/render'
import definitionSchema from '../../../../definition-schema.json'
import { SchemaTree, type Schema } from '../schema/schema'
import type { Path } from '../text/paths'
import { DefinitionForm } from './DefinitionForm'

const tree = new SchemaTree(definitionSchema as unknown as Schema)

const TEXT = `# The shop's orders.
api_version: headgate/v1
name: orders # as in the ticket
sources:
  shop:
    type: kafka
    bootstrap_servers: b:1
    topics: [orders]
    group_id: g
    start_from: earliest
    selector: {type: multiplexing, header: h, mapping: {a: [main], b: [main, side]}}
channels:
  main: {type: direct}
  side: {type: direct} # for the audit
sinks:
  out: {type: logger, channel: main}
  log: {type: logger, channel: side}
tests:
  - name: all arrive
    given: [{body: x}]
    expect: [{channels: [side]}]
`

interface FormOptions {
  text?: string
  findings?: Finding[]
  revealed?: { path: Path } | null
}

/** The form over a text. `put` writes another text, as the editor beside it does. */
function drawn({ text = TEXT, findings = [], revealed = null }: FormOptions = {}) {
  let current = text
  let redraw = () => {}
  const change = (next: string) => {
    current = next
    redraw()
  }
  const subscribe = (listener: () => void) => {
    redraw = listener
    return () => {}
  }
  function Owner() {
    const own = useSyncExternalStore(subscribe, () => current)
    return (
      <DefinitionForm
        tree={tree}
        text={own}
        findings={findings}
        names={{ hosts: ['alpha'], clusters: [] }}
        secrets={['lake']}
        revealed={revealed}
        onChange={change}
      />
    )
  }
  show(<Owner />)
  return { text: () => current, put: (next: string) => act(() => change(next)), user: userEvent.setup() }
}

const part = (name: string) => within(screen.getByRole('group', { name }))

const finding = (path: string, message: string): Finding => ({
  path,
  code: 'x',
  message,
  suggestion: 'Do better.',
  severity: 'error',
  line: 1,
  column: 1,
})

describe('the form of a definition', () => {
  it('writes each keystroke into the text, and nothing else', async () => {
    const { text, user } = drawn()
    await user.type(part('shop').getByRole('textbox', { name: /^Group ID/ }), '-2')
    expect(text()).toBe(TEXT.replace('group_id: g', 'group_id: g-2'))
  })

  it('shows each keystroke in the text', async () => {
    const { put } = drawn()
    put(TEXT.replace('name: orders', 'name: more'))
    expect(await screen.findByDisplayValue('more')).toBeInTheDocument()
  })

  it('shows what is set and what has to be, the rest on demand; what is left alone is not written', async () => {
    const { text, user } = drawn()
    expect(part('out').queryByRole('textbox', { name: /^Write deadline/ })).toBeNull()
    await user.click(part('out').getByRole('button', { name: /more setting/ }))
    const deadline = part('out').getByRole('textbox', { name: /^Write deadline/ })
    expect(deadline).toHaveAttribute('placeholder', '300')
    expect(deadline).toHaveAccessibleDescription(/Unit: seconds · Default: 300/)
    expect(text()).toBe(TEXT)
    await user.type(deadline, '5m')
    expect(text()).toContain('out: {type: logger, channel: main, write_deadline: 5m}')
    await user.clear(deadline)
    await user.tab()
    expect(text()).toBe(TEXT)
  })

  it('writes numbers as numbers, and texts that look like one as texts', async () => {
    const { text, user } = drawn()
    await user.click(last())
    await user.click(screen.getByRole('button', { name: /^Delivery/ }))
    await user.click(part('Delivery').getByRole('button', { name: /more setting/ }))
    await user.type(part('Delivery').getByRole('textbox', { name: /^Trigger interval ms/ }), '50')
    expect((parse(text()) as { delivery: unknown }).delivery).toEqual({ trigger_interval_ms: 50 })
    await user.clear(part('shop').getByRole('textbox', { name: /^Group ID/ }))
    await user.type(part('shop').getByRole('textbox', { name: /^Group ID/ }), '12')
    expect(text()).toContain('group_id: "12"')
  })

  it('renames a channel wherever it is named', async () => {
    const { text, user } = drawn()
    await user.type(part('side').getByRole('textbox', { name: 'Name' }), 's')
    expect(text()).toBe(TEXT.replaceAll(/\bside\b/g, 'sides'))
  })

  it('takes no name that is taken', async () => {
    const { text, user } = drawn()
    const name = part('side').getByRole('textbox', { name: 'Name' })
    await user.clear(name)
    expect(name).toHaveAccessibleDescription('Write a name.')
    expect(text()).toBe(TEXT)
    await user.type(name, 'main')
    expect(name).toHaveAccessibleDescription('This name is taken.')
    expect(text()).toContain('  mai: ')
    await user.tab()
    expect(name).toHaveValue('mai')
  })

  it('adds a component of a type with the keys that it needs', async () => {
    const { text, user } = drawn()
    await user.click(addChannel())
    await user.click(await screen.findByRole('menuitem', { name: /^Kafka/ }))
    expect(text()).toContain(
      'for the audit\n  channel:\n    type: kafka\n    bootstrap_servers: ""\n    topic: ""\nsinks:',
    )
  })

  it('moves and removes a component', async () => {
    const { text, user } = drawn()
    await user.click(screen.getByRole('button', { name: 'Move side up' }))
    expect(text()).toContain('channels:\n  side: {type: direct} # for the audit\n  main: {type: direct}\n')
    await user.click(screen.getByRole('button', { name: 'Remove side' }))
    expect(text()).toContain('channels:\n  main: {type: direct}\nsinks:')
  })

  it('keeps what two types have in common when the type is changed', async () => {
    const { text, user } = drawn()
    await user.selectOptions(part('out').getByRole('combobox', { name: 'Type' }), 'Null (null)')
    expect((parse(text()) as { sinks: { out: unknown } }).sinks.out).toEqual({
      type: 'null',
      channel: 'main',
    })
  })

  it('shows what is wrong at its field, and counts it at its part', () => {
    drawn({ findings: [finding('sinks.out.channel', 'There is no such channel.')] })
    expect(part('out').getByDisplayValue('main')).toHaveAccessibleDescription(
      /There is no such channel. Do better./,
    )
    expect(screen.getByRole('button', { name: /^out .*1 finding/ })).toBeInTheDocument()
  })

  it('shows keys that do not exist, and removes them', async () => {
    const { text, user } = drawn({ text: TEXT.replace('group_id: g\n', 'group_id: g\n    topicz: 1\n') })
    await user.click(screen.getByRole('button', { name: 'Remove topicz' }))
    expect(text()).toBe(TEXT)
  })

  it('opens what a user wants to see, and goes there', async () => {
    drawn({ revealed: { path: ['delivery', 'mode'] } })
    expect(await screen.findByRole('combobox', { name: /^Mode/ })).toBeInTheDocument()
  })

  it('shows the last state of a text that cannot be read, and takes no changes', async () => {
    const { put } = drawn()
    put(`${TEXT}labels: [\n`)
    expect(await screen.findByRole('status')).toHaveTextContent(/The YAML cannot be read \(line \d+\)/)
    expect(part('shop').getByRole('textbox', { name: /^Group ID/ })).toBeDisabled()
    expect(addChannel()).toBeDisabled()
    put(TEXT)
    await screen.findByRole('button', { name: 'Remove side' })
    expect(part('shop').getByRole('textbox', { name: /^Group ID/ })).toBeEnabled()
  })

  it('shows no form of a text that could never be read', () => {
    drawn({ text: 'a: [' })
    expect(screen.getByRole('status')).toHaveTextContent('Fix the YAML to see it as a form.')
    expect(screen.queryAllByRole('textbox')).toEqual([])
  })
})

/** Tests have channels, too. */
const addChannel = () => screen.getAllByRole('button', { name: 'Add channel' })[0]!

/** The button of the definition itself, behind those of its parts. */
const last = () => screen.getAllByRole('button', { name: /more setting/ }).at(-1)!
