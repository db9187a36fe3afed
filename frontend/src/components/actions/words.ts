import type { ActionKind, OperationKind, Phase } from '@/api/types'

interface ActionWords {
  /** On the button. */
  verb: string
  /** While it runs. */
  doing: string
  /** In "… was refused", "… has failed". */
  noun: string
}

export const ACTION_WORDS: Record<OperationKind, ActionWords> = {
  start: { verb: 'Start', doing: 'Starting', noun: 'Start' },
  pause: { verb: 'Pause', doing: 'Pausing', noun: 'Pause' },
  resume: { verb: 'Resume', doing: 'Resuming', noun: 'Resume' },
  stop: { verb: 'Stop', doing: 'Stopping', noun: 'Stop' },
  'force-stop': { verb: 'Force stop', doing: 'Force-stopping', noun: 'Force stop' },
  restart: { verb: 'Restart', doing: 'Restarting', noun: 'Restart' },
  retry: { verb: 'Retry', doing: 'Retrying dead letters', noun: 'Retry of dead letters' },
  replay_range: { verb: 'Replay range', doing: 'Replaying a range', noun: 'Replay of a range' },
}

/** What the button of an action says; a start of a pipeline that waits for its next try is that try. */
export function verbOf(kind: ActionKind, phase: Phase): string {
  return kind === 'start' && phase === 'BACKOFF' ? 'Retry now' : ACTION_WORDS[kind].verb
}

export const ACTION_KINDS: readonly ActionKind[] = ['start', 'pause', 'resume', 'stop', 'restart']
