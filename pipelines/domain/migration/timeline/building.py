"""A migration as a timeline: the agents of both sides, the pauses of delivery, the stages and the gates. Pure.

The pause is the one that the report states. A run delivers from its first record until it ends, without the pauses;
so the sides never deliver at the same time where their runs do not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pipelines.domain.base.states import MigrationStage
from pipelines.domain.migration import evidence, progress
from pipelines.domain.migration.progress import MigrationStepState
from pipelines.domain.migration.steps import StepName
from pipelines.domain.migration.timeline.parts import (
    Side,
    Timeline,
    TimelineBar,
    TimelineGate,
    TimelinePause,
    TimelineSpan,
    TimelineStage,
    Way,
    seconds,
    since_delivered,
)

_LEAST_MARGIN, _MOST_MARGIN = timedelta(seconds=30), timedelta(minutes=10)
BY_RULES = "rules"
"""Who has committed where nobody was asked."""


@dataclass(frozen=True)
class AgentRun:
    """A run that concerns the migration. `active_since`: when it was given the pipeline; None of a standby."""

    side: Side
    number: int
    revision: int
    host: str
    started_at: datetime
    active_since: datetime | None
    first_record_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True)
class Facts:
    """What a timeline is made of. `deliveries`: the pause between two deliveries of each way, where both are known;
    `last_delivered_at`: by the old side; `has_delivered`: the new side; `was_paused`: the pipeline was paused before,
    so that nothing of it is the migration's; `waits_for`: the gate at which it waits."""

    started_at: datetime
    ended_at: datetime | None
    now: datetime
    log: Sequence[progress.Row]
    passed: Sequence[Mapping[str, Any]]
    runs: Sequence[AgentRun]
    deliveries: Mapping[Way, TimelineSpan]
    last_delivered_at: datetime | None
    has_delivered: bool
    was_paused: bool
    waits_for: MigrationStage | None


def timeline(facts: Facts) -> Timeline:
    """The timeline of a migration that was started."""
    pauses = [*_pauses(facts)]
    ends = [facts.ended_at or facts.now, *(each.until for each in pauses if each.until is not None)]
    margin = min(_MOST_MARGIN, max(_LEAST_MARGIN, (max(ends) - facts.started_at) / 2))
    return Timeline(
        since=facts.started_at - margin,
        until=max(facts.started_at, min(facts.now, max(ends) + margin)),
        bars=[_bar(run, pauses) for run in facts.runs],
        pauses=pauses,
        stages=[*_stages(facts)],
        gates=[*_gates(facts)],
    )


def _pauses(facts: Facts) -> Iterator[TimelinePause]:
    if facts.was_paused:
        return
    forward = facts.deliveries.get(Way.MIGRATION) or _between_steps(facts)
    if forward is None:
        return
    yield _pause(Way.MIGRATION, forward, measured=Way.MIGRATION in facts.deliveries)
    back = facts.deliveries.get(Way.ROLLBACK) or _back_between_steps(facts.log)
    if facts.has_delivered and forward.until is not None and back is not None and back.since >= forward.until:
        yield _pause(Way.ROLLBACK, back, measured=Way.ROLLBACK in facts.deliveries)


def _pause(way: Way, span: TimelineSpan, *, measured: bool) -> TimelinePause:
    return TimelinePause(way=way, since=span.since, until=span.until, seconds=seconds(span), measured=measured)


_RESUMING = (StepName.RESUME_OLD, StepName.PROMOTE, StepName.START_OLD)
"""Steps after which a side delivers, or its source is idle."""


def _between_steps(facts: Facts) -> TimelineSpan | None:
    paused = _done_at(facts.log, StepName.PAUSE)
    if paused is None:
        return None
    ended = (found for name in _RESUMING if (found := _done_at(facts.log, name)) is not None)
    last, asked = facts.last_delivered_at, _time(progress.of(facts.log, StepName.PAUSE, "intent_at"))
    since = paused if last is None else since_delivered(last, asked)
    until = next(ended, None)
    return TimelineSpan(since=since, until=None if until is None else max(since, until))


