import { SegmentedControl } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { definitionDiffQuery } from '@/api/revisions'
import type { DefinitionDiff } from '@/api/types'
import { ConsequenceBadge } from '@/components/migrations/ConsequenceBadge'
import { ErrorNote, Loading } from '@/components/ui/Feedback'
import { CONSEQUENCES } from '@/domain/migrations'
import { plural } from '@/lib/format'
import { EvaluatedChanges } from './EvaluatedChanges'
import { TextDiff } from './TextDiff'
import classes from './changes.module.css'

const VIEWS = [
  { value: 'keys', label: 'Keys' },
  { value: 'text', label: 'Text' },
]

interface DefinitionChangesProps {
  name: string
  /** The text of the current revision, and the one that would take its place. */
  current: string
  text: string
}

/** What a definition changes of the current revision: key by key with the consequence of each, or line by line. */
export function DefinitionChanges({ name, current, text }: DefinitionChangesProps) {
  const [view, setView] = useState('keys')
  const { data, error, refetch } = useQuery(definitionDiffQuery(name, text))
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />
  if (!data) return <Loading />
  const keys = view === 'keys' && data.changes.length > 0
  return (
    <div className={classes.review}>
      <Verdict diff={data} />
      {data.changes.length > 0 && (
        <SegmentedControl
          aria-label="View"
          size="xs"
          data={VIEWS}
          value={view}
          onChange={setView}
          style={{ alignSelf: 'flex-start' }}
        />
      )}
      {keys ? (
        <EvaluatedChanges changes={data.changes} />
      ) : (
        <TextDiff before={current} after={text} label="Changed lines" />
      )}
    </div>
  )
}

function Verdict({ diff: { changes, consequence, revision } }: { diff: DefinitionDiff }) {
  if (consequence === null)
    return (
      <p className={classes.verdict}>
        The definition is that of revision {revision}. Its text takes the place of the stored one, and nothing
        that runs changes.
      </p>
    )
  return (
    <p className={classes.verdict}>
      <ConsequenceBadge consequence={consequence} />
      {plural(changes.length, 'key')} differ{changes.length === 1 ? 's' : ''} from revision {revision}.{' '}
      {CONSEQUENCES[consequence].meaning}
    </p>
  )
}
