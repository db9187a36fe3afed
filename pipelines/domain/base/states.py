"""States of pipelines, runs, operations and migrations, and the tables of allowed changes.

Desired state is what a person asked for; phase is what the supervisor observed. This module imports nothing of the
project, so that every layer (agent, supervisor, services, docs generator) reads the same words.
"""

from __future__ import annotations

import itertools
from enum import StrEnum


class DesiredState(StrEnum):
    """What a user requested."""

    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


class Phase(StrEnum):
    """What the supervisor observed of a pipeline."""

    STOPPED = "STOPPED"
    PREFLIGHT = "PREFLIGHT"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    DEGRADED = "DEGRADED"
    STALLED = "STALLED"
    PAUSING = "PAUSING"
    PAUSED = "PAUSED"
    STOPPING = "STOPPING"
    BACKOFF = "BACKOFF"
    BLOCKED = "BLOCKED"
    FAILED = "FAILED"
    UNKNOWN = "UNKNOWN"


RUNNING_PHASES = frozenset({Phase.RUNNING, Phase.DEGRADED, Phase.STALLED})
"""Phases in which records are, or should be, moving."""

RESTING_PHASES = frozenset({Phase.STOPPED, Phase.BLOCKED, Phase.FAILED})
"""Phases in which no process exists and none will be started without a person."""

LIVE_PHASES = frozenset(Phase) - RESTING_PHASES - {Phase.BACKOFF}
"""Phases in which a process exists or may exist."""

ATTENTION_PHASES = (Phase.BLOCKED, Phase.FAILED, Phase.STALLED, Phase.UNKNOWN, Phase.DEGRADED)
"""Phases that a person should look at first, the most urgent first."""

_ENDED_BY_ITSELF = {Phase.BACKOFF, Phase.FAILED, Phase.BLOCKED, Phase.STOPPING, Phase.STOPPED, Phase.UNKNOWN}

TRANSITIONS: dict[Phase, frozenset[Phase]] = {
    Phase.STOPPED: frozenset({Phase.PREFLIGHT, Phase.BLOCKED}),
    Phase.PREFLIGHT: frozenset({Phase.STARTING, Phase.RUNNING, Phase.PAUSING, Phase.PAUSED, *_ENDED_BY_ITSELF}),
    Phase.STARTING: frozenset({*RUNNING_PHASES, Phase.PAUSING, Phase.PAUSED, *_ENDED_BY_ITSELF}),
    Phase.RUNNING: frozenset({Phase.DEGRADED, Phase.STALLED, Phase.PAUSING, *_ENDED_BY_ITSELF}),
    Phase.DEGRADED: frozenset({Phase.RUNNING, Phase.STALLED, Phase.PAUSING, *_ENDED_BY_ITSELF}),
    Phase.STALLED: frozenset({Phase.RUNNING, Phase.DEGRADED, Phase.PAUSING, *_ENDED_BY_ITSELF}),
    Phase.PAUSING: frozenset({Phase.PAUSED, Phase.STARTING, *RUNNING_PHASES, *_ENDED_BY_ITSELF}),
    Phase.PAUSED: frozenset({Phase.STARTING, *RUNNING_PHASES, *_ENDED_BY_ITSELF}),
    Phase.STOPPING: frozenset({Phase.STOPPED, Phase.UNKNOWN, Phase.BACKOFF, Phase.BLOCKED}),
    Phase.BACKOFF: frozenset({Phase.PREFLIGHT, Phase.STOPPED, Phase.FAILED, Phase.BLOCKED}),
    Phase.BLOCKED: frozenset({Phase.PREFLIGHT, Phase.STOPPED}),
    Phase.FAILED: frozenset({Phase.PREFLIGHT, Phase.STOPPED, Phase.BLOCKED}),
    Phase.UNKNOWN: frozenset(set(Phase) - {Phase.UNKNOWN}),
}


def can(old: Phase, new: Phase) -> bool:
    """Say whether the table allows the change `old` -> `new`."""
    return new in TRANSITIONS[old]