def _back_between_steps(log: Sequence[progress.Row]) -> TimelineSpan | None:
    paused = _done_at(log, StepName.PAUSE_NEW) or _done_at(log, StepName.END_NEW_RUN)
    return None if paused is None else TimelineSpan(since=paused, until=_done_at(log, StepName.START_OLD))


def _done_at(log: Sequence[progress.Row], name: StepName) -> datetime | None:
    done = (row["done_at"] for row in log if row["name"] == name and row["state"] == MigrationStepState.DONE)
    return _time(next(done, None))


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _bar(run: AgentRun, pauses: Sequence[TimelinePause]) -> TimelineBar:
    started = _delivering_since(run, pauses)
    return TimelineBar(
        side=run.side,
        run=run.number,
        revision=run.revision,
        host=run.host,
        started_at=run.started_at,
        ended_at=run.ended_at,
        delivering=[] if started is None else [*_without(started, run.ended_at, pauses)],
    )


def _delivering_since(run: AgentRun, pauses: Sequence[TimelinePause]) -> datetime | None:
    """Its first record, or the end of the pause that it ended without one, since its source was idle."""
    active = run.active_since
    if active is None:
        return None
    resumed = (each.until for each in pauses if each.until is not None and each.until >= active)
    known = [moment for moment in (run.first_record_at, *resumed) if moment is not None]
    return min((moment for moment in known if run.ended_at is None or moment <= run.ended_at), default=None)


def _without(since: datetime, until: datetime | None, pauses: Sequence[TimelinePause]) -> Iterator[TimelineSpan]:
    """The time between two moments that is in no pause. Pauses follow one another."""
    for pause in pauses:
        if until is not None and pause.since >= until:
            break
        if since < pause.since:
            yield TimelineSpan(since=since, until=pause.since)
        if pause.until is None:
            return
        since = max(since, pause.until)
    if until is None or since < until:
        yield TimelineSpan(since=since, until=until)


def _stages(facts: Facts) -> Iterator[TimelineStage]:
    ended = facts.ended_at.isoformat() if facts.ended_at is not None else None
    for row in evidence.stages(facts.log, ended):
        since, until = datetime.fromisoformat(row["started_at"]), _time(row["ended_at"])
        yield TimelineStage(stage=row["stage"], since=since, until=until, seconds=row["seconds"])


def _gates(facts: Facts) -> Iterator[TimelineGate]:
    for each in facts.passed:
        if each["by"] == BY_RULES:
            continue
        at = datetime.fromisoformat(each["at"])
        since = min(at, _waiting_since(facts, each["stage"]) or at)
        yield TimelineGate(stage=each["stage"], since=since, until=at, by=each["by"])
    yield from _given_up(facts)
    if facts.waits_for is not None:
        since = _waiting_since(facts, facts.waits_for) or facts.now
        yield TimelineGate(stage=facts.waits_for, since=since, until=None, by="")


def _given_up(facts: Facts) -> Iterator[TimelineGate]:
    """Gates at which it has waited until the rollback."""
    passed = {each["stage"] for each in facts.passed}
    rows = (row for row in facts.log if row["state"] == MigrationStepState.SKIPPED and row.get("held_at"))
    for row in rows:
        if row["stage"] not in passed:
            back = (_time(each["intent_at"]) for each in facts.log if each["stage"] == MigrationStage.ROLLING_BACK)
            until = next((moment for moment in back if moment is not None), facts.ended_at)
            yield TimelineGate(stage=row["stage"], since=datetime.fromisoformat(row["held_at"]), until=until, by="")


def _waiting_since(facts: Facts, stage: str) -> datetime | None:
    """When the step before the gate was over."""
    if stage == MigrationStage.COMMITTED:
        return _time(progress.of(facts.log, StepName.OBSERVE, "done_at"))
    before = None
    for row in facts.log:
        if row["stage"] == stage or row["stage"] == MigrationStage.ROLLING_BACK:
            return _time(row.get("held_at")) or before
        before = _time(row["done_at"]) or before
    return None
