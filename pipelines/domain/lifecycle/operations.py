"""The steps of every kind of operation, and how long each kind may take."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pipelines.domain.base.states import OperationKind
from pipelines.domain.definitions.document.spec import Lifecycle


class StepState(StrEnum):
    """A step is waiting, running, or ended."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class OnTimeout(StrEnum):
    """What follows if the in-flight batch of a pause or of a drain has not ended by `drain_timeout`.

    ABORT: the request times out, and the pipeline continues running. STAY: nothing is read, and the pipeline pauses
    when the batch ends. STOP: the drain becomes a stop, which escalates.
    """

    ABORT = "abort"
    STAY = "stay"
    STOP = "stop"


PauseOnTimeout = Literal[OnTimeout.ABORT, OnTimeout.STAY]
"""A pause never climbs."""
DrainOnTimeout = Literal[OnTimeout.ABORT, OnTimeout.STOP]
"""A drain ends at its deadline, one way or the other."""

_START = ("preflight", "starting", "first_batch_or_idle")
_STOP = ("requested", "draining", "process_exit")

STEPS: dict[OperationKind, tuple[str, ...]] = {
    OperationKind.START: _START,
    OperationKind.PAUSE: ("requested", "in_flight_batch", "proven"),
    OperationKind.RESUME: ("requested", "first_batch_or_idle"),
    OperationKind.STOP: _STOP,
    OperationKind.FORCE_STOP: ("requested", "process_exit"),
    OperationKind.RESTART: (*_STOP, *_START),
    OperationKind.RETRY: ("requested", "sending"),
    OperationKind.REPLAY_RANGE: ("requested", "replaying"),
}


def steps_of(kind: OperationKind) -> list[dict[str, Any]]:
    """The steps of a new operation, all pending."""
    return [
        {"name": name, "state": StepState.PENDING.value, "started_at": None, "ended_at": None, "message": ""}
        for name in STEPS[kind]
    ]


def moved(steps: list[dict[str, Any]], name: str, state: StepState, message: str, at: str) -> list[dict[str, Any]]:
    """Set one step's state, stamped with `at` (RFC 3339); a step that begins ends every one before it.

    Raises KeyError for a name that is not among the steps.
    """
    names = [step["name"] for step in steps]
    if name not in names:
        raise KeyError(name)
    position = names.index(name)
    earlier = [_ended(step, StepState.DONE, at) for step in steps[:position]]
    return [*earlier, _set(steps[position], state, message, at), *steps[position + 1 :]]


def closed(steps: list[dict[str, Any]], succeeded: bool, at: str) -> list[dict[str, Any]]:
    """End the steps of a finished operation: all done, or the one under way failed and the rest left pending."""
    if succeeded:
        return [_ended(step, StepState.DONE, at) for step in steps]
    return [_ended(step, StepState.FAILED, at) if step["state"] == StepState.RUNNING else step for step in steps]


def _ended(step: dict[str, Any], state: StepState, at: str) -> dict[str, Any]:
    if step["state"] in {StepState.DONE, StepState.FAILED}:
        return step
    return {**step, "state": state.value, "started_at": step["started_at"] or at, "ended_at": at}


def _set(step: dict[str, Any], state: StepState, message: str, at: str) -> dict[str, Any]:
    changed = {**step, "state": state.value, "message": message}
    if state != StepState.PENDING:
        changed["started_at"] = step["started_at"] or at
    if state in {StepState.DONE, StepState.FAILED}:
        changed["ended_at"] = step["ended_at"] or at
    return changed


START_MARGIN_SECONDS = 60.0
END_MARGIN_SECONDS = 30.0
UNWATCHED_STOP_SECONDS = 600.0
FORCED_SECONDS = 60.0


RETRY_MARGIN_SECONDS = 300.0


def retry_seconds(dead_letters: int, rate: float) -> float:
    """How long a replay may take: twice what its rate makes of it, and a broker that is away for a while."""
    return 2 * dead_letters / rate + RETRY_MARGIN_SECONDS


def seconds_allowed(kind: OperationKind, limits: Lifecycle, drain: bool) -> float:
    """How long an operation may take. With the watchdog off a stop has no limit of its own, so it gets a long one."""
    start = limits.init_timeout + START_MARGIN_SECONDS
    kill = limits.cancel_timeout or UNWATCHED_STOP_SECONDS
    stop = kill + (limits.drain_timeout if drain else 0.0) + END_MARGIN_SECONDS
    return {
        OperationKind.START: start,
        OperationKind.PAUSE: limits.drain_timeout + END_MARGIN_SECONDS,
        OperationKind.RESUME: START_MARGIN_SECONDS,
        OperationKind.STOP: stop,
        OperationKind.FORCE_STOP: FORCED_SECONDS,
        OperationKind.RESTART: stop + start,
    }[kind]
