"""What a tick may do to a pipeline; `decide` makes these values, `act` carries them out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pipelines.domain.base.states import DesiredState, OperationState, Phase, RunOutcome, StopReason
from pipelines.domain.runs.crashes import Crash
from pipelines.domain.runs.protocol import Control, Dump, Identity, ProcessIdentity


@dataclass(frozen=True)
class CreateRun:
    """Record the intent to start, then start. `fresh`: asked for by a person, so the restart budget begins anew."""

    fresh: bool


@dataclass(frozen=True)
class TakeOver:
    """Promote the standby instead of starting another run. `fresh`: as for CreateRun."""

    fresh: bool


@dataclass(frozen=True)
class PrepareStandby:
    """Have the warm standby that the definition asks for."""


@dataclass(frozen=True)
class GiveWay:
    """End the warm standby: a restart is to look up anew what it was initialised with."""


@dataclass(frozen=True)
class DismissStandby:
    """End a warm standby, if it is not wanted any more."""


@dataclass(frozen=True)
class Spawn:
    """Start the keeper of a run whose intent is recorded."""


@dataclass(frozen=True)
class Revoke:
    """Let no keeper of the run start any more: its end is written into its directory before it is recorded."""

    reason: str


@dataclass(frozen=True)
class RecordProcesses:
    """The run's processes were seen."""

    identity: Identity


@dataclass(frozen=True)
class RecordDumps:
    """The keeper has dumped the run's stacks."""

    dumps: tuple[Dump, ...]


@dataclass(frozen=True)
class WriteControl:
    """Give the agent a new command."""

    control: Control


@dataclass(frozen=True)
class SetPhase:
    """Change the phase, if it is still the one that was seen."""

    new: Phase
    reason: str
    message: str
    stop_reason: StopReason | None = None


@dataclass(frozen=True)
class Explain:
    """The phase stays, and there is another reason for it now."""

    reason: str
    message: str


@dataclass(frozen=True)
class Restart:
    """When the next run starts by itself: CLOCK_BOOTTIME seconds, and how many seconds from now."""

    boot_id: str
    boottime: float
    delay: float


@dataclass(frozen=True)
class EndRun:
    """The run is proven over: record how it ended and what follows, in one transaction. `follows`: the latter in words,
    where `message` has both."""

    outcome: RunOutcome
    exit_code: int | None
    exit_reason: str
    stop_stage: str
    phase: Phase
    reason: str
    message: str
    stop_reason: StopReason | None = None
    findings: tuple[Mapping[str, Any], ...] = ()
    restart: Restart | None = None
    in_flight: Crash = ()
    journal_whole: bool = False
    follows: str = ""


@dataclass(frozen=True)
class EndStandby:
    """The standby is proven over; nothing follows from that."""

    outcome: RunOutcome
    exit_code: int | None
    exit_reason: str
    stop_stage: str


@dataclass(frozen=True)
class WritePromotion:
    """Tell the keeper of a run that was a standby that it is ACTIVE now."""


@dataclass(frozen=True)
class AbortDrain:
    """The batch in hand of a pause or of a drain did not end in time; `wanted` is desired from now on."""

    wanted: DesiredState
    message: str


@dataclass(frozen=True)
class KillProcesses:
    """SIGKILL, each after its identity was checked."""

    processes: tuple[ProcessIdentity, ...]
    reason: str


@dataclass(frozen=True)
class Reconcile:
    """Carry out whom a person believes: the database, or the host that knows more."""


@dataclass(frozen=True)
class ResetRestarts:
    """The run has been well for long enough: the restart budget begins anew."""


@dataclass(frozen=True)
class ObserveGeneration:
    """What was asked for with this generation has been acted upon."""

    generation: int


@dataclass(frozen=True)
class FinishOperation:
    """The open operation has come to its end."""

    id: UUID
    state: OperationState
    message: str
    error: Mapping[str, str] | None = None


@dataclass(frozen=True)
class AdvanceOperation:
    """The open operation has reached a step; `message` says what it waits for."""

    id: UUID
    step: str
    message: str


@dataclass(frozen=True)
class SetConditions:
    """What is true of the pipeline besides its phase: [{type, status, reason, message, last_transition_time}]."""

    conditions: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class SetFindings:
    """What is found of the pipeline now, beside its phase."""

    findings: tuple[Mapping[str, Any], ...]


Action = (
    CreateRun
    | TakeOver
    | PrepareStandby
    | GiveWay
    | DismissStandby
    | Spawn
    | Revoke
    | RecordProcesses
    | RecordDumps
    | WriteControl
    | SetPhase
    | Explain
    | EndRun
    | EndStandby
    | WritePromotion
    | AbortDrain
    | KillProcesses
    | Reconcile
    | ResetRestarts
    | ObserveGeneration
    | FinishOperation
    | AdvanceOperation
    | SetConditions
    | SetFindings
)
