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
import { cannotAdminister, cannotWrite } from '@/domain/roles'
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

/** What goes on only when a person has decided, each question with what is known and the way to answer it. */
export function Decisions(props: DecisionsProps) {
  const questions = openQuestions(props.pipeline, props.status)
  if (questions.length === 0) return null
  return (
    <Panel title="A person has to decide" note="Headgate does not guess" flush>
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
      title="Where to go on reading"
      action={
        <Button
          variant="default"
          renderRoot={(props) => (
            <Link to="/pipelines/$name/positions" params={{ name }} resetScroll={false} {...props} />
          )}
        >
          Decide where to go on
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

function inShort({ to, skip, replay }: PositionChoice): string {
  return `${inWords(to)}: skips ${count(skip)}, reads ${count(replay)} again`
}

function Crashes({ pipeline: { name } }: DecisionsProps) {
  const readOnly = cannotWrite(useQuery(sessionQuery).data)
  const { data } = useQuery(quarantineQuery(name))
  const [asking, setAsking] = useState(false)
  const offered = data?.offered ?? []
  return (
    <Item
      title="What to do with the records it crashes at"
      action={
        <ReasonButton
          variant="default"
          reason={readOnly ?? (data ? null : 'The records are still being looked up.')}
          onClick={() => setAsking(true)}
        >
          Set records aside
        </ReasonButton>
      }
    >
      {offered.length === 0
        ? 'The last runs crashed at the same position.'
        : `${offered.map(suspectInWords).join('; ')}. `}
      Repair what crashes and start it again, or set the records aside as dead letters and go on behind them.
      {asking && <QuarantineDialog name={name} offered={offered} onClose={() => setAsking(false)} />}
    </Item>
  )
}

function Reconcile({ pipeline }: DecisionsProps) {
  const refused = cannotAdminister(useQuery(sessionQuery).data)
  const [asking, setAsking] = useState(false)
  return (
    <Item
      title="Whom to believe, the host or the database"
      action={
        <ReasonButton variant="default" reason={refused} onClick={() => setAsking(true)}>
          Say whom to believe
        </ReasonButton>
      }
    >
      {pipeline.host ?? 'Its host'} remembers more of this pipeline than the database does, as after a backup
      was restored. Nothing is started or stopped until this is settled.
      {asking && <ReconcileDialog pipeline={pipeline} onClose={() => setAsking(false)} />}
    </Item>
  )
}

function Lost({ pipeline, status: { run } }: DecisionsProps) {
  const refused = cannotAdminister(useQuery(sessionQuery).data)
  const [asking, setAsking] = useState(false)
  return (
    <Item
      title={run ? `Whether run ${run.number} on ${run.host} is dead` : 'Whether its run is dead'}
      action={
        <ReasonButton
          variant="default"
          reason={refused ?? (run ? null : 'No run is known.')}
          onClick={() => setAsking(true)}
        >
          Declare it lost
        </ReasonButton>
      }
    >
      Its host has been silent since <Moment at={pipeline.phase_since} />, and its agent may still be at work.
      The next run starts only when somebody has made sure that this one is dead.
      {asking && run && <DeclareLostDialog pipeline={pipeline} run={run} onClose={() => setAsking(false)} />}
    </Item>
  )
}
