import { IconCode } from '@tabler/icons-react'
import { Disclosure } from '@/components/ui/Disclosure'
import type { Call } from '@/domain/calls'
import { CallTabs } from './CallTabs'

/** "Show the call" inside a form or a dialog. */
export function ShowCall({ call, subject }: { call: Call; subject: string }) {
  return (
    <Disclosure label="Show API call" openLabel="Hide API call" icon={<IconCode size={14} aria-hidden />}>
      <CallTabs call={call} subject={subject} />
    </Disclosure>
  )
}
