"""What a timeline of a migration is made of."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from pipelines.domain.base.positions import Frozen
from pipelines.domain.base.states import MigrationStage

IDLE = timedelta(seconds=10)
"""Without a delivery for so long before the pause, or after the new side works, there was nothing to be delivered."""


class Side(StrEnum):
    """OLD: the agent of before, and the one that a rollback starts. NEW: the agent that the migration starts."""

    OLD = "old"
    NEW = "new"


class Way(StrEnum):
    """Of which way a pause is."""

    MIGRATION = "migration"
    ROLLBACK = "rollback"


class TimelineSpan(Frozen):
    """A time; `until` None: not over."""

    since: datetime
    until: datetime | None


class TimelinePause(TimelineSpan):
    """Time without deliveries. `measured`: between two deliveries, as the report states it; otherwise between steps.
    `seconds`: None where it is not over."""

    way: Way
    seconds: float | None
    measured: bool


class TimelineBar(Frozen):
    """A run of an agent, and when it delivered; `ended_at` None: it lives."""

    side: Side
    run: int
    revision: int
    host: str
    started_at: datetime
    ended_at: datetime | None
    delivering: list[TimelineSpan]


class TimelineStage(TimelineSpan):
    """A stage; what waits at a gate counts for the stage that it comes after."""

    stage: MigrationStage
    seconds: float | None


class TimelineGate(TimelineSpan):
    """A gate before `stage`, and since when it was waited for; `by`: who passed it, empty where nobody has."""

    stage: MigrationStage
    by: str


class Timeline(Frozen):
    """All of it between `since` and `until`: some time before the migration started, and after it ended."""

    since: datetime
    until: datetime
    bars: list[TimelineBar]
    pauses: list[TimelinePause]
    stages: list[TimelineStage]
    gates: list[TimelineGate]


def without_idle_time(last: datetime, first: datetime, asked: datetime | None, worked: datetime | None) -> TimelineSpan:
    """The pause between the last delivery of a side and the first of the next. `asked`: when the pause was asked for;
    `worked`: when the next side was at work. Time in which the source had nothing, before and after, is no pause."""
    since = since_delivered(last, asked)
    until = worked if worked is not None and first > worked + IDLE else first
    return TimelineSpan(since=since, until=max(since, until))


def since_delivered(last: datetime, asked: datetime | None) -> datetime:
    """When a pause began: with the last delivery, or when it was asked for where the source was idle before."""
    return asked if asked is not None and last < asked - IDLE else last


def seconds(span: TimelineSpan) -> float | None:
    """How long it was; None where it is not over."""
    return round((span.until - span.since).total_seconds(), 3) if span.until is not None else None