class StopReason(StrEnum):
    """Who or what ended the last run."""

    USER = "USER"
    SYSTEM = "SYSTEM"
    WATCHDOG = "WATCHDOG"
    MIGRATION = "MIGRATION"


class RunRole(StrEnum):
    """ACTIVE consumes; STANDBY is initialised and probed, and consumes nothing until it is promoted to ACTIVE."""

    ACTIVE = "ACTIVE"
    STANDBY = "STANDBY"


class RunState(StrEnum):
    """PENDING: the intent is recorded, no process is known. LIVE: a process was seen. ENDED: proven over."""

    PENDING = "PENDING"
    LIVE = "LIVE"
    ENDED = "ENDED"


class RunOutcome(StrEnum):
    """How a run ended."""

    CLEAN = "CLEAN"
    FAILED = "FAILED"
    BLOCKED = "BLOCKED"
    CRASHED = "CRASHED"
    KILLED = "KILLED"
    LOST = "LOST"


class AgentPhase(StrEnum):
    """What an agent says of itself in status.json."""

    PREFLIGHT = "PREFLIGHT"
    STANDBY = "STANDBY"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    DEGRADED = "DEGRADED"
    PAUSING = "PAUSING"
    PAUSED = "PAUSED"
    STOPPING = "STOPPING"
    STOPPED = "STOPPED"
    FAILED = "FAILED"


class Command(StrEnum):
    """What the supervisor asks of an agent in control.json."""

    STANDBY = "standby"
    RUN = "run"
    PAUSE = "pause"
    DRAIN_AND_STOP = "drain_and_stop"
    STOP = "stop"


STOP_COMMANDS = frozenset({Command.STOP, Command.DRAIN_AND_STOP})


class OperationKind(StrEnum):
    """A request that takes time."""

    START = "start"
    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"
    FORCE_STOP = "force-stop"
    RESTART = "restart"
    RETRY = "retry"
    REPLAY_RANGE = "replay_range"


ENDING_OPERATIONS = frozenset({OperationKind.STOP, OperationKind.FORCE_STOP})
"""Operations after which there is no process."""

SIDE_OPERATIONS = frozenset({OperationKind.RETRY, OperationKind.REPLAY_RANGE})
"""Operations that do not change what the pipeline does, and go on beside the one that does."""


class OperationState(StrEnum):
    """PENDING and RUNNING are open; the others are final."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    SUPERSEDED = "SUPERSEDED"


OPEN_OPERATION_STATES = frozenset({OperationState.PENDING, OperationState.RUNNING})


class DeadLetterState(StrEnum):
    """NEW: action required. RETRIED: it was retried at its source. DISCARDED: a user discarded it."""

    NEW = "NEW"
    RETRIED = "RETRIED"
    DISCARDED = "DISCARDED"


class LedgerState(StrEnum):
    """PLANNED: the sink may have been touched. DONE: the sink has acknowledged. ABANDONED: a user has chosen to
    continue elsewhere; the sink may hold some of it. REPLAYED: a range that was read before, delivered once more
    on request; no position moved, and the ledger totals do not count it again."""

    PLANNED = "planned"
    DONE = "done"
    ABANDONED = "abandoned"
    REPLAYED = "replayed"


class InspectionState(StrEnum):
    """An inspection of positions. PENDING: the worker of the host has not answered. APPLIED: its plan was applied."""

    PENDING = "PENDING"
    ANSWERED = "ANSWERED"
    FAILED = "FAILED"
    APPLIED = "APPLIED"


class HostTaskState(StrEnum):
    """A preview or a trace. PENDING: it waits for the worker of the host. FAILED: `error` says what to do."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    DONE = "DONE"
    FAILED = "FAILED"


OPEN_HOST_TASK_STATES = frozenset({HostTaskState.PENDING, HostTaskState.RUNNING})


class MigrationKind(StrEnum):
    """What a migration changes: components, the host, a Kafka cluster, positions, or the agent's own software."""

    REVISION = "revision"
    HOST = "host"
    CLUSTER = "cluster"
    POSITION = "position"
    SOFTWARE = "software"


