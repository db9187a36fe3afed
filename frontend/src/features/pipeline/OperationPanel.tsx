import { Button } from '@mantine/core'
import { IconCheck, IconCircleDashed, IconCircleX, IconLoader2, type Icon } from '@tabler/icons-react'
import { useState } from 'react'
import type { Operation, Pipeline, Run, Step } from '@/api/types'
import { refusal } from '@/components/actions/allowed'
import { CancelOperation } from '@/components/actions/CancelOperation'
import { ForceStopDialog } from '@/components/actions/ForceStopDialog'
import { useAction } from '@/components/actions/useAction'
import { ACTION_WORDS } from '@/components/actions/words'
import { useGovernedDialog } from '@/components/governance/useGovernedDialog'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { useNow } from '@/lib/clock'
import { between, duration } from '@/lib/format'
import { DrainFigures, type Drain } from './DrainFigures'
import { StacksDialog } from './runs/StacksDialog'
import { isTold } from './told'
import classes from './operation.module.css'

/** How long a finished operation stays on the page before it is history. */
const LINGER_MS = 8_000
/** A stop goes through. */
const CANCELLABLE = ['start', 'pause', 'retry', 'replay_range']

interface OperationProps {
  operation: Operation
  pipeline: Pipeline
  /** The living run, whose stacks say what a stop waits for. */
  run?: Run | null
  /** What it waits for. */
  drain?: Drain | null
}

/** The running operation, step by step; a failed one stays until it is dismissed. */
export function OperationPanel({ operation, pipeline, run = null, drain = null }: OperationProps) {
  const now = useNow()
  const [dismissed, setDismissed] = useState(false)
  if (dismissed || isHistory(operation, now)) return null
  const open = operation.ended_at === null
  const elapsed = (open ? now : Date.parse(operation.ended_at ?? '')) - Date.parse(operation.created_at)
  return (
    <Panel
      title={titleOf(operation)}
      note={`${duration(floorToSecond(elapsed, open))} · requested by ${operation.created_by}${timeLeft(operation, now)}`}
      actions={
        open ? (
          <>
            <WhileItStops operation={operation} pipeline={pipeline} run={run} drain={drain} />
            {CANCELLABLE.includes(operation.kind) && <CancelOperation operation={operation} />}
          </>
        ) : (
          <Dismiss onClick={() => setDismissed(true)} />
        )
      }
    >
      <ol className={classes.steps}>
        {operation.steps.map((step) => (
          <StepItem key={step.name} step={step} now={now} />
        ))}
      </ol>
      {open && drain && <DrainFigures drain={drain} />}
      {operation.message && !operation.error && <p className={classes.message}>{operation.message}</p>}
      {operation.error && !isTold(operation.error.message, pipeline) && (
        <p className={classes.error} role="alert">
          <strong>{operation.error.message}</strong> {operation.error.hint}
        </p>
      )}
    </Panel>
  )
}

function floorToSecond(ms: number, open: boolean): number {
  return open ? Math.floor(ms / 1_000) * 1_000 : ms
}

/** Succeeded ones fade soon; failed ones stay long enough to be noticed. */
function isHistory(operation: Operation, now: number): boolean {
  if (operation.ended_at === null) return false
  const age = now - Date.parse(operation.ended_at)
  return operation.state === 'FAILED' ? age > 15 * 60_000 : age > LINGER_MS
}

function titleOf({ kind, state }: Operation): string {
  const { doing, noun } = ACTION_WORDS[kind]
  switch (state) {
    case 'SUCCEEDED':
      return `${noun} succeeded`
    case 'FAILED':
      return `${noun} failed`
    case 'CANCELLED':
      return `${noun} was cancelled`
    case 'SUPERSEDED':
      return `${noun} was replaced by a later request`
    default:
      return doing
  }
}

function timeLeft({ deadline, ended_at }: Operation, now: number): string {
  if (!deadline || ended_at) return ''
  const left = Date.parse(deadline) - now
  return left > 0 ? ` · times out in ${duration(Math.ceil(left / 1_000) * 1_000)}` : ' · past its deadline'
}

const STEP_STATUS: Record<Step['state'], { icon: Icon; word: string }> = {
  pending: { icon: IconCircleDashed, word: 'pending' },
  running: { icon: IconLoader2, word: 'running' },
  done: { icon: IconCheck, word: 'done' },
  failed: { icon: IconCircleX, word: 'failed' },
}

function StepItem({ step, now }: { step: Step; now: number }) {
  const { icon: Shape, word } = STEP_STATUS[step.state]
  const running = step.state === 'running' && step.started_at
  const time = running
    ? duration(floorToSecond(now - Date.parse(step.started_at ?? ''), true))
    : step.ended_at && between(step.started_at, step.ended_at)
  return (
    <li className={classes.step} data-state={step.state} title={step.message || undefined}>
      <Shape size={15} stroke={2} aria-hidden />
      {step.name.replaceAll('_', ' ')}
      <span className="visually-hidden">({word})</span>
      {time && <span className={classes.time}>{time}</span>}
    </li>
  )
}

const ENDING = ['stop', 'restart', 'force-stop']

/** What a stop waits for, and the way to end the wait. */
function WhileItStops({ operation, pipeline, run, drain }: Required<OperationProps>) {
  const [shown, setShown] = useState<'stacks' | 'force' | null>(null)
  if (!ENDING.includes(operation.kind) && !drain) return null
  const close = () => setShown(null)
  return (
    <>
      {run && (
        <Button variant="default" size="compact-xs" onClick={() => setShown('stacks')}>
          Show stacks
        </Button>
      )}
      {isDraining(operation) && <StopWithoutDraining pipeline={pipeline} />}
      {operation.kind !== 'force-stop' && (
        <ReasonButton
          variant="default"
          size="compact-xs"
          reason={refusal(pipeline, 'force-stop')}
          onClick={() => setShown('force')}
        >
          Force stop
        </ReasonButton>
      )}
      {shown === 'stacks' && run && <StacksDialog name={pipeline.name} run={run} onClose={close} />}
      {shown === 'force' && <ForceStopDialog pipeline={pipeline} onClose={close} />}
    </>
  )
}

/** Whether a stop waits for the in-flight batch. */
function isDraining({ kind, steps }: Operation): boolean {
  return kind === 'stop' && steps.some((step) => step.name === 'draining' && step.state === 'running')
}

/** Ends the wait for a batch whose sink does not take it; the next run reads that batch again. */
function StopWithoutDraining({ pipeline }: Pick<OperationProps, 'pipeline'>) {
  const governed = useGovernedDialog(pipeline.name)
  const stop = useAction(pipeline.name, governed.ask)
  return (
    <>
      <ReasonButton
        variant="default"
        size="compact-xs"
        loading={stop.isPending}
        reason={refusal(pipeline, 'force-stop')}
        onClick={() => stop.mutate({ kind: 'stop', body: { drain: false } })}
      >
        Stop without draining
      </ReasonButton>
      {governed.dialog}
    </>
  )
}

function Dismiss({ onClick }: { onClick: () => void }) {
  return (
    <Button variant="subtle" color="gray" c="dimmed" size="compact-xs" onClick={onClick}>
      Dismiss
    </Button>
  )
}
