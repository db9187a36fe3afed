"""Carries migrations out: one step per tick and migration, under the lease of the host whose supervisor does it.

1. Take the migration, by compare-and-swap; from then on nobody else's steps are accepted.
2. Record the intent of the next step, then do it, then look whether it is done; record its end.
3. What fails, or takes too long, is taken back; what fails on the way back waits for a person.

Whoever comes after a crash finds the intent, and does the step again, which is harmless: steps say what should be, and
the supervisors make it so. The runner itself touches no process.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import structlog
from django.db import InterfaceError, OperationalError
from structlog.contextvars import bound_contextvars

from pipelines.domain.base.causes import explain
from pipelines.domain.base.states import RunState
from pipelines.domain.migration import progress
from pipelines.domain.migration.progress import Instant, MigrationStepState
from pipelines.domain.migration.steps import GATE_SECONDS, StepName
from pipelines.domain.runs.protocol import DRAIN, DumpOrder
from pipelines.foundation.errors import HeadgateError
from pipelines.models import Migration
from pipelines.selectors.hosts.hosts import is_removed
from pipelines.selectors.migration import migrations as selecting
from pipelines.services.base.fencing import Fenced, fenced, require_time
from pipelines.services.hosts import evacuations
from pipelines.services.migration import steps
from pipelines.services.migration.steps import NotYet, Overtaken
from workers import crash_points
from workers.ports import Now, RunDirs
from workers.workflows.steps import RULES, Outcome, Scene, standby_lost

TAKEN_WITHIN = 5.0
"""Seconds that the host of the new side has to take a migration before another one does."""
EVACUATION_SECONDS = 5.0
"""Between two steps of an evacuation of this host."""

log = structlog.get_logger(__name__)

start_rollback = fenced(steps.start_rollback)


class Runner:
    """The migrations of one host."""

    def __init__(self, host: str, rundirs: RunDirs) -> None:
        self._host = host
        self._rundirs = rundirs
        self._checked = -EVACUATION_SECONDS
        self._untaken: dict[UUID, float] = {}
        self._dumped: set[UUID] = set()

    def turn(self, now: Now, silent: Collection[str]) -> bool:
        """Do one step of each; `silent`: hosts whose supervisors are not heard. Says whether data waits for one that
        begins or ends on this host, whoever carries it out."""
        instant = Instant(now.wall, now.boottime, now.boot_id)
        if evacuations.under_way(self._host) and now.boottime - self._checked >= EVACUATION_SECONDS:
            self._checked = now.boottime
            evacuations.turn(host=self._host)
        found = selecting.concerning(self._host, silent)
        untaken = {each.pk for each in found if not each.runner_host}
        self._untaken = {pk: self._untaken.get(pk, now.boottime) for pk in untaken}
        for migration in found:
            with bound_contextvars(trace_id=migration.trace.trace_id):
                if self._may_take(migration, silent, instant):
                    self._attend(migration, instant)
                self._dump(migration)
        self._dumped &= {each.pk for each in found}
        return any(map(_is_urgent, found))

    def _may_take(self, migration: Migration, silent: Collection[str], now: Instant) -> bool:
        """Its own, and what nobody else carries out. The host of the new side comes first: it promotes."""
        owner = migration.runner_host
        if owner:
            return owner == self._host or owner in silent or is_removed(owner)
        waiting = now.boottime - self._untaken[migration.pk]
        return migration.new_host_id == self._host or waiting > TAKEN_WITHIN

    def _attend(self, migration: Migration, now: Instant) -> None:
        """An error of one leaves the others alone, and is tried again with the next tick until the step's deadline."""
        try:
            if steps.take(migration=migration, host=self._host):
                self._advance(migration, now)
        except (OperationalError, InterfaceError, Fenced):
            raise
        except Overtaken as overtaken:
            log.info("migration_overtaken", migration=str(migration.pk))
            self._end_late(migration, str(overtaken), now)
        except Exception as error:
            log.exception("migration_failed", migration=str(migration.pk))
            self._end_late(migration, explain(error), now)

    def _end_late(self, seen: Migration, cause: str, now: Instant) -> None:
        """A step that only raises errors, or is always overtaken, is over at its deadline, too."""
        try:
            migration = selecting.get_migration(seen.pk)
            index = progress.current(migration.steps)
            if index is not None and progress.expired(migration.steps[index], now):
                self._record(migration, index, Outcome(message=cause), now)
        except (OperationalError, InterfaceError, Fenced):
            raise
        except Exception:
            log.exception("migration_failed", migration=str(seen.pk))

    def _advance(self, migration: Migration, now: Instant) -> None:
        index = progress.current(migration.steps)
        if _waits(migration, now):
            return
        if index is None:
            steps.conclude(migration=migration)
            crash_points.reach("worker.migration_ended")
            return
        if migration.steps[index]["state"] == MigrationStepState.PENDING:
            steps.start(migration=migration, index=index, now=now)
            crash_points.reach("worker.step_intended")
        self._record(migration, index, _perform(migration, index, now), now)

    def _record(self, migration: Migration, index: int, outcome: Outcome, now: Instant) -> None:
        row = migration.steps[index]
        if outcome.done:
            steps.end(
                migration=migration, index=index, message=outcome.message, evidence=outcome.evidence, **outcome.fields
            )
        elif outcome.attention:
            steps.need_attention(
                migration=migration, index=index, message=outcome.message, findings=outcome.findings, **outcome.fields
            )
        elif outcome.failed or progress.expired(row, now):
            message = outcome.message if outcome.failed else _late(row, outcome)
            steps.fail(
                migration=migration,
                index=index,
                message=message,
                evidence=outcome.evidence,
                findings=outcome.findings or [_finding(row, message)],
            )
        else:
            steps.report(migration=migration, index=index, message=outcome.message, evidence=outcome.evidence)
        crash_points.reach("worker.step_recorded")

    def _dump(self, migration: Migration) -> None:
        """An old run that could not be drained is asked by its own host what it is doing, whoever carries the migration
        out; asked twice, it answers once. A disk that takes no order keeps nobody from going back."""
        run = migration.old_run
        if run is None or run.host_id != self._host or run.state == RunState.ENDED or migration.pk in self._dumped:
            return
        if not _failed_to_pause(migration) or selecting.drain_dump(migration) is not None:
            return
        require_time()
        self._dumped.add(migration.pk)
        try:
            self._rundirs.ask_for_dump(Path(run.run_dir), DumpOrder(id=migration.pk.hex, stop_stage=DRAIN))
        except OSError as error:
            log.warning("no_dump", run=run.number, cause=str(error))


