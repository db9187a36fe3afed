"""The log of a migration's steps: rows that are written before and after each of them acts.

A row is `{name, stage, state, changes, sentence, seconds, gate, attempts, tried, intent_at, done_at, boot_id, expires,
message, evidence}`, and `held_at`, `held_for` of one that has waited at its gate. Times are RFC 3339; `expires` is
CLOCK_BOOTTIME on the boot `boot_id`, and a clock of another boot or host counts from its own wall time instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from pipelines.domain.migration.steps import PlannedStep

Row = dict[str, Any]


class MigrationStepState(StrEnum):
    """PENDING: nothing was done. RUNNING: the intent is recorded, and it may have been done. SKIPPED: the migration
    took another path before the step started."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


OVER = frozenset({MigrationStepState.DONE, MigrationStepState.FAILED, MigrationStepState.SKIPPED})


@dataclass(frozen=True)
class Instant:
    """One reading of all clocks."""

    wall: datetime
    boottime: float
    boot_id: str


def log_of(steps: Sequence[PlannedStep]) -> list[Row]:
    """The log of steps that are still to be done."""
    return [
        {
            **step.model_dump(mode="json"),
            "state": MigrationStepState.PENDING.value,
            "tried": 0,
            "intent_at": None,
            "done_at": None,
            "boot_id": "",
            "expires": None,
            "message": "",
            "evidence": None,
        }
        for step in steps
    ]


def current(log: Sequence[Row]) -> int | None:
    """The first step that is not over; None where all are."""
    return next((index for index, row in enumerate(log) if row["state"] not in OVER), None)


def started(log: Sequence[Row], index: int, now: Instant) -> list[Row]:
    """Record the intent of a step, or of another attempt at it."""
    row = log[index]
    fields = {
        "state": MigrationStepState.RUNNING.value,
        "tried": row["tried"] + 1,
        "intent_at": now.wall.isoformat(),
        "boot_id": now.boot_id,
        "expires": now.boottime + row["seconds"],
        "message": "",
    }
    return _with(log, index, fields)


def held(log: Sequence[Row], index: int, now: Instant, seconds: float) -> list[Row]:
    """A step waits at its gate for a person, from now on and no longer than `seconds`."""
    fields = {
        "held_at": now.wall.isoformat(),
        "held_for": seconds,
        "boot_id": now.boot_id,
        "expires": now.boottime + seconds,
    }
    return _with(log, index, fields)


def is_held(row: Row) -> bool:
    """Whether it is known since when a step waits at its gate."""
    return row["state"] == MigrationStepState.PENDING and row.get("held_at") is not None


def held_until(row: Row) -> datetime | None:
    """When a step that waits at its gate for a person waits no longer."""
    return datetime.fromisoformat(row["held_at"]) + timedelta(seconds=row["held_for"]) if is_held(row) else None


def ended(
    log: Sequence[Row], index: int, state: MigrationStepState, now: datetime, message: str, evidence: Any = None
) -> list[Row]:
    """A step is over. One that failed and may be tried again waits for its next attempt."""
    row = log[index]
    if state is MigrationStepState.FAILED and row["tried"] < row["attempts"]:
        return _with(log, index, {"state": MigrationStepState.PENDING.value, "message": message})
    fields = {"state": state.value, "done_at": now.isoformat(), "message": message}
    return _with(log, index, {**fields, "evidence": row["evidence"] if evidence is None else evidence})


def reported(log: Sequence[Row], index: int, message: str, evidence: Any = None) -> list[Row]:
    """What a step waits for, and what was seen so far."""
    return _with(log, index, {"message": message, "evidence": log[index]["evidence"] if evidence is None else evidence})


def with_rollback(log: Sequence[Row], steps: Sequence[PlannedStep], now: datetime, reason: str) -> list[Row]:
    """Leave the way forward: what was not begun is skipped, what was under way has failed, and the way back follows.
    Where nothing was under way, the first that was skipped says why."""
    left = [_left(row, now, reason) for row in log]
    at = current(log)
    if at is not None and left[at]["state"] == MigrationStepState.SKIPPED:
        left[at] = {**left[at], "message": reason}
    return [*left, *log_of(steps)]


def _left(row: Row, now: datetime, reason: str) -> Row:
    if row["state"] == MigrationStepState.PENDING:
        return {**row, "state": MigrationStepState.SKIPPED.value}
    if row["state"] == MigrationStepState.RUNNING:
        return {**row, "state": MigrationStepState.FAILED.value, "done_at": now.isoformat(), "message": reason}
    return row


def tried_anew(log: Sequence[Row]) -> list[Row]:
    """The log in which the steps that failed last are to be tried once more."""
    failed = max((index for index, row in enumerate(log) if row["state"] == MigrationStepState.FAILED), default=None)
    if failed is None:
        return list(log)
    fields = {"state": MigrationStepState.PENDING.value, "tried": 0, "done_at": None, "message": ""}
    return _with(log, failed, fields)


def expired(row: Row, now: Instant) -> bool:
    """Whether a step that is under way has passed its deadline."""
    return left(row, now) <= 0


def left(row: Row, now: Instant) -> float:
    """Seconds until the deadline of a step that is under way, or waits at its gate; all of its time for another."""
    waiting = is_held(row)
    if not waiting and (row["state"] != MigrationStepState.RUNNING or row["expires"] is None):
        return float(row["seconds"])
    if row["boot_id"] == now.boot_id:
        return float(row["expires"] - now.boottime)
    since, seconds = (row["held_at"], row["held_for"]) if waiting else (row["intent_at"], row["seconds"])
    return float(seconds - (now.wall - datetime.fromisoformat(since)).total_seconds())


def of(log: Sequence[Row], name: str, field: str) -> Any:
    """What the log has of the first step of this name; None where it has none."""
    return next((row[field] for row in log if row["name"] == name), None)


def done(log: Sequence[Row], name: str) -> bool:
    """Whether a step was carried out."""
    return any(row["name"] == name and row["state"] == MigrationStepState.DONE for row in log)


def intended(log: Sequence[Row], name: str) -> bool:
    """Whether a step may have been carried out."""
    return any(row["name"] == name and row["intent_at"] is not None for row in log)


def _with(log: Sequence[Row], index: int, fields: Row) -> list[Row]:
    return [{**row, **fields} if place == index else row for place, row in enumerate(log)]
