import type { ActionKind, OperationKind } from '@/api/types'

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

export const ACTION_KINDS: readonly ActionKind[] = ['start', 'pause', 'resume', 'stop', 'restart']
