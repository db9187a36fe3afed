import { notifications } from '@mantine/notifications'
import { isMasked, type SavedTest, withTest } from './savedTest'

const SAVED = 'A test was added to the definition. All users who may see the definition see the record in it.'
const MASKED = `${SAVED} Masked values stay masked, so the test may fail where they count.`
const ONE_LINE = 'The key tests is written on one line. Write it as a list, and save again.'

/** Adds a test to the text of a definition, and says what became of it. */
export function saveTest(text: string, test: SavedTest, onChange: (next: string) => void) {
  const next = withTest(text, test)
  if (next !== null) onChange(next)
  const message = isMasked(test) ? MASKED : SAVED
  notifications.show({ message: next === null ? ONE_LINE : message })
}
