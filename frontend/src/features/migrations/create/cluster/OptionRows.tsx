import { Button, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { secretsQuery } from '@/api/secrets'
import { Unread } from '@/components/ui/Feedback'
import { keyPaths, optionPaths } from './paths'
import { wordsAt } from '@/domain/findings'
import type { ClusterPartProps } from './KeyField'
import { pair, type Pair } from './draft'
import { Lines, RemoveLine } from './Lines'
import classes from '../../migrations.module.css'

/** Settings of the Kafka client, each with its value; all of them, in place of the present ones. */
export function OptionRows({ cluster, findings, onChange }: ClusterPartProps) {
  const { options } = cluster
  const set = (id: string, change: Partial<Pair>) =>
    onChange({ options: options.map((row) => (row.id === id ? { ...row, ...change } : row)) })
  const own = options.flatMap(({ name }) => optionPaths(cluster, name))
  const others = findings.filter(({ path }) => wordsAt([{ path } as never], own) === null)
  return (
    <Lines
      label="Client options"
      description="All client options on the new cluster. They replace the current ones. A password is a reference: ${secret:NAME}."
      error={wordsAt(others, keyPaths(cluster, 'options'))}
      add={
        <Button
          variant="default"
          size="compact-xs"
          onClick={() => onChange({ options: [...options, pair()] })}
        >
          Add option
        </Button>
      }
    >
      {options.map((row, index) => (
        <li key={row.id} className={classes.line}>
          <TextInput
            aria-label={`Name of option ${index + 1}`}
            placeholder="sasl.password"
            value={row.name}
            onChange={(event) => set(row.id, { name: event.currentTarget.value })}
            autoComplete="off"
            spellCheck={false}
          />
          <TextInput
            aria-label={`Value of option ${index + 1}`}
            placeholder="${secret:NAME}"
            value={row.value}
            error={row.name.trim() ? wordsAt(findings, optionPaths(cluster, row.name)) : null}
            onChange={(event) => set(row.id, { value: event.currentTarget.value })}
            autoComplete="off"
            spellCheck={false}
          />
          <RemoveLine
            label={`Remove option ${index + 1}`}
            onClick={() => onChange({ options: options.filter(({ id }) => id !== row.id) })}
          />
        </li>
      ))}
      <SecretNames />
    </Lines>
  )
}

const MOST = 5

/** Which names there are to refer to. */
function SecretNames() {
  const query = useQuery(secretsQuery)
  if (!query.data)
    return (
      <li>
        <Unread query={query} what="names of secrets" />
      </li>
    )
  const secrets = query.data.filter(({ purpose }) => purpose === 'pipelines')
  if (secrets.length === 0) return null
  const names = secrets.slice(0, MOST).map(({ name }) => `\${secret:${name}}`)
  return (
    <li className={classes.note}>
      Stored: {names.join(', ')}
      {secrets.length > MOST && ' and more'}
    </li>
  )
}
