import { Button, TextInput } from '@mantine/core'
import { Panel } from '@/components/ui/Panel'
import { wordsAt } from '@/domain/findings'
import { type ClusterPartProps, KeyField } from './KeyField'
import { hasPattern, pair, type Pair } from './draft'
import { Lines, RemoveLine } from './Lines'
import { topicPaths } from './paths'
import classes from '../../migrations.module.css'

/** What each topic of a source is called on the new cluster. A pattern names none, so the user does. */
export function TopicRows(props: ClusterPartProps) {
  const { cluster, findings, onChange } = props
  const { topics } = cluster
  const open = hasPattern(cluster)
  const set = (id: string, change: Partial<Pair>) =>
    onChange({ topics: topics.map((row) => (row.id === id ? { ...row, ...change } : row)) })
  return (
    <Panel title="Topics" note="mirrors often prefix the cluster's name">
      <div className={classes.form}>
        {open && (
          <KeyField
            {...props}
            field="pattern"
            at="topics_pattern"
            label="Topic pattern"
            description="It must match the names on the new cluster"
          />
        )}
        <Lines
          label={open ? 'Renamed topics' : 'Topics the source reads'}
          description="Empty: same names"
          add={
            open && (
              <Button
                variant="default"
                size="compact-xs"
                onClick={() => onChange({ topics: [...topics, pair()] })}
              >
                Add topic
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
                aria-label={`New name of ${row.name || `topic ${index + 1}`}`}
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
