"""What may be asked of a pipeline now, and why not: a pure function of its state and of the role that asks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import RESTING_PHASES, RUNNING_PHASES, DesiredState, OperationKind, Phase


class Action(StrEnum):
    """Everything that can be asked of a pipeline."""

    START = "start"
    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"
    FORCE_STOP = "force-stop"
    RESTART = "restart"
    EDIT = "edit"
    DELETE = "delete"


class Outcome(StrEnum):
    """DO: it changes something. AWAIT: it is on its way. DONE: it is so already. REFUSE: it makes no sense now."""

    DO = "do"
    AWAIT = "await"
    DONE = "done"
    REFUSE = "refuse"


@dataclass(frozen=True)
class Verdict:
    """What would come of an action, in words where nothing would change."""

    outcome: Outcome
    reason: str = ""


@dataclass(frozen=True)
class Situation:
    """What the verdict depends on. `starter`: the lowest role that may start what the definition runs. `migrating`: the
    stage of the migration that holds the pipeline."""

    desired: DesiredState
    phase: Phase
    operation: OperationKind | None = None
    has_live_run: bool = False
    starter: Role = Role.OPERATOR
    migrating: str = ""

    @property
    def stopped(self) -> bool:
        """Whether it is stopped, and meant to be."""
        return self.phase == Phase.STOPPED and self.desired == DesiredState.STOPPED


DO = Verdict(Outcome.DO)
CONSEQUENCES = {
    Action.FORCE_STOP: "The processes are killed at once, and the in-flight batch is aborted. No record is lost: the "
    "next run rereads that batch, so sinks without a commit of their own can get duplicates.",
}
"""What a person should know before asking for it."""
REQUIRED_ROLES = {Action.DELETE: Role.ADMIN}
STARTING = frozenset({Action.START, Action.RESUME, Action.RESTART})
"""Actions that make the definition's components run."""
ENDING = frozenset({Action.PAUSE, Action.STOP, Action.FORCE_STOP})
"""Actions that a read-only installation allows."""


def _refuse(reason: str) -> Verdict:
    return Verdict(Outcome.REFUSE, reason)


def _start(now: Situation) -> Verdict:
    if now.operation == OperationKind.RESTART:
        return _refuse("A restart is in progress.")
    if now.desired == DesiredState.STOPPED or now.phase in RESTING_PHASES or now.phase == Phase.BACKOFF:
        return DO
    if now.desired == DesiredState.PAUSED:
        return _refuse("The pipeline is paused; resume it.")
    if now.phase in RUNNING_PHASES:
        return Verdict(Outcome.DONE, "The pipeline is already running.")
    return Verdict(Outcome.AWAIT, "The pipeline is already starting.")


def _pause(now: Situation) -> Verdict:
    if now.desired == DesiredState.STOPPED:
        return _refuse("The pipeline is stopped." if now.stopped else "A stop is in progress.")
    if now.phase in RESTING_PHASES and now.operation is None:
        return _refuse("No process exists, so nothing is being read.")
    if now.operation == OperationKind.RESTART:
        return _refuse("A restart is in progress.")
    if now.desired == DesiredState.RUNNING:
        return DO
    if now.phase == Phase.PAUSED:
        return Verdict(Outcome.DONE, "The pipeline is already paused.")
    if now.phase == Phase.PAUSING and now.operation is None:
        return DO
    return Verdict(Outcome.AWAIT, "A pause is already in progress.")


def _resume(now: Situation) -> Verdict:
    if now.desired == DesiredState.STOPPED:
        return _refuse("The pipeline is stopped, not paused; start it.")
    if now.phase in RESTING_PHASES:
        return _refuse("No process exists; start it.")
    if now.desired == DesiredState.PAUSED:
        return DO
    return Verdict(Outcome.DONE, "The pipeline is not paused.")


def _stop(now: Situation) -> Verdict:
    if now.stopped:
        return Verdict(Outcome.DONE, "The pipeline is already stopped.")
    if now.desired == DesiredState.STOPPED and now.phase not in RESTING_PHASES:
        return Verdict(Outcome.AWAIT, "A stop is already in progress.")
    return DO


def _force_stop(now: Situation) -> Verdict:
    if now.stopped:
        return Verdict(Outcome.DONE, "The pipeline is already stopped.")
    if now.operation == OperationKind.FORCE_STOP:
        return Verdict(Outcome.AWAIT, "A forced stop is already in progress.")
    if not now.has_live_run:
        return _refuse("No process exists that could be killed; stop it.")
    return DO


def _restart(now: Situation) -> Verdict:
    if now.desired == DesiredState.STOPPED:
        return _refuse("The pipeline is stopped; start it." if now.stopped else "A stop is in progress.")
    if now.desired == DesiredState.PAUSED:
        return _refuse("It is paused; resume or stop it first.")
    if now.operation == OperationKind.RESTART:
        return Verdict(Outcome.AWAIT, "A restart is already in progress.")
    return DO


def _edit(now: Situation) -> Verdict:
    return (
        DO
        if now.stopped
        else _refuse(
            "A new revision can be published only while the pipeline is stopped; plan a migration of the kind "
            "revision, or stop it."
        )
    )


def _delete(now: Situation) -> Verdict:
    if now.stopped or (now.phase in RESTING_PHASES and not now.has_live_run and now.operation is None):
        return DO
    return _refuse("Only a stopped pipeline can be deleted; stop it first.")


_VERDICTS = {
    Action.START: _start,
    Action.PAUSE: _pause,
    Action.RESUME: _resume,
    Action.STOP: _stop,
    Action.FORCE_STOP: _force_stop,
    Action.RESTART: _restart,
    Action.EDIT: _edit,
    Action.DELETE: _delete,
}


def evaluate(action: Action, now: Situation) -> Verdict:
    """Say what would come of the action, whoever asks."""
    if now.migrating:
        return _refuse(f"A migration holds the pipeline ({now.migrating}); cancel it or roll it back first.")
    return _VERDICTS[action](now)


@dataclass(frozen=True)
class AllowedAction:
    """One action for a page or a program; `reason` says why it is not allowed, `consequence` what comes of it where
    that is more than its name says."""

    name: Action
    allowed: bool
    reason: str = ""
    consequence: str = ""


def allowed_actions(now: Situation, role: Role, read_only: str = "") -> list[AllowedAction]:
    """Every action, each with the reason where it is not allowed to this role now. `read_only`: why the installation
    is; empty where it is not."""
    return [_allowed(action, now, role, read_only) for action in Action]


def _allowed(action: Action, now: Situation, role: Role, read_only: str) -> AllowedAction:
    needed = now.starter if action in STARTING else REQUIRED_ROLES.get(action, Role.OPERATOR)
    if role < needed:
        what = "What it runs" if needed > Role.OPERATOR and action in STARTING else "This"
        words = f"{what} needs the role {needed.word}; yours is {role.word}."
        return AllowedAction(action, False, words, CONSEQUENCES.get(action, ""))
    if read_only and action not in ENDING:
        return AllowedAction(action, False, read_only, CONSEQUENCES.get(action, ""))
    verdict = evaluate(action, now)
    return AllowedAction(action, verdict.outcome == Outcome.DO, verdict.reason, CONSEQUENCES.get(action, ""))
