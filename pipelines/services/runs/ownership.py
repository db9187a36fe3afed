"""Whose a run is when its host is silent: unknown, over by its fence, or over by a person's word.

A host is silent for its peers when its lease has stood still on their own clock; every write here compares that lease
again, so that a host that speaks up in the same instant keeps what is its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from pipelines.domain.base.states import (
    ENDING_OPERATIONS,
    DesiredState,
    LedgerState,
    OperationState,
    Phase,
    RunOutcome,
    StopReason,
)
from pipelines.domain.governance.changes import ChangeKind
from pipelines.domain.lifecycle.operations import OnTimeout
from pipelines.domain.monitoring.alert_rules import AlertRule
from pipelines.foundation import clock
from pipelines.foundation.errors import Conflict, Invalid
from pipelines.models import Host, LedgerBatch, Operation, Pipeline, Run
from pipelines.selectors.governance.rules import is_governed
from pipelines.selectors.hosts.capacity import is_to_be_moved, tied
from pipelines.selectors.hosts.hosts import LOST_AFTER, seen_within
from pipelines.selectors.lifecycle.situations import live_run, open_operation, steering
from pipelines.selectors.runs.runs import last_active
from pipelines.services.base import audit, events, totals
from pipelines.services.base.audit import Actor
from pipelines.services.base.fencing import fenced
from pipelines.services.governance import governing
from pipelines.services.lifecycle import operations, placement
from pipelines.services.lifecycle.transitions import set_phase
from pipelines.services.monitoring import alerts
from pipelines.services.runs import runs
from pipelines.services.runs.runs import Aftermath, RunEnd

HOST_LOST = "host_lost"
CONSEQUENCE = (
    "You confirm that no process of this run is alive. Records delivered after its last report are delivered again; "
    "if it is alive, all that it delivers is delivered twice, until its host reports again and ends it. No record is "
    "lost."
)


@dataclass(frozen=True)
class Lapsed:
    """A host's lease as its peers have seen it stand still."""

    host: str
    epoch: int
    until: datetime | None

    @property
    def facts(self) -> dict[str, Any]:
        """What an alert remembers of it, to know whether the host was heard again."""
        return {"host": self.host, "epoch": self.epoch, "until": self.until and self.until.isoformat()}

    def lasts(self) -> bool:
        """Whether it still stands still; the row is locked until the end of the transaction."""
        rows = Host.objects.select_for_update(no_key=True).filter(name=self.host)
        return bool(rows.filter(lease_epoch=self.epoch, lease_until=self.until).values_list("name", flat=True).first())


def report_silence(*, leases: Collection[Lapsed], silent: Mapping[str, float], abandoned: Collection[str] = ()) -> bool:
    """Keep one alert for each host that is silent: one query where nothing has changed. Says whether one stood before.

    An alert is over when the host's lease is another than the one that stood still; a peer that has not yet watched for
    long enough to call a host silent ends none. `leases`: every host's, as they were just read. `silent`: seconds by
    host. `abandoned`: hosts that nobody waits for.
    """
    standing = alerts.facts_of_standing(AlertRule.HOST_SILENT)
    known = {lapsed.host: lapsed for lapsed in leases}
    for host in sorted(silent.keys() - standing.keys() - set(abandoned)):
        _raise_silence(known[host], silent[host])
    for host, facts in sorted(standing.items()):
        if host in abandoned or host not in known or known[host].facts != facts:
            _clear_silence(host)
    return bool(standing)


@fenced
def _raise_silence(lapsed: Lapsed, silence: float) -> None:
    message = (
        f"{lapsed.host} is silent: its worker does not run, or cannot reach the database. Its agents may be alive, "
        f"without a supervisor. If the host does not return: headgate hosts drain {lapsed.host}, then remove it"
    )
    if lapsed.lasts():
        alerts.raise_alert(
            rule=AlertRule.HOST_SILENT, key=lapsed.host, message=message, data=lapsed.facts, lasting=silence
        )


@fenced
def _clear_silence(host: str) -> None:
    alerts.clear_alert(rule=AlertRule.HOST_SILENT, key=host)


