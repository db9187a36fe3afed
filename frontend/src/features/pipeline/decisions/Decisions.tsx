import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { quarantineQuery } from '@/api/quarantine'
import { sessionQuery } from '@/api/session'
import type { Pipeline, PipelineStatus, PositionChoice } from '@/api/types'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Moment } from '@/components/ui/Time'
import { useReadOnly } from '@/components/teams/useReadOnly'
import { cannotAdminister } from '@/domain/roles'
import { count } from '@/lib/format'
import { inWords } from '../positions/words'
import { QuarantineDialog } from '../quarantine/QuarantineDialog'
import { suspectInWords } from '../quarantine/ranges'
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
  const { data } = useQuery(quarantineQuery(name))
  const [asking, setAsking] = useState(false)
  const offered = data?.offered ?? []
  return (
    <Item
      title="Choose what happens to the records that crash it"
      action={
        <ReasonButton
          variant="default"
          reason={readOnly ?? (data ? null : 'The records are still being located.')}
          onClick={() => setAsking(true)}
        >
          Quarantine records
        </ReasonButton>
      }
    >
      {offered.length === 0
        ? 'The last runs crashed at the same position.'
        : `${offered.map(suspectInWords).join('; ')}. `}
      Fix the cause and start the pipeline again, or quarantine the records: they become dead letters, and the
      pipeline resumes after them.
      {asking && <QuarantineDialog name={name} offered={offered} onClose={() => setAsking(false)} />}
    </Item>
  )
}

function Reconcile({ pipeline }: DecisionsProps) {
  const refused = cannotAdminister(useQuery(sessionQuery).data)
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
  const refused = cannotAdminister(useQuery(sessionQuery).data)
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