class MigrationStage(StrEnum):
    """How far a migration has come."""

    DRAFT = "DRAFT"
    PLANNED = "PLANNED"
    APPROVED = "APPROVED"
    PREFLIGHT = "PREFLIGHT"
    SHADOWING = "SHADOWING"
    PAUSING = "PAUSING"
    PAUSE_PROVEN = "PAUSE_PROVEN"
    SNAPSHOT = "SNAPSHOT"
    APPLYING = "APPLYING"
    READY_TO_CUT_OVER = "READY_TO_CUT_OVER"
    RESUMING = "RESUMING"
    VERIFYING = "VERIFYING"
    COMMITTED = "COMMITTED"
    ROLLING_BACK = "ROLLING_BACK"
    ROLLED_BACK = "ROLLED_BACK"
    NEEDS_ATTENTION = "NEEDS_ATTENTION"
    ABORTED = "ABORTED"


WAITING_STAGES = frozenset({MigrationStage.DRAFT, MigrationStage.PLANNED, MigrationStage.APPROVED})
"""Stages in which nothing was touched and nothing happens by itself."""

FINAL_STAGES = frozenset({MigrationStage.COMMITTED, MigrationStage.ROLLED_BACK, MigrationStage.ABORTED})
"""Stages that nothing follows."""

FORWARD_STAGES = (
    MigrationStage.PREFLIGHT,
    MigrationStage.SHADOWING,
    MigrationStage.PAUSING,
    MigrationStage.PAUSE_PROVEN,
    MigrationStage.SNAPSHOT,
    MigrationStage.APPLYING,
    MigrationStage.READY_TO_CUT_OVER,
    MigrationStage.RESUMING,
    MigrationStage.VERIFYING,
)
"""The stages of the work itself, in order. SHADOWING is there only where the migration asks for it."""

STEERING_STAGES = frozenset({*FORWARD_STAGES, MigrationStage.ROLLING_BACK})
"""Stages in which the engine holds the pipeline: nobody else changes what it does."""

CHANGING_STAGES = frozenset(FORWARD_STAGES[FORWARD_STAGES.index(MigrationStage.APPLYING) :])
"""Stages in which components change; all of them come after the proof of the pause."""

OPEN_STAGES = frozenset(MigrationStage) - FINAL_STAGES
"""Of a pipeline, at most one migration is in one of these."""

_LEAVING = {MigrationStage.ROLLING_BACK, MigrationStage.NEEDS_ATTENTION}

MIGRATION_TRANSITIONS: dict[MigrationStage, frozenset[MigrationStage]] = {
    MigrationStage.DRAFT: frozenset({MigrationStage.PLANNED, MigrationStage.ABORTED}),
    MigrationStage.PLANNED: frozenset({MigrationStage.DRAFT, MigrationStage.APPROVED, MigrationStage.ABORTED}),
    MigrationStage.APPROVED: frozenset(
        {
            MigrationStage.DRAFT,
            MigrationStage.PLANNED,
            MigrationStage.PREFLIGHT,
            MigrationStage.ABORTED,
        }
    ),
    **{old: frozenset({new, *_LEAVING}) for old, new in itertools.pairwise(FORWARD_STAGES)},
    MigrationStage.PREFLIGHT: frozenset({MigrationStage.SHADOWING, MigrationStage.PAUSING, *_LEAVING}),
    MigrationStage.VERIFYING: frozenset({MigrationStage.COMMITTED, *_LEAVING}),
    MigrationStage.ROLLING_BACK: frozenset(
        {
            MigrationStage.ROLLED_BACK,
            MigrationStage.ABORTED,
            MigrationStage.NEEDS_ATTENTION,
        }
    ),
    MigrationStage.NEEDS_ATTENTION: frozenset(
        {
            *FORWARD_STAGES,
            MigrationStage.ROLLING_BACK,
            MigrationStage.COMMITTED,
            MigrationStage.ROLLED_BACK,
            MigrationStage.ABORTED,
        }
    ),
    **dict.fromkeys(FINAL_STAGES, frozenset()),
}


def may_follow(old: MigrationStage, new: MigrationStage) -> bool:
    """Say whether the table allows a migration to go from `old` to `new`."""
    return new in MIGRATION_TRANSITIONS[old]
