import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { IconArrowRight } from '@tabler/icons-react'
import { Fragment, useState } from 'react'
import { templatesQuery } from '@/api/templates'
import type { Template } from '@/api/types'
import { CodeBlock } from '@/components/ui/CodeBlock'
import { ErrorNote, Loading } from '@/components/ui/Feedback'
import classes from './editor.module.css'

interface TemplateDialogProps {
  onUse: (text: string) => void
  onClose: () => void
}

/** Definitions to start from, one for each common job; the chosen one opens in the editor. */
export function TemplateDialog({ onUse, onClose }: TemplateDialogProps) {
  const { data, error, refetch } = useQuery(templatesQuery)
  const [name, setName] = useState<string | null>(null)
  const chosen = data?.find((each) => each.name === name) ?? data?.[0]
  return (
    <Modal opened onClose={onClose} title="Start from a template" size="70rem">
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading rows={8} />}
      {data && chosen && (
        <Stack gap="md">
          <div className={classes.gallery}>
            <ul className={classes.cards} aria-label="Templates">
              {data.map((each) => (
                <li key={each.name}>
                  <button
                    type="button"
                    className={classes.card}
                    aria-pressed={each.name === chosen.name}
                    onClick={() => setName(each.name)}
                    onDoubleClick={() => onUse(each.definition_yaml)}
                  >
                    <strong>{each.title}</strong>
                    <Flow template={each} />
                  </button>
                </li>
              ))}
            </ul>
            <Stack gap="xs" className={classes.chosen}>
              <Text size="sm">{chosen.description}</Text>
              <Text size="sm" c="dimmed">
                Fill in: {chosen.fill_in.join(', ')}
              </Text>
              <CodeBlock code={chosen.definition_yaml} label={chosen.title} maxHeight={420} />
            </Stack>
          </div>
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button onClick={() => onUse(chosen.definition_yaml)}>Use template</Button>
          </Group>
        </Stack>
      )}
    </Modal>
  )
}

/** The way of an event, by the types of its parts. */
function Flow({ template: { sources, interceptors, sinks } }: { template: Template }) {
  const steps = [sources, interceptors, sinks].filter((each) => each.length > 0)
  return (
    <span className={classes.flow}>
      {steps.map((types, index) => (
        <Fragment key={index === 0 ? 'sources' : index === steps.length - 1 ? 'sinks' : 'interceptors'}>
          {index > 0 && <IconArrowRight size={12} aria-label="to" />}
          <span className={classes.step}>{types.join(', ')}</span>
        </Fragment>
      ))}
    </span>
  )
}
