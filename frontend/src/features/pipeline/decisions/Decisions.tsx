import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { quarantineQuery } from '@/api/quarantine'
import type { Pipeline, PipelineStatus, PositionChoice } from '@/api/types'
import { Unread } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Moment } from '@/components/ui/Time'
import { useReadOnly, useRefusal } from '@/components/teams/useReadOnly'
import { count } from '@/lib/format'
import { inWords } from '../positions/words'
import { QuarantineDialog } from '../quarantine/QuarantineDialog'
import { notLocated, suspectInWords } from '../quarantine/ranges'
import { DeclareLostDialog } from './DeclareLostDialog'
import { openQuestions, type Question } from './open'
import { ReconcileDialog } from './ReconcileDialog'
import classes from './decisions.module.css'

interface DecisionsProps {
  pipeline: Pipeline
  status: PipelineStatus
}

const ASKED: Record<Question, (props: DecisionsProps) => ReactNode> = {
  positions: Positions,
  quarantine: Crashes,
  reconcile: Reconcile,
  lost: Lost,
}

/** What continues only after a decision, each question with what is known and how to answer it. */
export function Decisions(props: DecisionsProps) {
  const questions = openQuestions(props.pipeline, props.status)
  if (questions.length === 0) return null
  return (
    <Panel title="Action required" note="choose how to proceed" flush>
      <ul className={classes.list}>
        {questions.map((question) => {
          const Asked = ASKED[question]
          return <Asked key={question} {...props} />
        })}
      </ul>
    </Panel>
  )
}

function Item({ title, children, action }: { title: string; children: ReactNode; action: ReactNode }) {
  return (
    <li className={classes.item}>
      <div className={classes.words}>
        <strong>{title}</strong>
        <div>{children}</div>
      </div>
      {action}
    </li>
  )
}

function Positions({ pipeline: { name }, status: { choices } }: DecisionsProps) {
  return (
    <Item
      title="Choose a start position"
      action={
        <Button
          variant="default"
          renderRoot={(props) => (
            <Link to="/pipelines/$name/positions" params={{ name }} resetScroll={false} {...props} />
          )}
        >
          Choose start position
        </Button>
      }
    >
      <ul className={classes.ways}>
        {choices.map((choice) => (
          <li key={choice.to}>{inShort(choice)}</li>
        ))}
      </ul>
    </Item>
  )
}

function inShort({ to, skip, replay, recommended, reason }: PositionChoice): string {
  const words = `${inWords(to)}: skips ${count(skip)}, rereads ${count(replay)}`
  return recommended ? `${words}. Recommended. ${reason}` : words
}

function Crashes({ pipeline: { name } }: DecisionsProps) {
  const readOnly = useReadOnly(name)
  const query = useQuery(quarantineQuery(name))
  const [asking, setAsking] = useState(false)
  return (
    <Item
      title="Choose what happens to the records that crash it"
      action={
        <ReasonButton
          variant="default"
          reason={readOnly ?? notLocated(query)}
          onClick={() => setAsking(true)}
        >
          Quarantine records
        </ReasonButton>
      }
    >
      <Unread query={query} what="records" />
      {query.data && query.data.offered.length > 0
        ? `${query.data.offered.map(suspectInWords).join('; ')}. `
        : 'The last runs crashed at the same position. '}
      Fix the cause and start the pipeline again, or quarantine the records: they become dead letters, and the
      pipeline resumes after them.
      {asking && query.data && (
        <QuarantineDialog name={name} offered={query.data.offered} onClose={() => setAsking(false)} />
      )}
    </Item>
  )
}

function Reconcile({ pipeline }: DecisionsProps) {
  const refused = useRefusal('admin')(pipeline.team)
  const [asking, setAsking] = useState(false)
  return (
    <Item
      title="Choose the source of truth: host or database"
      action={
        <ReasonButton variant="default" reason={refused} onClick={() => setAsking(true)}>
          Choose source of truth
        </ReasonButton>
      }
    >
      {pipeline.host ?? 'Its host'} has more data about this pipeline than the database, as after a restored
      backup. Nothing starts or stops until you choose.
      {asking && <ReconcileDialog pipeline={pipeline} onClose={() => setAsking(false)} />}
    </Item>
  )
}

function Lost({ pipeline, status: { run } }: DecisionsProps) {
  const refused = useRefusal('admin')(pipeline.team)
  const [asking, setAsking] = useState(false)
  return (
    <Item
      title={
        run ? `Confirm whether run ${run.number} on ${run.host} is dead` : 'Confirm whether the run is dead'
      }
      action={
        <ReasonButton
          variant="default"
          reason={refused ?? (run ? null : 'No run is known.')}
          onClick={() => setAsking(true)}
        >
          Declare run lost
        </ReasonButton>
      }
    >
      The host has been silent since <Moment at={pipeline.phase_since} />, and its agent may still be running.
      The next run starts only after you confirm that this one is dead.
      {asking && run && <DeclareLostDialog pipeline={pipeline} run={run} onClose={() => setAsking(false)} />}
    </Item>
  )
}