def _failed_to_pause(migration: Migration) -> bool:
    return bool(progress.of(migration.steps, StepName.PAUSE, "state") == MigrationStepState.FAILED)


_PATIENT = frozenset({StepName.PREPARE_STANDBY, StepName.SHADOW, StepName.OBSERVE, StepName.START_OLD})
"""Steps that wait for an agent, which looking often would only slow down on a small machine."""


def _is_urgent(migration: Migration) -> bool:
    """Whether data waits for the next tick."""
    index = progress.current(migration.steps)
    if index is None or selecting.waits(migration) is not None:
        return False
    step, last = migration.steps[index]["name"], index == len(migration.steps) - 1
    if step == StepName.DISCARD_STANDBY:  # last where the old agent goes on
        return not last
    return step not in _PATIENT and not (step == StepName.PROMOTE and selecting.is_promoted(migration))


def _waits(migration: Migration, now: Instant) -> bool:
    """Whether a person has to pass a gate. One that nobody passes in time is a reason to take it back, and so is a new
    agent that ends meanwhile; a migration that is verified may wait for ever: its pipeline works."""
    gate, index = selecting.waits(migration), progress.current(migration.steps)
    if gate is None:
        return False
    if index is None:
        return True
    row = migration.steps[index]
    if not progress.is_held(row):
        until = now.wall + timedelta(seconds=GATE_SECONDS)
        words = f"Action required: continue to {gate} before {until:%H:%M} UTC, or the migration is rolled back."
        steps.hold(migration=migration, index=index, now=now, message=words)
    elif progress.left(row, now) <= 0:
        start_rollback(migration, f"The gate before {gate} was not passed within {GATE_SECONDS / 3600:g} h.")
    elif (lost := standby_lost(_scene(migration, row, now))) is not None:
        start_rollback(migration, lost.message, findings=lost.findings)
    return True


def _perform(migration: Migration, index: int, now: Instant) -> Outcome:
    """Do the step, then look. What a service refuses is the step's failure."""
    row = migration.steps[index]
    rule = RULES[StepName(row["name"])]
    try:
        rule.do(_scene(migration, row, now))
    except Overtaken:
        raise
    except NotYet as waiting:
        return Outcome(message=str(waiting))
    except HeadgateError as refused:
        findings = [each.model_dump(mode="json") if hasattr(each, "model_dump") else each for each in refused.findings]
        own = [{"path": "", "code": refused.code.upper(), "message": refused.detail, "suggestion": refused.hint}]
        return Outcome(failed=True, message=refused.detail, findings=findings or own)
    crash_points.reach("worker.step_acted")
    return rule.verify(_scene(migration, row, now))


def _scene(migration: Migration, row: progress.Row, now: Instant) -> Scene:
    migration.pipeline.refresh_from_db()
    return Scene(migration, migration.pipeline, row, now)


def _late(row: progress.Row, outcome: Outcome) -> str:
    return f"{row['name']} timed out after {row['seconds']:g} s. {outcome.message}".strip()


def _finding(row: progress.Row, message: str) -> dict[str, str]:
    return {"path": str(row["name"]), "code": "STEP_FAILED", "message": message, "suggestion": ""}
