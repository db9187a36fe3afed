import {
  IconAlertTriangle,
  IconArchive,
  IconArrowsExchange,
  IconArrowsShuffle,
  IconBell,
  IconBellOff,
  IconCirclePlus,
  IconClick,
  IconFileText,
  IconKey,
  IconListCheck,
  IconLock,
  IconLockOpen,
  IconMailExclamation,
  IconMapPin,
  IconPencil,
  IconPlayerPlay,
  IconPlugConnected,
  IconPlugConnectedX,
  IconPointFilled,
  IconSquareX,
  IconTransfer,
  IconTrash,
  type Icon,
} from '@tabler/icons-react'
import type { HeadgateEvent, MigrationStage, Phase } from '@/api/types'
import { STAGES } from '@/domain/migrations'
import { PHASES, type Tone } from '@/domain/phases'
import { capitalized } from '@/lib/format'

interface EventStatus {
  icon: Icon
  tone: Tone
  word: string
}

const KINDS: Record<string, EventStatus> = {
  'phase.changed': { icon: IconArrowsExchange, tone: 'busy', word: 'Phase' },
  'desired.changed': { icon: IconClick, tone: 'held', word: 'Request' },
  'run.started': { icon: IconPlayerPlay, tone: 'busy', word: 'Run started' },
  'run.ended': { icon: IconSquareX, tone: 'idle', word: 'Run ended' },
  'operation.updated': { icon: IconListCheck, tone: 'idle', word: 'Operation' },
  'revision.created': { icon: IconFileText, tone: 'held', word: 'Revision' },
  'revision.reworded': { icon: IconFileText, tone: 'held', word: 'Text' },
  'pipeline.created': { icon: IconCirclePlus, tone: 'ok', word: 'Created' },
  'pipeline.archived': { icon: IconArchive, tone: 'idle', word: 'Archived' },
  'position.changed': { icon: IconMapPin, tone: 'held', word: 'Position' },
  'source.failed': { icon: IconPlugConnectedX, tone: 'bad', word: 'Source failed' },
  'sink.failed': { icon: IconPlugConnectedX, tone: 'bad', word: 'Sink failed' },
  'sink.switched': { icon: IconArrowsShuffle, tone: 'bad', word: 'Sink switched' },
  'sink.recovered': { icon: IconPlugConnected, tone: 'ok', word: 'Sink recovered' },
  'dead_letters.added': { icon: IconMailExclamation, tone: 'bad', word: 'Dead letters' },
  'dead_letters.discarded': { icon: IconTrash, tone: 'held', word: 'Discarded' },
  'pipeline.updated': { icon: IconPencil, tone: 'held', word: 'Changed' },
  'secret.created': { icon: IconKey, tone: 'held', word: 'Secret stored' },
  'secret.replaced': { icon: IconKey, tone: 'held', word: 'Secret replaced' },
  'secret.deleted': { icon: IconKey, tone: 'held', word: 'Secret deleted' },
  'silence.created': { icon: IconBellOff, tone: 'held', word: 'Silenced' },
  'silence.ended': { icon: IconBell, tone: 'held', word: 'Silence ended' },
  'receiver.disabled': { icon: IconPlugConnectedX, tone: 'bad', word: 'Receiver disabled' },
  'installation.read_only_on': { icon: IconLock, tone: 'held', word: 'Read-only' },
  'installation.read_only_off': { icon: IconLockOpen, tone: 'ok', word: 'Writable' },
  'ledger.gap': { icon: IconAlertTriangle, tone: 'bad', word: 'Gap' },
  'ledger.overlap': { icon: IconAlertTriangle, tone: 'bad', word: 'Overlap' },
}

/** How an event is shown; one of a kind this page does not know is shown under its own name. */
export function describeEvent(event: HeadgateEvent): EventStatus {
  if (event.kind.startsWith('migration.')) return migrationStatus(event)
  const shown = KINDS[event.kind] ?? {
    icon: IconPointFilled,
    tone: 'idle',
    word: sentence(event.kind),
  }
  const phase = event.kind === 'phase.changed' ? PHASES[event.data.new as Phase] : undefined
  return phase ? { ...shown, tone: phase.tone } : shown
}

/** A migration's event has the tone of the stage that it came to. */
function migrationStatus(event: HeadgateEvent): EventStatus {
  const stage = STAGES[event.data.stage as MigrationStage]
  return { icon: IconTransfer, tone: stage?.tone ?? 'held', word: 'Migration' }
}

/** `host.drain` as `Host drain`. */
function sentence(kind: string): string {
  return capitalized(kind.replaceAll(/[._]/g, ' '))
}