@fenced
def mark_unknown(*, run: Run, lapsed: Lapsed) -> bool:
    """Nothing is heard of a run's host; False where that is known, or no longer true."""
    pipeline = run.pipeline
    if pipeline.phase == Phase.UNKNOWN or not lapsed.lasts():
        return False
    words = (
        f"{lapsed.host} is silent; its agent may be alive. If you know that it is dead: "
        f"headgate runs declare-lost {pipeline.name}"
    )
    return set_phase(
        pipeline_id=pipeline.id,
        expected=Phase(pipeline.phase),
        new=Phase.UNKNOWN,
        reason=HOST_LOST,
        message=words,
        run=run,
    )


@fenced
def take_over(*, run: Run, lapsed: Lapsed, living: Collection[str], now: datetime) -> str | None:
    """End a run whose lease and grace have passed, and give its pipeline another host; None where there is none."""
    pipeline = run.pipeline
    if not lapsed.lasts() or (new := placement.elsewhere(pipeline, living)) is None:
        return None
    reason = f"{lapsed.host} is silent, and the run's lease has expired, so none of its processes is alive."
    if not _end(pipeline, run, reason, now):
        return None
    Pipeline.objects.filter(id=pipeline.id).update(host_id=new)
    _record_move(pipeline, new, reason)
    return new


@fenced
def move(*, pipeline: Pipeline, living: Collection[str], reason: str, lapsed: Lapsed | None = None) -> str | None:
    """Give a pipeline without a living run another host; None where there is none, or somebody else was faster.

    A batch that was begun and not finished keeps it where its sink can be asked, unless its host is silent.
    """
    unfinished = LedgerBatch.objects.filter(pipeline=pipeline, state=LedgerState.PLANNED).exists()
    if live_run(pipeline) is not None or (unfinished and lapsed is None) or (lapsed and not lapsed.lasts()):
        return None
    new = placement.elsewhere(pipeline, living)
    same = Pipeline.objects.filter(id=pipeline.id, host_id=pipeline.host_id, generation=pipeline.generation)
    if new is None or not same.update(host_id=new):
        return None
    run = last_active(pipeline.id)
    if run is not None:
        abandon_open_batches(pipeline=pipeline, run=run)
    _record_move(pipeline, new, reason)
    return new


def _record_move(pipeline: Pipeline, new: str, reason: str) -> None:
    message = f"The pipeline moves from {pipeline.host_id} to {new}: {reason}"
    events.record(kind="host.changed", message=message, pipeline=pipeline, data={"old": pipeline.host_id, "new": new})


@fenced
def evacuate(*, run: Run, living: Collection[str], on_timeout: OnTimeout) -> bool:
    """Let a run end after its batch in hand, because its host is being drained; False where the pipeline cannot go
    anywhere, where something else is wanted of it, where its changes are governed, or where an evacuation will move it
    with less ado. `on_timeout`:
    whether that is given up (ABORT) or becomes a stop (STOP) where the batch does not end in time."""
    pipeline = run.pipeline
    wanted = pipeline.desired_state != DesiredState.STOPPED and open_operation(pipeline) is None
    if not wanted or steering(pipeline.id) is not None or is_to_be_moved(pipeline):
        return False
    if is_governed(pipeline) or placement.elsewhere(pipeline, living) is None:
        return False
    same = Pipeline.objects.filter(id=pipeline.id, generation=pipeline.generation, desired_state=pipeline.desired_state)
    fields = {"on_timeout": on_timeout, "desired_before": pipeline.desired_state}
    if not same.update(restart_run=run.number, drain_on_stop=True, **fields):
        return False
    message = f"{run.host_id} is being drained; run {run.number} ends, and the next one starts elsewhere."
    events.record(kind="host.drain", message=message, pipeline=pipeline, run=run)
    return True


