"""Journals into the books, exactly once: the run's journal number and everything taken in change in one transaction.

Adjoining finished batches of a (source, channel) that are taken in together become one row; a batch that is planned and
not done keeps a row of its own until it is. Each range must begin where the ledger's position stands; where it does
not, the row counts the gap or the overlap and an event says so at once.

What many runs have written is taken in together, with as many queries as for one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from pipelines.domain.base.positions import (
    Discontinuity,
    Frozen,
    PartitionRange,
    TopicPartition,
    discontinuities,
    merge_ranges,
)
from pipelines.domain.base.states import LedgerState
from pipelines.domain.ledger import journal
from pipelines.domain.ledger.journal import Entry, EntryKind, JournalCorrupt
from pipelines.domain.ledger.ledger import Cause, LedgerTotals, Parts, added_up
from pipelines.domain.ledger.totals import of_batch
from pipelines.models import LedgerBatch, Position, Run
from pipelines.services.base import bulk, events, totals
from pipelines.services.base.fencing import fenced
from pipelines.services.positions import positions
from pipelines.services.reprocessing import dead_letters

Query = tuple[str, str]
Positions = dict[Query, dict[TopicPartition, int]]


@dataclass(frozen=True)
class Portion:
    """Entries of one run's journal that follow `run.journal_seq`: kind, content, time. `seq`: number of the last one,
    `offset`: bytes of the journal that they end at."""

    run: Run
    entries: Sequence[tuple[EntryKind, Frozen, datetime]]
    seq: int
    offset: int

    @classmethod
    def of(cls, run: Run, entries: Sequence[Entry], offset: int) -> Portion:
        """Check what was read. Raises JournalCorrupt for entries of another epoch, or that are not what they say.

        A standby has no epoch, and tells of its own life alone.
        """
        stale = next((entry for entry in entries if not _is_of(entry, run)), None)
        if stale is not None:
            raise JournalCorrupt(f"entry {stale.n} ({stale.kind}) is of epoch {stale.epoch}, not {run.epoch or 0}")
        known = [(e.kind, _payload(e), datetime.fromtimestamp(e.at, UTC)) for e in entries if e.kind in _HANDLERS]
        return cls(run, known, entries[-1].n, offset)


@dataclass(frozen=True)
class Taken:
    """What a portion adds to the books, and the driver's last word if it is among it."""

    totals: LedgerTotals
    exited: journal.Exited | None


def ingest(*, run: Run, entries: Sequence[Entry], offset: int) -> Taken | None:
    """Take in the portion of one run; None where somebody else has taken it in. Raises JournalCorrupt."""
    return ingest_all([Portion.of(run, entries, offset)]).get(run.pk)


@fenced
def ingest_all(portions: Sequence[Portion]) -> dict[int, Taken]:
    """Take in what many runs have written, all of it or nothing; by run. One that is not in the answer was taken in by
    somebody else."""
    same = bulk.update(
        Run,
        [
            {"id": p.run.pk, "journal_seq": p.seq, "journal_offset": p.offset, "seen_journal_seq": p.run.journal_seq}
            for p in portions
        ],
        seen=["journal_seq"],
    )
    ours = [portion for portion in portions if portion.run.pk in same]
    known, planned = _positions(ours), _planned(ours)
    ingestions = [
        _Ingestion(p.run, known.get(p.run.pipeline_id, {}), planned.get((p.run.pipeline_id, p.run.lineage), {}))
        for p in ours
    ]
    for ingestion, portion in zip(ingestions, ours, strict=True):
        ingestion.take(portion)
    _store(ingestions)
    return {ingestion.run.pk: Taken(ingestion.totals, ingestion.exited) for ingestion in ingestions}


def _positions(portions: Sequence[Portion]) -> dict[UUID, Positions]:
    """Where the ledger stands, by pipeline."""
    found: dict[UUID, Positions] = {}
    rows = Position.objects.filter(pipeline_id__in={portion.run.pipeline_id for portion in portions})
    values = rows.values_list("pipeline_id", "source", "channel", "topic", "partition", "next_offset")
    for pipeline_id, source, channel, topic, partition, next_offset in values:
        query = found.setdefault(pipeline_id, {}).setdefault((source, channel), {})
        query[TopicPartition(topic, partition)] = next_offset
    return found


