import { Button, Stack, Text } from '@mantine/core'
import { CodeBlock } from '@/components/ui/CodeBlock'

/** The codes, on the one occasion that they are shown. */
export function RecoveryCodes({ codes, onDone }: { codes: string[]; onDone: () => void }) {
  return (
    <Stack gap="md">
      <Text size="sm">
        Keep these recovery codes in a safe place. Each replaces a code of the application, once. They are not
        shown again.
      </Text>
      <CodeBlock code={codes.join('\n')} label="Recovery codes" />
      <Button onClick={onDone}>I have kept the codes</Button>
    </Stack>
  )
}
