"""Steps of a migration, and the one place where their order is decided.

A step that changes a component cannot be constructed for a stage before PAUSE_PROVEN, and no list of steps can be made
in which one comes before the proof: both raise ChangeBeforeProof.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from pydantic import Field, model_validator

from pipelines.domain.base.positions import Frozen
from pipelines.domain.base.states import CHANGING_STAGES, FORWARD_STAGES, MigrationKind, MigrationStage
from pipelines.domain.definitions.document.spec import Lifecycle

MARGIN_SECONDS = 30.0
GATE_SECONDS = 3600.0
"""How long a manual gate waits for a person before the migration is taken back."""
UNWATCHED_STOP_SECONDS = 600.0
TRANSLATION_SECONDS = 120.0
"""How long positions may take to be translated while data waits; a mirror that is behind is waited for."""
FIRST_BATCH_SECONDS = 120.0
SHADOW_MARGIN_SECONDS = 660.0
"""How long the last part of a shadow may take: in the queue of its host, and to be made."""


class ChangeBeforeProof(Exception):
    """A component would be changed before the pause is proven. No ValueError: it is a defect, never bad input."""


class StepName(StrEnum):
    """Everything that a migration does, forward and back."""

    PREPARE_STANDBY = "prepare_standby"
    SHADOW = "shadow"
    PAUSE = "pause"
    PROVE_PAUSE = "prove_pause"
    TAKE_SNAPSHOT = "take_snapshot"
    TRANSLATE_POSITIONS = "translate_positions"
    NOTE_SINK_ENDS = "note_sink_ends"
    END_OLD_RUN = "end_old_run"
    SET_POSITIONS = "set_positions"
    CHECK_STANDBY = "check_standby"
    PROMOTE = "promote"
    OBSERVE = "observe"
    DISCARD_STANDBY = "discard_standby"
    RESUME_OLD = "resume_old"
    PAUSE_NEW = "pause_new"
    END_NEW_RUN = "end_new_run"
    TRANSLATE_BACK = "translate_back"
    RESTORE = "restore"
    START_OLD = "start_old"


SENTENCES: dict[StepName, str] = {
    StepName.PREPARE_STANDBY: "Start the new agent as a standby; initialize and probe every component on its host.",
    StepName.SHADOW: "Compare both revisions on the records that the old agent delivers.",
    StepName.PAUSE: "Stop consumption and finish the in-flight batch.",
    StepName.PROVE_PAUSE: "Verify that nothing is being read, in flight or unaccounted for.",
    StepName.TAKE_SNAPSHOT: "Record positions, revision, checkpoint and ledger totals.",
    StepName.TRANSLATE_POSITIONS: "Translate the positions: find the offset after the last record on the new cluster.",
    StepName.NOTE_SINK_ENDS: "Record the end offsets of the sink's topics on the new cluster.",
    StepName.END_OLD_RUN: "End the old run and verify that none of its processes is alive.",
    StepName.SET_POSITIONS: "Set the chosen positions.",
    StepName.CHECK_STANDBY: "Check that the new agent is still ready.",
    StepName.PROMOTE: "Promote the new agent: role, epoch and positions at once; wait for its first records.",
    StepName.OBSERVE: "Compare totals, lag, rate, errors and outcome with those before the change or predicted.",
    StepName.DISCARD_STANDBY: "End the new agent, which has consumed nothing.",
    StepName.RESUME_OLD: "Resume the old agent at its position.",
    StepName.PAUSE_NEW: "Stop consumption of the new agent and finish its in-flight batch.",
    StepName.END_NEW_RUN: "End the new run and verify that none of its processes is alive.",
    StepName.TRANSLATE_BACK: "Translate the positions back: find the offset after the last record on the old cluster.",
    StepName.RESTORE: "Restore the old revision, host and positions of the pipeline.",
    StepName.START_OLD: "Start the old configuration and wait for its first records.",
}

CHANGES = frozenset({StepName.END_OLD_RUN, StepName.SET_POSITIONS, StepName.PROMOTE})
"""Steps of the way forward after which the pipeline is not what it was."""

_STAGE_OF: dict[StepName, MigrationStage] = {
    StepName.PREPARE_STANDBY: MigrationStage.PREFLIGHT,
    StepName.SHADOW: MigrationStage.SHADOWING,
    StepName.PAUSE: MigrationStage.PAUSING,
    StepName.PROVE_PAUSE: MigrationStage.PAUSE_PROVEN,
    StepName.TAKE_SNAPSHOT: MigrationStage.SNAPSHOT,
    StepName.TRANSLATE_POSITIONS: MigrationStage.SNAPSHOT,
    StepName.NOTE_SINK_ENDS: MigrationStage.SNAPSHOT,
    StepName.END_OLD_RUN: MigrationStage.APPLYING,
    StepName.SET_POSITIONS: MigrationStage.APPLYING,
    StepName.CHECK_STANDBY: MigrationStage.READY_TO_CUT_OVER,
    StepName.PROMOTE: MigrationStage.RESUMING,
    StepName.OBSERVE: MigrationStage.VERIFYING,
}

_LATER_IN_STAGE = frozenset({StepName.SET_POSITIONS, StepName.TRANSLATE_POSITIONS, StepName.NOTE_SINK_ENDS})

GATES = (MigrationStage.PAUSING, MigrationStage.APPLYING, MigrationStage.READY_TO_CUT_OVER, MigrationStage.COMMITTED)
"""Stages before which an approval can be required."""


class PlannedStep(Frozen):
    """One step. `seconds`: how long it may take; `attempts`: how often it is tried; `gate`: a user passes it."""

    name: StepName
    stage: MigrationStage
    changes: bool
    sentence: str
    seconds: float = Field(gt=0)
    attempts: int = Field(default=1, ge=1)
    gate: bool = False

    @model_validator(mode="after")
    def _changes_nothing_early(self) -> PlannedStep:
        if self.changes and self.stage not in CHANGING_STAGES | {MigrationStage.ROLLING_BACK}:
            raise ChangeBeforeProof(f"{self.name} would change a component in {self.stage}")
        return self


def ordered(steps: Iterable[PlannedStep]) -> list[PlannedStep]:
    """The steps of a way forward, checked. Raises ChangeBeforeProof for a change before the proof of the pause, and
    ValueError where stages do not follow one another."""
    found, proven, last = list(steps), False, -1
    for step in found:
        place = FORWARD_STAGES.index(step.stage)
        if place < last:
            raise ValueError(f"{step.name} belongs to {step.stage}, which has ended by then")
        if step.changes and not proven:
            raise ChangeBeforeProof(f"{step.name} comes before the verified pause")
        proven, last = proven or step.name is StepName.PROVE_PAUSE, place
    return found


def forward(
    kind: MigrationKind,
    life: Lifecycle,
    *,
    gates: Sequence[MigrationStage] = (),
    window: float,
    longest_batch: float,
    of_sink: bool = False,
    shadow: float | None = None,
) -> list[PlannedStep]:
    """The steps of a kind. `window`: seconds of observation; `longest_batch`: those that real-time mode may make a
    pause wait for its batch; `of_sink`: a sink moves to another cluster, and positions stay; `shadow`: seconds of a
    shadow, None without one."""
    cluster = kind is MigrationKind.CLUSTER
    translated_steps = [StepName.NOTE_SINK_ENDS if of_sink else StepName.TRANSLATE_POSITIONS] if cluster else []
    moved = kind is MigrationKind.POSITION or (cluster and not of_sink)
    names = [
        StepName.PREPARE_STANDBY,
        *([StepName.SHADOW] if shadow is not None else []),
        StepName.PAUSE,
        StepName.PROVE_PAUSE,
        StepName.TAKE_SNAPSHOT,
        *translated_steps,
        StepName.END_OLD_RUN,
        *([StepName.SET_POSITIONS] if moved else []),
        StepName.CHECK_STANDBY,
        StepName.PROMOTE,
        StepName.OBSERVE,
    ]
    seconds = {
        StepName.PREPARE_STANDBY: life.init_timeout + MARGIN_SECONDS,
        StepName.SHADOW: (shadow or 0.0) + SHADOW_MARGIN_SECONDS,
        StepName.PAUSE: life.drain_timeout + longest_batch,
        StepName.TRANSLATE_POSITIONS: TRANSLATION_SECONDS,
        StepName.NOTE_SINK_ENDS: TRANSLATION_SECONDS,
        StepName.END_OLD_RUN: stop_seconds(life),
        StepName.SET_POSITIONS: 2 * FIRST_BATCH_SECONDS,
        StepName.PROMOTE: FIRST_BATCH_SECONDS,
        StepName.OBSERVE: window + FIRST_BATCH_SECONDS,
    }
    return ordered(_step(name, _STAGE_OF[name], seconds.get(name, MARGIN_SECONDS), gates) for name in names)


def _step(name: StepName, stage: MigrationStage, seconds: float, gates: Sequence[MigrationStage]) -> PlannedStep:
    first_of_stage = name not in _LATER_IN_STAGE
    return PlannedStep(
        name=name,
        stage=stage,
        changes=name in CHANGES,
        sentence=SENTENCES[name],
        seconds=seconds,
        gate=first_of_stage and stage in gates,
    )


def stop_seconds(life: Lifecycle) -> float:
    """How long the end of a run may take, ladder included."""
    return (life.cancel_timeout or UNWATCHED_STOP_SECONDS) + life.drain_timeout + MARGIN_SECONDS


def back(
    *,
    paused: bool,
    ending: bool,
    ended: bool,
    has_standby: bool,
    promoted: bool,
    life: Lifecycle,
    translated: bool = False,
) -> list[PlannedStep]:
    """The steps of the way back, from how far it has come. `ending`: the end of the old run may have been asked for;
    `ended`: it is proven over; `translated`: positions of the new side are offsets of another cluster.

    Before that was asked for the old run only goes on; after that its configuration is started anew, once nothing of
    either side lives. A new agent that has consumed nothing is discarded last where the old one can go on without
    waiting.
    """
    names: list[StepName] = []
    if promoted:
        names += [
            StepName.PAUSE_NEW,
            StepName.END_NEW_RUN,
            *([StepName.TRANSLATE_BACK] if translated else []),
            StepName.RESTORE,
            StepName.START_OLD,
        ]
    elif ending:
        names += [StepName.DISCARD_STANDBY] if has_standby else []
        names += [] if ended else [StepName.END_OLD_RUN]
        names += [StepName.RESTORE, StepName.START_OLD]
    else:
        names += [StepName.RESUME_OLD] if paused else []
        names += [StepName.DISCARD_STANDBY] if has_standby else []
    seconds = {
        StepName.PAUSE_NEW: life.drain_timeout,
        StepName.END_NEW_RUN: stop_seconds(life),
        StepName.TRANSLATE_BACK: TRANSLATION_SECONDS,
        StepName.END_OLD_RUN: stop_seconds(life),
        StepName.DISCARD_STANDBY: stop_seconds(life),
        StepName.RESUME_OLD: FIRST_BATCH_SECONDS,
        StepName.START_OLD: life.init_timeout + FIRST_BATCH_SECONDS,
    }
    stage = MigrationStage.ROLLING_BACK
    return [
        PlannedStep(
            name=name,
            stage=stage,
            changes=name is StepName.RESTORE,
            sentence=SENTENCES[name],
            seconds=seconds.get(name, MARGIN_SECONDS),
        )
        for name in names
    ]