def _planned(portions: Sequence[Portion]) -> dict[tuple[UUID, int], dict[tuple[Query, int], LedgerBatch]]:
    """Open batches, by pipeline and lineage."""
    found: dict[tuple[UUID, int], dict[tuple[Query, int], LedgerBatch]] = {}
    rows = LedgerBatch.objects.filter(state=LedgerState.PLANNED)
    for batch in rows.filter(pipeline_id__in={portion.run.pipeline_id for portion in portions}):
        lineage = found.setdefault((batch.pipeline_id, batch.lineage), {})
        lineage[((batch.source, batch.channel), batch.first_batch)] = batch
    return found


@dataclass
class _Ingestion:
    """One pass over new entries of a run: rows are built in memory, from what the ledger had before."""

    run: Run
    positions: Positions
    planned: dict[tuple[Query, int], LedgerBatch]
    started: dict[tuple[Query, int], tuple[journal.Planned, datetime]] = field(default_factory=dict)
    moved: set[tuple[Query, TopicPartition]] = field(default_factory=set)
    touched: set[tuple[Query, int]] = field(default_factory=set)
    superseded: list[int] = field(default_factory=list)
    done: list[LedgerBatch] = field(default_factory=list)
    tails: dict[Query, LedgerBatch] = field(default_factory=dict)
    ranges: dict[Query, list[PartitionRange]] = field(default_factory=dict)
    failures: dict[tuple[Query, int, str], journal.SinkFailed] = field(default_factory=dict)
    unread: dict[tuple[Query, int], journal.SourceFailed] = field(default_factory=dict)
    switches: dict[tuple[object, ...], journal.SinkSwitched] = field(default_factory=dict)
    dead_letters: list[journal.DeadLetters] = field(default_factory=list)
    guarded: list[journal.Identified | journal.Repaired | journal.Noticed] = field(default_factory=list)
    news: list[tuple[str, str, Frozen]] = field(default_factory=list)
    exited: journal.Exited | None = None
    totals: LedgerTotals = field(default_factory=LedgerTotals)
    channels: dict[Query, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    components: dict[Query, Parts] = field(default_factory=dict)

    def take(self, portion: Portion) -> None:
        """Apply the entries in order."""
        for kind, payload, at in portion.entries:
            _HANDLERS[kind](self, payload, at)
        for key in list(self.started):
            self._open_row(key)
        for query in self.tails:
            self._keep_ranges(query)

    def on_planned(self, planned: journal.Planned, at: datetime) -> None:
        """Nearly every batch is done in the same portion, so a row is made of it only where it is not. A batch planned
        again, by a later run of the lineage, keeps its one row."""
        key = ((planned.source, planned.channel), planned.batch)
        self.started[key] = (planned, at)
        if key in self.planned:
            self._open_row(key)

    def _open_row(self, key: tuple[Query, int]) -> LedgerBatch | None:
        """The row of an open batch, as it is planned now; None where it is not planned."""
        if key in self.started:
            planned, at = self.started.pop(key)
            row = self.planned.get(key) or self._row(planned, LedgerState.PLANNED)
            row.run = self.run
            row.ranges = _plain(planned.ranges)
            row.sink_ends = {sink: _plain(ends) for sink, ends in planned.sink_ends.items()}
            row.open_ended = planned.open_ended
            row.attempts = planned.attempts + 1
            row.planned_at = at
            self.planned[key] = row
            self.touched.add(key)
        return self.planned.get(key)

    def on_done(self, done: journal.Done, at: datetime) -> None:
        query = (done.source, done.channel)
        planned_at = self._close((query, done.batch))
        broken = discontinuities(self.positions.get(query, {}), done.ranges)
        row = None if broken else self._extend(query, done)
        if row is None:
            row = self._row(done, LedgerState.DONE)
            row.planned_at = planned_at or at
            self._keep_ranges(query)
            self.ranges[query] = done.ranges
            self.done.append(row)
        self.tails[query] = row
        _count(row, done, at)
        self.channels[query].update(of_batch(done))
        self.components[query] = added_up(self.components.get(query, {}), done.counts.parts or {})
        self._note_broken(row, broken)
        self._move(query, {r.key: r.end for r in done.ranges})
        difference, unattributed = done.counts.difference, done.counts.unattributed
        self.totals += LedgerTotals(batches=1, difference=difference, unattributed=unattributed)
        batch = f"Batch {done.batch} of {'.'.join(query)}"
        if difference:
            self._event("ledger.unbalanced", f"{batch}: {difference} records have no verdict.", done)
        elif unattributed:
            message = f"{batch}: the counts of its components differ from their sums by {unattributed} records."
            self._event("ledger.unbalanced", message, done)

    def _close(self, key: tuple[Query, int]) -> datetime | None:
        """The batch is open no more; when it was planned, if that is known."""
        row, started = self.planned.pop(key, None), self.started.pop(key, None)
        if row is not None and row.pk is not None:
            self.superseded.append(row.pk)
        if started is not None:
            return started[1]
        return row.planned_at if row else None

    def _extend(self, query: Query, done: journal.Done) -> LedgerBatch | None:
        """The row of the batches before, grown by this one; None where they do not adjoin."""
        tail = self.tails.get(query)
        if tail is None or tail.last_batch + 1 != done.batch or tail.sink != done.sink:
            return None
        ranges = merge_ranges(self.ranges[query], done.ranges)
        if ranges is None:
            return None
        self.ranges[query] = ranges
        tail.last_batch = done.batch
        return tail

    def _keep_ranges(self, query: Query) -> None:
        """The row that is not extended any more gets the ranges of all its batches."""
        if query in self.tails:
            self.tails[query].ranges = _plain(self.ranges[query])

    def _note_broken(self, row: LedgerBatch, broken: list[Discontinuity]) -> None:
        for each in broken:
            row.gaps += each.gap
            row.overlaps += each.overlap
            self.totals += LedgerTotals(gaps=each.gap, overlaps=each.overlap)
            self.channels[(row.source, row.channel)].update(gaps=each.gap, overlaps=each.overlap)
            what = f"{row.source}.{row.channel} {each.topic}/{each.partition}"
            kind, number = ("gap", each.gap) if each.gap else ("overlap", each.overlap)
            verb = "were skipped" if each.gap else "were reread"
            message = f"{what}: {number} records {verb}; expected offset {each.expected}, read from {each.actual}."
            self._event(f"ledger.{kind}", message, each)

    def on_resolved(self, resolved: journal.Resolved, _at: datetime) -> None:
        """What the sink said of an open batch; the bound stands until the batch is done and counted. A batch without a
        fixed end of which the sink holds nothing was never begun."""
        key = ((resolved.source, resolved.channel), resolved.batch)
        row = self._open_row(key)
        if row is not None and row.open_ended and _is_nothing(resolved):
            self._forget(key)
            return
        if row is not None:
            row.duplicates_max = 0 if resolved.left_out else resolved.delivered_before
            self.touched.add(key)
        known = "holds" if resolved.complete else "may hold up to"
        batch = f"{resolved.source}.{resolved.channel} {resolved.batch}"
        rest = " They are not delivered again." if resolved.left_out else ""
        why = f" It is not known how many: {resolved.cause}" if resolved.cause else ""
        message = f"Open batch {batch}: the sink {known} {resolved.delivered_before} of its records.{rest}{why}"
        self._event("batch.resolved", message, resolved)

    def _forget(self, key: tuple[Query, int]) -> None:
        row = self.planned.pop(key)
        self.touched.discard(key)
        if row.pk is not None:
            self.superseded.append(row.pk)

    def on_positions(self, change: journal.Positions, _at: datetime) -> None:
        self._move(
            (change.source, change.channel), {TopicPartition(c.topic, c.partition): c.new for c in change.changes}
        )
        message = f"Positions of {change.source}.{change.channel} were set by {change.origin}."
        self._event("position.changed", message, change)

    def on_sink_failed(self, failed: journal.SinkFailed, _at: datetime) -> None:
        key = ((failed.source, failed.channel), failed.batch)
        self.failures[(*key, failed.sink)] = failed
        self._count_attempt(key)

    def on_source_failed(self, failed: journal.SourceFailed, _at: datetime) -> None:
        key = ((failed.source, failed.channel), failed.batch)
        self.unread[key] = failed
        self._count_attempt(key)

    def _count_attempt(self, key: tuple[Query, int]) -> None:
        """Another one follows: each may have given the sinks some of the batch."""
        row = self._open_row(key)
        if row is not None:
            row.attempts += 1
            self.touched.add(key)

    def on_switched(self, switched: journal.SinkSwitched, _at: datetime) -> None:
        """One event for each switch; failures without a penalty, which may come with every batch, are summed up."""
        query = (switched.source, switched.channel, switched.sink, switched.to)
        summed_up = switched.failures and not switched.penalty_ms
        self.switches[query if summed_up else (*query, switched.batch, switched.failures)] = switched

    def on_dead_letters(self, found: journal.DeadLetters, _at: datetime) -> None:
        self.dead_letters.append(found)

    def on_guarded(self, entry: journal.Identified | journal.Repaired | journal.Noticed, _at: datetime) -> None:
        self.guarded.append(entry)

    def on_exit(self, exited: journal.Exited, _at: datetime) -> None:
        self.exited = exited

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

    def _move(self, query: Query, ends: dict[TopicPartition, int]) -> None:
        self.positions.setdefault(query, {}).update(ends)
        self.moved.update((query, key) for key in ends)

    def _event(self, kind: str, message: str, data: Frozen) -> None:
        self.news.append((kind, message, data))

    def open_rows(self) -> list[LedgerBatch]:
        """Open batches that are new or have changed; those that have changed are written anew."""
        rows = [self.planned[key] for key in self.touched if key in self.planned]
        self.superseded += [row.pk for row in rows if row.pk is not None]
        return rows

    def moved_positions(self) -> list[Position]:
        """Where the ledger stands now."""
        return [
            Position(
                pipeline_id=self.run.pipeline_id,
                source=query[0],
                channel=query[1],
                topic=key.topic,
                partition=key.partition,
                next_offset=self.positions[query][key],
                lineage=self.run.lineage,
            )
            for query, key in sorted(self.moved)
        ]

    def emit(self) -> None:
        """Dead letters, what the guard saw, and events, in the transaction of everything else."""
        if self.dead_letters:
            dead_letters.take_in(run=self.run, found=self.dead_letters)
        if self.guarded:
            positions.take_in(run=self.run, entries=self.guarded)
        for failed in self.failures.values():
            sink = f"Sink {failed.sink} of {failed.source}.{failed.channel}"
            self._event("sink.failed", f"{sink} failed (attempt {failed.attempt}): {failed.cause}", failed)
        for unread in self.unread.values():
            batch = f"A batch of {unread.source}.{unread.channel} cannot be read"
            self._event("source.failed", f"{batch} (attempt {unread.attempt}): {unread.cause}", unread)
        for switched in self.switches.values():
            kind = "sink.recovered" if switched.recovered else "sink.switched"
            self._event(kind, _described(switched), switched)
        for kind, message, data in self.news:
            plain = data.model_dump(mode="json")
            events.record(kind=kind, message=message, pipeline=self.run.pipeline, run=self.run, data=plain)


def _store(ingestions: Sequence[_Ingestion]) -> None:
    """Everything that the ingestions have built, a statement per table; what is rare is written one by one."""
    rows = [row for ingestion in ingestions for row in (*ingestion.done, *ingestion.open_rows())]
    superseded = [pk for ingestion in ingestions for pk in ingestion.superseded]
    if superseded:
        LedgerBatch.objects.filter(pk__in=superseded).delete()
    bulk.insert(rows)
    bulk.insert(
        [position for ingestion in ingestions for position in ingestion.moved_positions()],
        unique=["pipeline", "source", "channel", "topic", "partition"],
        update=["next_offset", "lineage", "updated_at"],
    )
    totals.add(_by_channel(ingestions))
    totals.add_components(_by_component(ingestions))
    exits = [(ingestion.run.pk, ingestion.exited) for ingestion in ingestions if ingestion.exited]
    bulk.update(Run, [{"id": pk, "exit_code": last.code, "exit_reason": last.reason} for pk, last in exits])
    for ingestion in ingestions:
        ingestion.emit()


def _by_channel(ingestions: Sequence[_Ingestion]) -> dict[totals.Channel, Counter[str]]:
    """What was finished; two runs of a pipeline may be among them."""
    found: dict[totals.Channel, Counter[str]] = defaultdict(Counter)
    for ingestion in ingestions:
        for query, amounts in ingestion.channels.items():
            found[(ingestion.run.pipeline_id, *query)].update(amounts)
    return found


def _by_component(ingestions: Sequence[_Ingestion]) -> dict[totals.Component, Counter[Cause]]:
    """The same by component. Two runs of one revision may be among them, as after a crash."""
    found: dict[totals.Component, Counter[Cause]] = defaultdict(Counter)
    for ingestion in ingestions:
        run = ingestion.run
        for query, parts in ingestion.components.items():
            for path, counts in parts.items():
                found[(run.pipeline_id, run.revision_id, *query, path)].update(counts)
    return found


def _described(switched: journal.SinkSwitched) -> str:
    """A switch in a sentence."""
    sink = f"Sink {switched.sink} of the group {switched.group}"
    if switched.recovered:
        return f"{sink} {switched.cause}; {switched.to or 'no sink'} takes the batches."
    out = f" It is not tried for {switched.penalty_ms / 1000:g} s." if switched.penalty_ms else ""
    following = f"{switched.to} is tried next." if switched.to else "No other sink is left to try."
    return f"{sink} failed ({switched.failures} in a row): {switched.cause}. {following}{out}"


def _is_of(entry: Entry, run: Run) -> bool:
    return entry.epoch == run.epoch if entry.epoch else entry.kind in journal.OWN_LIFE


def _payload(entry: Entry) -> Frozen:
    try:
        return entry.payload()
    except ValueError as error:
        raise JournalCorrupt(f"entry {entry.n} is not a {entry.kind}: {error}") from error


def _count(row: LedgerBatch, done: journal.Done, at: datetime) -> None:
    row.add(done.counts)
    row.add_spent(done.spent)
    row.duplicates_max += done.duplicates_max
    row.attempts = max(row.attempts, done.attempts)
    row.sink = done.sink
    row.done_at = at


def _plain(parts: Sequence[Frozen]) -> list[dict[str, Any]]:
    return [part.model_dump(mode="json") for part in parts]


def _is_nothing(resolved: journal.Resolved) -> bool:
    return resolved.complete and resolved.delivered_before == 0


_HANDLERS: dict[EntryKind, Callable[[_Ingestion, Any, datetime], None]] = {
    EntryKind.PLANNED: _Ingestion.on_planned,
    EntryKind.DONE: _Ingestion.on_done,
    EntryKind.RESOLVED: _Ingestion.on_resolved,
    EntryKind.POSITIONS: _Ingestion.on_positions,
    EntryKind.SINK_FAILED: _Ingestion.on_sink_failed,
    EntryKind.SOURCE_FAILED: _Ingestion.on_source_failed,
    EntryKind.SINK_SWITCHED: _Ingestion.on_switched,
    EntryKind.DEAD_LETTERS: _Ingestion.on_dead_letters,
    EntryKind.EXIT: _Ingestion.on_exit,
    EntryKind.IDENTIFIED: _Ingestion.on_guarded,
    EntryKind.REPAIRED: _Ingestion.on_guarded,
    EntryKind.NOTICED: _Ingestion.on_guarded,
}
