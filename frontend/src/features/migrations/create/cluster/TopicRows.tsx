import { Button, TextInput } from '@mantine/core'
import { Panel } from '@/components/ui/Panel'
import { wordsAt } from '../findings'
import { type ClusterPartProps, KeyField } from './KeyField'
import { hasPattern, pair, type Pair } from './draft'
import { Lines, RemoveLine } from './Lines'
import { topicPaths } from './paths'
import classes from '../../migrations.module.css'

/** What each topic of a source is called on the new cluster. A pattern names none, so a person does. */
export function TopicRows(props: ClusterPartProps) {
  const { cluster, findings, onChange } = props
  const { topics } = cluster
  const open = hasPattern(cluster)
  const set = (id: string, change: Partial<Pair>) =>
    onChange({ topics: topics.map((row) => (row.id === id ? { ...row, ...change } : row)) })
  return (
    <Panel title="Topics" note="mirrors often put the name of the cluster in front">
      <div className={classes.form}>
        {open && (
          <KeyField
            {...props}
            field="pattern"
            at="topics_pattern"
            label="Pattern of the topics"
            description="It has to match the names there"
          />
        )}
        <Lines
          label={open ? 'Topics that have another name there' : 'Topics it reads'}
          description="Empty: the same name there"
          add={
            open && (
              <Button
                variant="default"
                size="compact-xs"
                onClick={() => onChange({ topics: [...topics, pair()] })}
              >
                Add a topic
              </Button>
            )
          }
        >
          {topics.map((row, index) => (
            <li key={row.id} className={classes.line}>
              {open ? (
                <TextInput
                  aria-label={`Topic ${index + 1} on the old cluster`}
                  value={row.name}
                  onChange={(event) => set(row.id, { name: event.currentTarget.value })}
                  autoComplete="off"
                  spellCheck={false}
                />
              ) : (
                <span className={classes.given}>{row.name}</span>
              )}
              <TextInput
                aria-label={`Name of ${row.name || `topic ${index + 1}`} there`}
                placeholder={row.name}
                value={row.value}
                error={row.name.trim() ? wordsAt(findings, topicPaths(cluster, row.name)) : null}
                onChange={(event) => set(row.id, { value: event.currentTarget.value })}
                autoComplete="off"
                spellCheck={false}
              />
              {open && (
                <RemoveLine
                  label={`Remove topic ${index + 1}`}
                  onClick={() => onChange({ topics: topics.filter(({ id }) => id !== row.id) })}
                />
              )}
            </li>
          ))}
        </Lines>
      </div>
    </Panel>
  )
}
