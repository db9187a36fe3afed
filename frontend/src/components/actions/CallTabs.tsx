import { Tabs, Text } from '@mantine/core'
import { CodeBlock } from '@/components/ui/CodeBlock'
import type { Call } from '@/domain/calls'

/** The same act for a terminal or a script. The token comes from the environment and is never shown. */
export function CallTabs({ call, subject }: { call: Call; subject: string }) {
  return (
    <Tabs defaultValue="curl" keepMounted={false}>
      <Tabs.List mb={8}>
        <Tabs.Tab value="curl">API call</Tabs.Tab>
        {call.cli && <Tabs.Tab value="cli">CLI command</Tabs.Tab>}
      </Tabs.List>
      {call.note && (
        <Text size="sm" mb={8}>
          {call.note}
        </Text>
      )}
      <Tabs.Panel value="curl">
        <CodeBlock code={call.curl} label={`${subject}: API call with curl`} />
      </Tabs.Panel>
      {call.cli && (
        <Tabs.Panel value="cli">
          <CodeBlock code={call.cli} label={`${subject}: CLI command`} />
        </Tabs.Panel>
      )}
    </Tabs>
  )
}
