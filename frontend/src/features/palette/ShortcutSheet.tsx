import { Kbd, Modal } from '@mantine/core'
import { Table } from '@/components/ui/Table'
import { COMMAND_KEY } from '@/lib/keys'

const SHORTCUTS: { keys: string[]; does: string }[] = [
  { keys: [COMMAND_KEY, 'K'], does: 'Open the command palette' },
  { keys: ['/'], does: 'Go to the filter of the page' },
  { keys: ['?'], does: 'Show these shortcuts' },
  { keys: ['Esc'], does: 'Close a dialog, the palette or the details of a component' },
  { keys: ['←', '→'], does: 'Go to the previous or the next point of a chart' },
  { keys: ['Page up', 'Page down'], does: 'Go back or forward by 30 points of a chart' },
  { keys: ['Home', 'End'], does: 'Go to the first or the last point of a chart' },
  { keys: ['j', 'k'], does: 'Go to the next or the previous alert' },
  { keys: ['Enter'], does: 'Open what the alert is about' },
  { keys: ['a', 's', 'x'], does: 'Acknowledge, silence or select the alert' },
  { keys: ['Tab', 'Enter'], does: 'Select a component of the topology, and show its details' },
]

/** All shortcuts of the page. */
export function ShortcutSheet({ onClose }: { onClose: () => void }) {
  return (
    <Modal opened onClose={onClose} title="Keyboard shortcuts">
      <Table
        label="Keyboard shortcuts"
        head={
          <>
            <th>Keys</th>
            <th>Effect</th>
          </>
        }
      >
        {SHORTCUTS.map(({ keys, does }) => (
          <tr key={does}>
            <th scope="row">
              {keys.map((key) => (
                <Kbd key={key} mr={4}>
                  {key}
                </Kbd>
              ))}
            </th>
            <td>{does}</td>
          </tr>
        ))}
      </Table>
    </Modal>
  )
}
