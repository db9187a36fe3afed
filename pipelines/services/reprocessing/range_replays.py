"""Replays of ranges: planned and asked for by people, carried out by the agent, taken into the ledger batch by batch.

No position moves. A batch is a row of state `replayed` that names its operation, so taking it in twice is harmless.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q

from pipelines.domain.base.states import DesiredState, LedgerState, OperationKind, OperationState
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.governance.changes import ChangeKind
from pipelines.domain.ledger.journal import DeadLetters, Done, Entry, EntryKind, Planned, Resolved
from pipelines.domain.lifecycle.operations import steps_of
from pipelines.domain.positions.resets import effects
from pipelines.domain.reprocessing.range_replay import Order, RangeReplayRequest, digest, resolved
from pipelines.foundation import clock
from pipelines.foundation.errors import Conflict, Invalid
from pipelines.models import Host, LedgerBatch, Operation, Pipeline, Position, Run
from pipelines.selectors.hosts.hosts import LOST_AFTER, seen_within
from pipelines.selectors.lifecycle.situations import OPEN_STATES
from pipelines.selectors.reprocessing.range_replays import last_replayed
from pipelines.services.base import audit, events
from pipelines.services.base.audit import Actor
from pipelines.services.governance import governing
from pipelines.services.lifecycle import operations
from pipelines.services.reprocessing import dead_letters

ALLOWED = timedelta(days=7)
"""How long a replay may take, the times included in which its pipeline does not run."""


@dataclass(frozen=True)
class Plan:
    """What a replay would do. `read_up_to`: the channel's position; `offsets`: how many come again, at most."""

    source: str
    channel: str
    wanted: RangeReplayRequest
    read_up_to: int
    size: int
    sinks: list[dict[str, Any]]
    hash: str

    @property
    def offsets(self) -> int:
        """Offsets in the range; in a compacted or transactional topic some of them are no records."""
        return self.wanted.end - self.wanted.start

    @property
    def batches(self) -> int:
        """Batches that they are cut into."""
        return -(-self.offsets // self.size)


def plan(*, pipeline: Pipeline, wanted: RangeReplayRequest) -> Plan:
    """Say what a replay would do; nothing is changed.

    Raises Invalid with everything that speaks against it, Conflict where the range was not read yet.
    """
    definition = _definition(pipeline)
    found = resolved(definition, wanted)
    if isinstance(found, list):
        raise Invalid(found[0].message, code="not_replayable", hint=found[0].suggestion or "", findings=found)
    source, channel = found
    read = _read_up_to(pipeline, source, channel, wanted)
    if wanted.end > read:
        raise Conflict(
            f"{source}.{channel} has read {wanted.topic}/{wanted.partition} up to {read}; the pipeline reads the rest "
            "itself.",
            code="not_read_yet",
            hint=f"Replay up to {read} at most.",
        )
    size = min(definition.delivery.max_events_per_batch, wanted.end - wanted.start)
    basis = {
        "pipeline": str(pipeline.id),
        "revision": pipeline.current_revision_id,
        "source": source,
        "channel": channel,
        **wanted.model_dump(exclude={"source", "channel"}),
    }
    return Plan(source, channel, wanted, read, size, _sinks(definition, source, channel), digest(basis))


def _definition(pipeline: Pipeline) -> Definition:
    try:
        return Definition.model_validate(pipeline.current_revision.definition if pipeline.current_revision else None)
    except ValueError:
        words = f"{pipeline.name} has no definition that this version of Headgate can run."
        raise Conflict(words, code="not_replayable", hint="Publish a revision that is valid.") from None


def _read_up_to(pipeline: Pipeline, source: str, channel: str, wanted: RangeReplayRequest) -> int:
    rows = Position.objects.filter(
        pipeline=pipeline, source=source, channel=channel, topic=wanted.topic, partition=wanted.partition
    )
    return rows.values_list("next_offset", flat=True).first() or 0


def _sinks(definition: Definition, source: str, channel: str) -> list[dict[str, Any]]:
    return [
        {"sink": each.sink, "type": each.type, "effect": each.effect}
        for each in effects(definition, source)
        if each.channel == channel
    ]


def request(*, pipeline: Pipeline, wanted: RangeReplayRequest, named: str, reason: str, actor: Actor) -> Operation:
    """Carry a reviewed plan out; `named`: its hash. Returns the operation.

    Raises what `plan` raises, and Conflict where the plan is stale, the pipeline is not to run, or another replay of a
    range is under way; Governed where it needs the word of others.
    """
    made = plan(pipeline=pipeline, wanted=wanted)
    if made.hash != named:
        raise Conflict("The plan has changed.", code="plan_stale", hint="Plan again and review it.")
    if pipeline.desired_state != DesiredState.RUNNING or pipeline.host_id is None:
        words = f"{pipeline.name} is not running, and only a running pipeline replays."
        raise Conflict(words, code="not_running", hint=f"Start it first: headgate start {pipeline.name}.")
    governing.require(pipeline=pipeline, kind=ChangeKind.REPLAY, actor=actor)
    try:
        with transaction.atomic():
            return _request(pipeline, made, reason, actor)
    except IntegrityError:
        other = Operation.objects.filter(
            pipeline=pipeline, kind=OperationKind.REPLAY_RANGE, state__in=OPEN_STATES
        ).first()
        where = f"DELETE /api/v1/operations/{other.id}" if other else "the list of operations"
        words = f"Another replay of {pipeline.name} is in progress; only one runs at a time."
        raise Conflict(words, code="replay_under_way", hint=f"Wait for it, or cancel it: {where}.") from None


def _request(pipeline: Pipeline, made: Plan, reason: str, actor: Actor) -> Operation:
    wanted = made.wanted
    asked = {
        "source": made.source,
        "channel": made.channel,
        "topic": wanted.topic,
        "partition": wanted.partition,
        "start": wanted.start,
        "end": wanted.end,
        "size": made.size,
        "hash": made.hash,
    }
    words = f"[{wanted.start}, {wanted.end}) of {wanted.topic}/{wanted.partition} into {made.channel}."
    operation = Operation.objects.create(
        pipeline=pipeline,
        kind=OperationKind.REPLAY_RANGE,
        generation=pipeline.generation,
        steps=steps_of(OperationKind.REPLAY_RANGE),
        parameters=asked,
        message=words,
        created_by=actor.name,
        **actor.origin,
        progress={"done": 0, "of": made.offsets, "read": 0, "delivered": 0, "possible_duplicates": 0},
        deadline=clock.now() + ALLOWED,
    )
    after = {**asked, "operation": str(operation.id), "reason": reason}
    audit.record(actor=actor, action="range.replay", pipeline_name=pipeline.name, after=after)
    data = {"operation": str(operation.id), "kind": operation.kind, "state": operation.state, **asked}
    events.record(
        kind="operation.updated",
        message=f"{actor.name} requested a replay of {words}",
        pipeline=pipeline,
        actor=actor.name,
        data=data,
    )
    return operation


def order_of(operation: Operation) -> Order:
    """What the agent is told."""
    done = last_replayed(operation)
    return Order.model_validate({**operation.parameters, "operation": operation.id, "done": done})


def hold(*, operation: Operation, host: str) -> Order | None:
    """Let a host carry a replay out from now on; returns the order, which goes on behind what the ledger has.

    What was done on the host before and is not in the ledger yet is there alone: that host is waited for (None) while
    it is heard. Where it is silent, what is left may be delivered twice, and that is announced.
    """
    holder, order = operation.parameters.get("host"), order_of(operation)
    if holder not in (None, host):
        before = Host.objects.filter(name=holder).first()
        if before is not None and seen_within(before.seen_at, LOST_AFTER):
            words = f"The replay waits for the progress report of {holder}."
            operations.advance(
                operation_id=operation.id, step="replaying", state="running", message=words, now=clock.now()
            )
            return None
        words = f"{holder} is silent: what was replayed there after {order.range_of(order.done + 1)[0]} is not known."
        _doubt(operation, order.left, words)
    return order if _hand_over(operation, host) else None


def release(*, operation: Operation, journals: Sequence[tuple[int, Sequence[Entry]]]) -> None:
    """Take in what the runs on a host have written, and let another host carry the replay on.

    A batch that was in hand is delivered again by the next run, which cannot ask about it: its records may be there
    twice, and that is announced.
    """
    take_in(operation=operation, journals=journals)
    operation.refresh_from_db()
    order = order_of(operation)
    payloads = [entry.payload() for _, entries in journals for entry in entries]
    if any(isinstance(each, Planned) and each.batch > order.done for each in payloads):
        start, end = order.range_of(order.done + 1)
        _doubt(operation, end - start, f"[{start}, {end}) was in flight when its pipeline changed host.")
    _hand_over(operation, None)


def _doubt(operation: Operation, records: int, why: str) -> None:
    """Announce that up to so many records can be duplicates."""
    unsure = operation.progress.get("unsure", 0) + records
    possible = operation.progress["possible_duplicates"] + records
    operation.progress = {**operation.progress, "unsure": unsure, "possible_duplicates": possible}
    operations.report(operation_id=operation.id, progress=operation.progress)
    words = f"{why} Up to {records} records can be duplicates."
    operations.advance(operation_id=operation.id, step="replaying", state="running", message=words, now=clock.now())


def _hand_over(operation: Operation, host: str | None) -> bool:
    """Name the host that carries it out; False where it is over, or somebody else was first."""
    holder = operation.parameters.get("host")
    same = Operation.objects.filter(id=operation.id, state__in=OPEN_STATES)
    same = same.filter(parameters__host=holder) if holder else same.filter(_unowned())
    operation.parameters = {**operation.parameters, "host": host}
    return bool(same.update(parameters=operation.parameters))


def _unowned() -> Q:
    return Q(parameters__host=None) | ~Q(parameters__has_key="host")


@transaction.atomic
def take_in(*, operation: Operation, journals: Sequence[tuple[int, Sequence[Entry]]]) -> None:
    """Take in what the runs that took part have written: (epoch, entries), oldest first. Ends the operation with
    the journal's last word."""
    order = order_of(operation)
    runs = Run.objects.filter(pipeline_id=operation.pipeline_id, epoch__in=[epoch for epoch, _ in journals])
    by_epoch = {run.epoch: run for run in runs}
    for epoch, entries in journals:
        if (run := by_epoch.get(epoch)) is not None:
            _take_in(operation, order, run, entries)
    _report(operation, order)
    last = next((each for _, entries in reversed(journals) for each in entries if each.kind is EntryKind.EXIT), None)
    if last is not None:
        _finish(operation, int(last.data["code"]), str(last.data["reason"]))


def _take_in(operation: Operation, order: Order, run: Run, entries: Sequence[Entry]) -> None:
    payloads = [entry.payload() for entry in entries]
    rows = [_row(operation, order, run, each) for each in payloads if isinstance(each, Done)]
    LedgerBatch.objects.bulk_create(rows, ignore_conflicts=True, batch_size=500)
    dead_letter_entries = [
        each.model_copy(update={"source": order.source}) for each in payloads if isinstance(each, DeadLetters)
    ]
    dead_letters.take_in(run=run, found=dead_letter_entries)
    for resolution in (each for each in payloads if isinstance(each, Resolved)):
        operation.progress = {**operation.progress, "resolved": resolution.delivered_before}


def _row(operation: Operation, order: Order, run: Run, done: Done) -> LedgerBatch:
    row = LedgerBatch(
        run=run,
        pipeline_id=operation.pipeline_id,
        lineage=run.lineage,
        source=order.source,
        channel=order.channel,
        first_batch=done.batch,
        last_batch=done.batch,
        state=LedgerState.REPLAYED,
        operation=operation,
        ranges=[each.model_dump(mode="json") for each in done.ranges],
        sink=done.sink,
        attempts=done.attempts,
        duplicates_max=done.duplicates_max,
        done_at=clock.now(),
    )
    row.add(done.counts)
    return row


def _report(operation: Operation, order: Order) -> None:
    rows = list(LedgerBatch.objects.filter(operation=operation))
    done = sum(end - start for start, end in (order.range_of(row.first_batch) for row in rows))
    progress = {
        **operation.progress,
        "done": done,
        "read": sum(row.read for row in rows),
        "delivered": sum(row.delivered for row in rows),
        "possible_duplicates": sum(row.duplicates_max for row in rows) + operation.progress.get("unsure", 0),
    }
    if rows:
        words = f"{done} of {operation.progress['of']} offsets were replayed."
        operations.advance(operation_id=operation.id, step="replaying", state="running", message=words, now=clock.now())
    operations.report(operation_id=operation.id, progress=progress)
    operation.progress = progress


def _finish(operation: Operation, code: int, reason: str) -> None:
    reported = f"{operation.progress['delivered']} records were delivered again."
    state, error = OperationState.SUCCEEDED, None
    if code:
        state = OperationState.FAILED
        hint = "Delivered records stay; the ledger has them as `replayed`. Plan the rest again."
        error = {"code": "replay_failed", "message": f"{reason} {reported}", "hint": hint}
    operations.finish(operation_id=operation.id, state=state, now=clock.now(), message=reported, error=error)


def data_of(pipeline: Pipeline, state_dir: Path) -> Path:
    """Where the data of a pipeline lies that outlives its runs, as its agent has it."""
    definition = pipeline.current_revision.definition if pipeline.current_revision else {}
    shared = definition.get("placement", {}).get("launcher", {}).get("storage")
    return (Path(shared) if shared else state_dir) / "data" / pipeline.name / str(pipeline.id)
