"""Journals into the books, exactly once: the run's journal number and everything taken in change in one transaction.

Adjoining finished batches of a (source, channel) that are taken in together become one row; a batch that is planned and
not done keeps a row of its own until it is. Each range must begin where the ledger's position stands; where it does
not, the row counts the gap or the overlap and an event says so at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.db import transaction

from pipelines.domain import journal
from pipelines.domain.journal import Entry, EntryKind, JournalCorrupt
from pipelines.domain.ledger import COUNTERS, Books
from pipelines.domain.positions import Discontinuity, Frozen, PartitionRange, discontinuities, merge_ranges
from pipelines.domain.states import LedgerState
from pipelines.models import LedgerBatch, Position, Run
from pipelines.services import dead_letters, events

Query = tuple[str, str]
Partition = tuple[str, int]


@transaction.atomic
def ingest(*, run: Run, entries: list[Entry], offset: int) -> Books | None:
    """Take in the entries that follow `run.journal_seq`; `offset`: bytes of the journal that they end at.

    Returns what they add to the books; None where somebody else has taken them in. Raises JournalCorrupt for entries of
    another epoch.
    """
    stale = next((entry for entry in entries if entry.epoch != run.number), None)
    if stale is not None:
        raise JournalCorrupt(f"entry {stale.n} is of epoch {stale.epoch}, not {run.number}")
    same = Run.objects.filter(pk=run.pk, journal_seq=run.journal_seq)
    if not same.update(journal_seq=entries[-1].n, journal_offset=offset):
        return None
    return _Intake(run).take(entries)


@dataclass
class _Intake:
    """One pass over new entries. Rows are built in memory and written at the end, a statement per table."""

    run: Run
    positions: dict[Query, dict[Partition, int]] = field(default_factory=dict)
    moved: set[tuple[Query, Partition]] = field(default_factory=set)
    planned: dict[tuple[Query, int], LedgerBatch] = field(default_factory=dict)
    touched: set[tuple[Query, int]] = field(default_factory=set)
    superseded: list[int] = field(default_factory=list)
    done: list[LedgerBatch] = field(default_factory=list)
    tails: dict[Query, LedgerBatch] = field(default_factory=dict)
    failures: dict[tuple[Query, int, str], journal.SinkFailed] = field(default_factory=dict)
    switches: dict[tuple[object, ...], journal.SinkSwitched] = field(default_factory=dict)
    letters: list[journal.DeadLetters] = field(default_factory=list)
    books: Books = field(default_factory=Books)

    def take(self, entries: list[Entry]) -> Books:
        """Load what the entries are compared with, apply them in order, write the outcome."""
        self._load()
        for entry in entries:
            handler = _HANDLERS.get(entry.kind)
            if handler is not None:
                handler(self, _payload(entry), datetime.fromtimestamp(entry.at, UTC))
        self._store()
        return self.books

    def _load(self) -> None:
        for row in Position.objects.filter(pipeline_id=self.run.pipeline_id):
            known = self.positions.setdefault((row.source, row.channel), {})
            known[(row.topic, row.partition)] = row.next_offset
        rows = LedgerBatch.objects.filter(pipeline_id=self.run.pipeline_id, state=LedgerState.PLANNED)
        for batch in rows.filter(lineage=self.run.lineage):
            self.planned[((batch.source, batch.channel), batch.first_batch)] = batch

    def on_planned(self, planned: journal.Planned, at: datetime) -> None:
        """A batch planned again, by a later run of the lineage, keeps its one row."""
        key = ((planned.source, planned.channel), planned.batch)
        row = self.planned.setdefault(key, self._row(planned, LedgerState.PLANNED))
        row.run = self.run
        row.planned = planned.model_dump(mode="json")
        row.ranges = row.planned["ranges"]
        row.planned_at = at
        self.touched.add(key)

    def on_done(self, done: journal.Done, at: datetime) -> None:
        query = (done.source, done.channel)
        plan = self.planned.pop((query, done.batch), None)
        if plan is not None and plan.pk is not None:
            self.superseded.append(plan.pk)
        broken = discontinuities(self.positions.get(query, {}), done.ranges)
        row = None if broken else self._extend(self.tails.get(query), done)
        if row is None:
            row = self._row(done, LedgerState.DONE)
            row.ranges = _plain(done.ranges)
            row.planned_at = plan.planned_at if plan else at
            self.done.append(row)
        self.tails[query] = row
        _count(row, done, at)
        self._note_broken(row, broken)
        self._move(query, {r.key: r.end for r in done.ranges})
        self.books += Books(batches=1, difference=done.counts.difference)
        if not done.counts.balanced:
            message = f"Batch {done.batch} of {'.'.join(query)}: {done.counts.difference} records have no verdict."
            self._event("ledger.unbalanced", message, done)

    def _extend(self, tail: LedgerBatch | None, done: journal.Done) -> LedgerBatch | None:
        """The row of the batches before, grown by this one; None where they do not adjoin."""
        if tail is None or tail.last_batch + 1 != done.batch or tail.sink != done.sink:
            return None
        ranges = merge_ranges([PartitionRange.model_validate(r) for r in tail.ranges], done.ranges)
        if ranges is None:
            return None
        tail.ranges = _plain(ranges)
        tail.last_batch = done.batch
        return tail

    def _note_broken(self, row: LedgerBatch, broken: list[Discontinuity]) -> None:
        for each in broken:
            row.gaps += each.gap
            row.overlaps += each.overlap
            self.books += Books(gaps=each.gap, overlaps=each.overlap)
            what = f"{row.source}.{row.channel} {each.topic}/{each.partition}"
            kind, number = ("gap", each.gap) if each.gap else ("overlap", each.overlap)
            verb = "were skipped" if each.gap else "were read again"
            message = f"{what}: {number} records {verb}; expected offset {each.expected}, read from {each.actual}."
            self._event(f"ledger.{kind}", message, each)

    def on_resolved(self, resolved: journal.Resolved, _at: datetime) -> None:
        """What the sink said of an open batch; the bound stands until the batch is done and counted. A batch without a
        fixed end of which the sink holds nothing was never begun."""
        key = ((resolved.source, resolved.channel), resolved.batch)
        row = self.planned.get(key)
        if row is not None and (row.planned or {}).get("open_ended") and _is_nothing(resolved):
            self._forget(key)
            return
        if key in self.planned:
            self.planned[key].duplicates_max = resolved.delivered_before
            self.touched.add(key)
        known = "holds" if resolved.complete else "may hold up to"
        batch = f"{resolved.source}.{resolved.channel} {resolved.batch}"
        message = f"Open batch {batch}: the sink {known} {resolved.delivered_before} of its records."
        self._event("batch.resolved", message, resolved)

    def _forget(self, key: tuple[Query, int]) -> None:
        row = self.planned.pop(key)
        self.touched.discard(key)
        if row.pk is not None:
            self.superseded.append(row.pk)

    def on_positions(self, change: journal.Positions, _at: datetime) -> None:
        self._move((change.source, change.channel), {(c.topic, c.partition): c.new for c in change.changes})
        message = f"Positions of {change.source}.{change.channel} were set by {change.origin}."
        self._event("position.changed", message, change)

    def on_sink_failed(self, failed: journal.SinkFailed, _at: datetime) -> None:
        self.failures[((failed.source, failed.channel), failed.batch, failed.sink)] = failed

    def on_switched(self, switched: journal.SinkSwitched, _at: datetime) -> None:
        """One event for each switch; failures without a penalty, which may come with every batch, are summed up."""
        query = (switched.source, switched.channel, switched.sink, switched.to)
        summed_up = switched.failures and not switched.penalty_ms
        self.switches[query if summed_up else (*query, switched.batch, switched.failures)] = switched

    def on_dead_letters(self, found: journal.DeadLetters, _at: datetime) -> None:
        self.letters.append(found)

    def on_exit(self, exited: journal.Exited, _at: datetime) -> None:
        Run.objects.filter(pk=self.run.pk).update(exit_code=exited.code, exit_reason=exited.reason)

    def _row(self, batch: journal.Planned | journal.Done, state: LedgerState) -> LedgerBatch:
        return LedgerBatch(
            run=self.run,
            pipeline_id=self.run.pipeline_id,
            lineage=self.run.lineage,
            source=batch.source,
            channel=batch.channel,
            first_batch=batch.batch,
            last_batch=batch.batch,
            state=state,
        )

    def _move(self, query: Query, ends: dict[Partition, int]) -> None:
        self.positions.setdefault(query, {}).update(ends)
        self.moved.update((query, partition) for partition in ends)

    def _event(self, kind: str, message: str, data: Frozen) -> None:
        events.record(
            kind=kind, message=message, pipeline=self.run.pipeline, run=self.run, data=data.model_dump(mode="json")
        )

    def _store(self) -> None:
        LedgerBatch.objects.filter(pk__in=self.superseded).delete()
        open_rows = [self.planned[key] for key in self.touched if key in self.planned]
        for row in open_rows:
            if row.pk is not None:
                row.save()
        LedgerBatch.objects.bulk_create([*self.done, *(row for row in open_rows if row.pk is None)])
        self._store_positions()
        dead_letters.take_in(run=self.run, found=self.letters)
        for failed in self.failures.values():
            sink = f"Sink {failed.sink} of {failed.source}.{failed.channel}"
            self._event("sink.failed", f"{sink} failed (attempt {failed.attempt}): {failed.cause}", failed)
        for switched in self.switches.values():
            kind = "sink.recovered" if switched.recovered else "sink.switched"
            self._event(kind, _told(switched), switched)

    def _store_positions(self) -> None:
        rows = [
            Position(
                pipeline_id=self.run.pipeline_id,
                source=query[0],
                channel=query[1],
                topic=partition[0],
                partition=partition[1],
                next_offset=self.positions[query][partition],
                lineage=self.run.lineage,
            )
            for query, partition in sorted(self.moved)
        ]
        Position.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["pipeline", "source", "channel", "topic", "partition"],
            update_fields=["next_offset", "lineage", "updated_at"],
        )


def _told(switched: journal.SinkSwitched) -> str:
    """A switch in a sentence."""
    sink = f"Sink {switched.sink} of the group {switched.group}"
    if switched.recovered:
        return f"{sink} {switched.cause}; {switched.to or 'nobody'} takes the batches."
    out = f" It is left alone for {switched.penalty_ms / 1000:g} s." if switched.penalty_ms else ""
    following = f"{switched.to} is tried next." if switched.to else "No other sink is left to try."
    return f"{sink} failed ({switched.failures} in a row): {switched.cause}. {following}{out}"


def _payload(entry: Entry) -> Frozen:
    try:
        return entry.payload()
    except ValueError as error:
        raise JournalCorrupt(f"entry {entry.n} is not a {entry.kind}: {error}") from error


def _count(row: LedgerBatch, done: journal.Done, at: datetime) -> None:
    for name in COUNTERS:
        setattr(row, name, getattr(row, name) + getattr(done.counts, name))
    row.duplicates_max += done.duplicates_max
    row.attempts = max(row.attempts, done.attempts)
    row.sink = done.sink
    row.done_at = at


def _plain(ranges: list[PartitionRange]) -> list[dict[str, Any]]:
    return [r.model_dump(mode="json") for r in ranges]


def _is_nothing(resolved: journal.Resolved) -> bool:
    return resolved.complete and resolved.delivered_before == 0


_HANDLERS: dict[EntryKind, Callable[[_Intake, Any, datetime], None]] = {
    EntryKind.PLANNED: _Intake.on_planned,
    EntryKind.DONE: _Intake.on_done,
    EntryKind.RESOLVED: _Intake.on_resolved,
    EntryKind.POSITIONS: _Intake.on_positions,
    EntryKind.SINK_FAILED: _Intake.on_sink_failed,
    EntryKind.SINK_SWITCHED: _Intake.on_switched,
    EntryKind.DEAD_LETTERS: _Intake.on_dead_letters,
    EntryKind.EXIT: _Intake.on_exit,
}