@transaction.atomic
def declare_lost(*, pipeline: Pipeline, confirm: str, actor: Actor) -> Run:
    """A person states that the run of a silent host is dead: it has ended as LOST, and what is wanted of the pipeline
    is done elsewhere where it is not tied to its host.

    Raises Conflict where there is no such run, or where its host is heard; Invalid where `confirm` is not the name;
    Governed where it needs the word of others.
    """
    current = Pipeline.objects.select_related("current_revision", "host").get(id=pipeline.id)
    run = live_run(current)
    if run is None:
        raise Conflict(f"{current.name} has no run that can be lost.", code="no_live_run")
    run = Run.objects.select_related("host", "pipeline", "revision").get(pk=run.pk)
    _require_silence(current, run)
    if confirm != current.name:
        raise Invalid(
            CONSEQUENCE, code="confirmation_differs", hint=f'Confirm it with {{"confirm": "{current.name}"}}.'
        )
    governing.require(pipeline=current, kind=ChangeKind.DECLARE_LOST, actor=actor)
    reason = f"{actor.name} declared it lost; {run.host_id} was silent."
    now = clock.now()
    if not _end(current, run, reason, now):
        raise Conflict(f"Run {run.number} has just ended.", code="busy", hint="Read its status.")
    audit.record(
        actor=actor,
        action="pipeline.declare_lost",
        pipeline_name=current.name,
        before={"run": run.number, "host": run.host_id, "phase": current.phase},
        after={"outcome": RunOutcome.LOST},
    )
    if not tied(current):
        Pipeline.objects.filter(id=current.id).update(host_id=None)
    if current.desired_state == DesiredState.STOPPED:
        _nothing_left_to_stop(current, now)
    run.refresh_from_db()
    return run


def _require_silence(pipeline: Pipeline, run: Run) -> None:
    """By its peers' word, whose clocks agree with themselves, or by the time at which it was seen last."""
    by_peers = pipeline.phase == Phase.UNKNOWN and pipeline.phase_reason == HOST_LOST
    if not by_peers and seen_within(run.host.seen_at, LOST_AFTER):
        raise Conflict(
            f"The worker of {run.host_id} runs and supervises run {run.number}.",
            code="host_is_up",
            hint=f"Stop the pipeline instead: headgate stop {pipeline.name} --no-drain",
        )


def _nothing_left_to_stop(pipeline: Pipeline, now: datetime) -> None:
    runs.observe_generation(pipeline_id=pipeline.id, generation=pipeline.generation)
    for operation in Operation.objects.filter(pipeline=pipeline, kind__in=ENDING_OPERATIONS, state__in=operations.OPEN):
        operations.finish(operation_id=operation.id, state=OperationState.SUCCEEDED, now=now)


def _end(pipeline: Pipeline, run: Run, reason: str, now: datetime) -> bool:
    stopped = pipeline.desired_state == DesiredState.STOPPED
    phase = Phase.STOPPED if stopped else Phase.BACKOFF
    words = reason if stopped else f"{reason} The next run follows."
    ended = runs.end_run(
        pipeline=pipeline,
        run=run,
        end=RunEnd(RunOutcome.LOST, None, reason, ""),
        after=Aftermath(phase, "lost", words, StopReason.SYSTEM, findings=[], restart=None),
        now=now,
    )
    if ended:
        abandon_open_batches(pipeline=pipeline, run=run)
    return ended


def abandon_open_batches(*, pipeline: Pipeline, run: Run) -> int:
    """Batches that were begun and that nobody can ask about any more: their records are read again, and may be
    delivered twice. Returns their number."""
    rows = LedgerBatch.objects.filter(pipeline=pipeline, state=LedgerState.PLANNED).order_by("first_batch")
    for row in rows:
        records = row.most_twice
        row.state, row.duplicates_max = LedgerState.ABANDONED, records
        message = (
            f"Batch {row.first_batch} of {row.source}.{row.channel} of run {run.number} is aborted; its "
            f"{records} records are reread, and some can be duplicates."
        )
        data: dict[str, Any] = {"batch": row.first_batch, "ranges": row.ranges, "duplicates_max": records}
        events.record(kind="batch.abandoned", message=message, pipeline=pipeline, run=run, data=data)
    totals.add_abandoned(rows)
    return LedgerBatch.objects.bulk_update(rows, ["state", "duplicates_max"])
