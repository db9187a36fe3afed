import {
  Button,
  FileButton,
  Group,
  Modal,
  SegmentedControl,
  Stack,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { IconUpload } from '@tabler/icons-react'
import { useState } from 'react'
import { importConnect, importFlume } from '@/api/imports'
import type { Import, ImportFinding } from '@/api/types'
import { CodeBlock } from '@/components/ui/CodeBlock'
import { ErrorNote } from '@/components/ui/Feedback'
import { FindingList } from '@/components/ui/Findings'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { plural } from '@/lib/format'
import classes from './editor.module.css'

type System = 'flume' | 'connect'

const SYSTEMS = [
  { value: 'flume', label: 'Apache Flume' },
  { value: 'connect', label: 'Kafka Connect' },
]
const WORDS: Record<System, { text: string; name: string; names: string }> = {
  flume: {
    text: 'The properties file of the agents.',
    name: 'Agent',
    names: 'Where the file has several agents.',
  },
  connect: {
    text: 'A connector as JSON or properties, or what GET /connectors?expand=info answers.',
    name: 'Connector',
    names: 'Where the text has several connectors.',
  },
}

interface ImportDialogProps {
  onUse: (text: string) => void
  onClose: () => void
}

/** A configuration of another system, pasted or uploaded, becomes a definition in the editor. */
export function ImportDialog({ onUse, onClose }: ImportDialogProps) {
  const [system, setSystem] = useState<System>('flume')
  const [text, setText] = useState('')
  const [name, setName] = useState('')
  const [servers, setServers] = useState('')
  const words = WORDS[system]
  const convert = useMutation({
    mutationFn: () =>
      system === 'flume'
        ? importFlume(text, name || null)
        : importConnect(text, name || null, servers || null),
  })
  const give = (next: string) => {
    setText(next)
    setSystem(systemOf(next))
    convert.reset()
  }
  return (
    <Modal opened onClose={onClose} title="Import configuration" size="70rem">
      <Stack gap="md">
        <Group justify="space-between">
          <SegmentedControl
            aria-label="System"
            data={SYSTEMS}
            value={system}
            onChange={(next) => {
              setSystem(next as System)
              convert.reset()
            }}
          />
          <FileButton
            onChange={(file) => void file?.text().then(give)}
            accept=".conf,.properties,.json,text/*"
          >
            {(props) => (
              <Button variant="default" leftSection={<IconUpload size={14} aria-hidden />} {...props}>
                Upload file
              </Button>
            )}
          </FileButton>
        </Group>
        <Textarea
          label="Configuration"
          description={words.text}
          value={text}
          onChange={(event) => give(event.currentTarget.value)}
          minRows={8}
          maxRows={16}
          autosize
          data-autofocus
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: '0.75rem' } }}
        />
        <Group grow align="flex-start">
          <TextInput
            label={words.name}
            description={words.names}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          {system === 'connect' && (
            <TextInput
              label="Bootstrap servers"
              description="The brokers of the Connect worker, which no connector names."
              placeholder="broker:9092"
              value={servers}
              onChange={(event) => setServers(event.currentTarget.value)}
            />
          )}
        </Group>
        {convert.error && <ErrorNote error={convert.error} />}
        {convert.data && <Result made={convert.data} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <ReasonButton
            variant={convert.data ? 'default' : 'filled'}
            reason={text.trim() ? null : 'Paste or upload a configuration.'}
            loading={convert.isPending}
            onClick={() => convert.mutate()}
          >
            Convert configuration
          </ReasonButton>
          {convert.data && <Button onClick={() => onUse(commented(convert.data))}>Open in the editor</Button>}
        </Group>
      </Stack>
    </Modal>
  )
}

function Result({ made }: { made: Import }) {
  const errors = made.findings.filter(({ severity }) => severity === 'error').length
  return (
    <section aria-label="Result" className={classes.send}>
      <Text size="sm" role="status">
        {made.valid
          ? `The definition is valid, with ${plural(made.findings.length, 'finding')}.`
          : `${plural(errors, 'error')} to decide in the editor, and ${plural(made.findings.length - errors, 'warning')}.`}
      </Text>
      {made.findings.length > 0 && (
        <div className={classes.imported}>
          <FindingList findings={made.findings.map(told)} />
        </div>
      )}
      <CodeBlock code={made.definition_yaml} label="Definition" maxHeight={260} />
    </section>
  )
}

/** A finding with its setting in place of the path, and with what was done about it. */
function told({ key, line, done, ...finding }: ImportFinding): ImportFinding {
  const where = [key || finding.path, line === null ? '' : `line ${line}`].filter(Boolean).join(', ')
  return { ...finding, key, line, done, path: where, message: `${finding.message} ${done}`.trim() }
}

/** The definition, with what is to be decided as comments above it. */
export function commented({ definition_yaml, findings }: Import): string {
  const open = findings.filter(({ severity }) => severity === 'error')
  const lines = open.map(({ path, key, message, suggestion }) =>
    `# ${path || key}: ${message} ${suggestion}`.replaceAll('\n', ' ').trimEnd(),
  )
  return [...(open.length > 0 ? ['# To decide, from the import:', ...lines] : []), definition_yaml].join('\n')
}

/** What a text is of: Kafka Connect writes JSON, or names a connector.class. */
export function systemOf(text: string): System {
  return /^\s*[[{]/.test(text) || /^\s*connector\.class\s*[=:]/m.test(text) ? 'connect' : 'flume'
}
