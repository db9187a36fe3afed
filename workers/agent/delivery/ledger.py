"""The books of one (source, channel) in this run: where it stands, what is in hand, and what became of every record."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pipelines.domain.base.positions import PartitionRange
from pipelines.domain.definitions.document.spec import Read
from pipelines.domain.ledger.journal import (
    Done,
    Planned,
    PositionChange,
    Positions,
    Replayed,
    Resolved,
    SinkFailed,
    SinkPosition,
    SinkSwitched,
    SourceFailed,
)
from pipelines.domain.ledger.ledger import BatchStep, Counts
from pipelines.domain.ledger.sink_groups import GroupStatus, Switch
from pipelines.domain.runs.protocol import Checking, Holding, PartitionProgress, QueryStatus
from workers import crash_points
from workers.agent.base.log import say
from workers.agent.delivery import deduplication as dedup
from workers.agent.delivery.attribution import Side
from workers.agent.delivery.dead_letters import DeadLetterQueue
from workers.agent.delivery.deduplication import Deduplication, Policy
from workers.agent.delivery.delivery import Delivery, Failure, Listener, SinkGroup, cause_of
from workers.agent.delivery.gate import Cancelled
from workers.agent.graph.batch import Batch, Classifier
from workers.agent.graph.component import Look
from workers.agent.graph.kept import Events
from workers.agent.positions.checkpoint import Offsets, ranges
from workers.agent.positions.held import Held
from workers.agent.run_dir.journal_writer import Journal
from workers.agent.sink_processors import AllFailed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from workers.agent.delivery.joint_write import JointWrite

_RATE_WINDOW = 5.0
_LEFT_ALONE = 60.0
"""Seconds without an attempt after an optional channel has kept others waiting."""
_SINK_ENDS_AGE = 1.0


@dataclass(frozen=True)
class _Open:
    """A batch that was planned and never done. `before`: records of it in sinks that do not deduplicate; `committed`:
    the only sink has all of it."""

    planned: Planned
    before: int
    committed: bool


@dataclass(frozen=True)
class _Started:
    """A batch that goes on in real-time mode, since `at` of the monotonic clock."""

    planned: Planned
    at: float
    deduplication: Deduplication | None


@dataclass
class Progress:
    """What a channel has done in this run. `interval`: seconds that lie between batches on purpose."""

    interval: float = 0.0
    finished: int = 0
    idle_checks: int = 0
    looks: int = 0
    counts: Counts = field(default_factory=Counts)
    balanced: bool = True
    first_delivered_at: float | None = None
    last_batch_at: float | None = None
    holding: Holding | None = None
    checking: Checking | None = None
    recent: deque[tuple[float, int]] = field(default_factory=lambda: deque([(time.monotonic(), 0)]))

    def start(self) -> None:
        """A batch begins. After a silence, as of a standby or a pause, records per second count from here."""
        if time.monotonic() - self.recent[-1][0] > _RATE_WINDOW + self.interval:
            self.recent = deque([(time.monotonic(), self.counts.read)])

    def rate(self) -> float:
        """Records read per second over the last few seconds; up to the last batch, while another is not due."""
        now, last = time.monotonic(), self.recent[-1][0]
        now = last if now - last <= self.interval else now
        while len(self.recent) > 1 and self.recent[1][0] < now - _RATE_WINDOW:
            self.recent.popleft()
        start, before = self.recent[0]
        return (self.counts.read - before) / max(now - start, 1.0)


class ChannelLedger:
    """`optional`: a failing sink holds nobody up; what it does not take in one round is counted as dropped.
    `sometimes_optional`: so it is with a batch in which the channel is required for no event. `overrun`: offsets count
    events, and those that the source let go of before they were read are counted as dropped. `interval`: seconds that
    events may wait for a fuller batch; `deduplicates`: how a batch that comes again is kept from being there twice,
    None where it may be; `guarantee`: what the definition promises; `outlived`: executors of an earlier run may live
    on for a moment after it."""

    def __init__(
        self,
        source: str,
        channel: str,
        *,
        group: SinkGroup,
        classifier: Classifier,
        dead_letter_queue: DeadLetterQueue,
        journal: Journal,
        optional: bool = False,
        sometimes_optional: bool = False,
        overrun: bool = False,
        interval: float = 0.0,
        deduplicates: Policy | None = None,
        guarantee: str = "",
        outlived: bool = False,
    ) -> None:
        self.source, self.channel = source, channel
        self.name = f"{source}.{channel}"
        self.group = group
        self.progress = Progress(interval)
        self.positions: Offsets = {}
        self.ends: Offsets = {}
        self.done_batch = -1
        self.on_change: Callable[[], None] = lambda: None
        self._classifier = classifier
        self._dead_letter_queue = dead_letter_queue
        self._journal = journal
        self.optional = optional
        self.sometimes_optional = sometimes_optional
        self._in_hand: Events | None = None
        self._must_arrive: bool | None = None
        self._asking = threading.Lock()
        self._left_alone_until = 0.0
        self._overrun = overrun
        self._open: _Open | None = None
        self._deduplicates, self._guarantee = deduplicates, guarantee
        self._outlived = outlived
        self._continued_at: float | None = None
        self._started: _Started | None = None
        self._waits_since = time.monotonic()
        self._sink_ends: tuple[float, dict[str, list[SinkPosition]]] | None = None
        self.sink_away: Holding | None = None

    def continue_from(self, positions: Offsets, done_batch: int | None) -> None:
        """Take over where the ledger stands."""
        self.positions = dict(positions)
        self.done_batch = -1 if done_batch is None else done_batch
        self._continued_at = None if self._outlived else time.monotonic()

    def resolve(self, planned: Planned) -> None:
        """Ask the sinks how much of a batch is there that was planned and never done, and write that down. Those that
        deduplicate are asked before its next attempt."""
        asked = self.group.sinks.keys() - self._deduplicating
        resolution = self.group.resolve(planned, asked)
        if asked:
            self._note_resolved(planned, resolution.delivered_before, complete=resolution.complete)
        self._open = _Open(planned, resolution.delivered_before, resolution.committed)

    @property
    def _deduplicating(self) -> set[str]:
        if self._deduplicates is None:
            return set()
        return {name for name, sink in self.group.sinks.items() if sink.deduplicates}

    def _note_resolved(self, planned: Planned, records: int, **more: Any) -> None:
        entry = Resolved(
            source=self.source, channel=self.channel, batch=planned.batch, delivered_before=records, **more
        )
        self._journal.append(entry)
        crash_points.reach("agent.resolved")

    def _deduplication(self, planned: Planned) -> Deduplication | None:
        """What keeps the batch in hand from being delivered twice."""
        if self._deduplicates is None or not self._deduplicating:
            return None

        def looking(checking: Checking | None) -> None:
            self.progress.checking = checking
            self.progress.looks += 1
            self.on_change()

        def delayed(holding: Holding | None) -> None:
            self.progress.holding = holding
            self.on_change()

        def found(look: Look | None, cause: str) -> None:
            self.progress.holding = None
            if look is None:
                self._note_resolved(planned, planned.bound, complete=False, cause=cause)
            else:
                self._note_resolved(planned, look.held.records, left_out=True)

        return Deduplication(
            planned,
            self.group.sinks,
            self._deduplicates,
            wait=self.group.hold,
            listener=dedup.Listener(looking, found, delayed, self._journal.append),
            suspects=frozenset(self._deduplicating) if self._open else frozenset(),
            over_since=self._continued_at,
        )

    def replayed(self, number: int) -> None:
        """Spark ran a batch again that is done."""
        self._journal.append(Replayed(source=self.source, channel=self.channel, batch=number))

    @property
    def joins(self) -> bool:
        """Whether its next batch may be written with those of other channels: it must arrive, and no run has begun
        it."""
        return not (self.optional or self.sometimes_optional or self._open)

    def deliver(self, events: Events, number: int, ends: Offsets, joint: JointWrite | None = None) -> None:
        """Plan a batch, deliver it, keep its dead letters, and write that it is done. `joint`: its first attempt is
        written with those of other channels."""
        started = time.monotonic()
        self._in_hand, self._must_arrive = events, None
        self.progress.start()
        self._journal_added_partitions(ends)
        planned = self._plan(number, ends)
        self._journal.append(planned)
        crash_points.reach("agent.planned")
        spent = {BatchStep.PLAN: _ms_since(started)}
        done = self._with_overrun(self._done(planned, events, started, spent, joint))
        self._journal.append(done)
        crash_points.reach("agent.done")
        self._finish(done, ends)

    def warm_up(self, events: Events) -> None:
        """Go the way of a batch without events up to the sinks; nobody is told of it."""
        nothing = Planned(source=self.source, channel=self.channel, batch=0, ranges=[])
        self.group.warm_up(Batch(events, nothing, self._classifier))

    def start(self, number: int, spark: SparkSession) -> Held | None:
        """Plan a batch whose end is not known yet (real-time mode). Returns what the sink holds of it, which must not
        be written again. Raises Blocked where nobody can know that."""
        planned = self._without_end(
            number,
            self.positions,
            self._open.planned.sink_ends if self._open else self._known_ends(number),
            self._open.planned.attempts if self._open else 0,
        )
        deduplication = self._deduplication(planned)
        held = deduplication.held(spark) if deduplication else None
        self._journal.append(planned)
        self._go_on(planned, deduplication)
        return held

    def _without_end(
        self, number: int, starts: Offsets, sink_ends: dict[str, list[SinkPosition]], attempts: int = 0
    ) -> Planned:
        return Planned(
            source=self.source,
            channel=self.channel,
            batch=number,
            open_ended=True,
            ranges=_from_here(starts),
            sink_ends=sink_ends,
            attempts=attempts,
        )

    def _go_on(self, planned: Planned, deduplication: Deduplication | None) -> None:
        self.progress.start()
        self._started = _Started(planned, time.monotonic(), deduplication)

    def probe_sinks(self, number: int, is_over: Callable[[], bool]) -> None:
        """Keep the sinks' ends fresh while a batch goes on: the next one begins by itself, and needs those from before
        its beginning. Where the batch `is_over` when they are known, they may be from after that."""
        before = self._sink_ends
        self._ends_of_sinks(number)
        if is_over():
            self._sink_ends = before

    def _known_ends(self, number: int) -> dict[str, list[SinkPosition]]:
        return self._sink_ends[1] if self._sink_ends else self._ends_of_sinks(number)

    def end(self, number: int, ends: Offsets, counts: Counts, sink: str, spark: SparkSession) -> None:
        """A batch is over, its sink has all of it, and the next one has begun by itself (real-time mode): in this run,
        or in the one before, which died then. Both are written at once: records of the next one may be in the sink, and
        a run that did not know of it would not look for them."""
        self._journal_added_partitions(ends)
        whole = ranges(self.positions, ends)
        started = self._started
        done = Done(
            source=self.source,
            channel=self.channel,
            batch=number,
            ranges=whole,
            counts=counts,
            duplicates_max=self._duplicates_of_ended(whole, spark),
            sink=sink,
            attempts=1,
            ms=_ms_since(started.at) if started else 0,
        )
        following = self._without_end(number + 1, ends, self._ends_before_next())
        self._journal.append(done, following)
        self._started = None
        self._finish(done, ends)
        if started:
            self._go_on(following, self._deduplication(following))
        else:
            self.resolve(following.attempted())

    def _ends_before_next(self) -> dict[str, list[SinkPosition]]:
        """Ends of the sinks from before the batch that follows the one in hand; older ones are as good."""
        if self._started is None:
            return self._open.planned.sink_ends if self._open else {}
        return self._sink_ends[1] if self._sink_ends else self._started.planned.sink_ends

    def _duplicates_of_ended(self, whole: list[PartitionRange], spark: SparkSession) -> int:
        """Nothing is read while the query has the task slots: what the sink had before it began is known. A batch that
        an earlier run has written to its end is looked for now."""
        if self._started is not None:
            found = self._started.deduplication
            return found.found_twice if found else self._before
        if self._open is None or (found := self._deduplication(self._open.planned)) is None:
            return self._before
        found.ended(whole)
        found.held(spark)
        return found.found_twice

    @property
    def _before(self) -> int:
        return self._open.before if self._open else 0

    def broken_off(self, spark: SparkSession) -> None:
        """The batch that was begun was given up: whatever of it the sink holds is found now, or before its next
        attempt, where a stop leaves no time."""
        if self._started is None:
            return
        planned, self._started = self._started.planned.attempted(), None
        self.resolve(planned)
        if deduplication := self._deduplication(planned):
            with suppress(Cancelled):
                deduplication.failed(next(iter(self.group.sinks)), spark)
                deduplication.held(spark)

    def _done(
        self,
        planned: Planned,
        events: Events,
        started: float,
        spent: dict[BatchStep, int],
        joint: JointWrite | None,
    ) -> Done:
        batch = Batch(events, planned, self._classifier)
        if time.monotonic() < self._left_alone_until and not self.must_arrive():
            return self._dropped(batch, started, spent)
        deduplication = self._deduplication(planned)
        begun = time.monotonic()
        try:
            listener = self._listener(planned.batch)
            delivery = self.group.deliver(batch, listener, self.must_arrive, deduplication, joint)
        except AllFailed:
            return self._dropped(batch, started, spent)
        delivered = delivery.pass_.ms
        spent |= {BatchStep.DELIVER: delivered, BatchStep.WAIT: max(0, _ms_since(begun) - delivered)}
        crash_points.reach("agent.delivered")
        sink = self.group.sinks[delivery.sink]
        begun = time.monotonic()
        self._dead_letter_queue.take(planned, delivery.pass_, sink.place.path)
        spent[BatchStep.DEAD_LETTERS] = _ms_since(begun)
        crash_points.reach("agent.dead_letters")
        return Done(
            source=self.source,
            channel=self.channel,
            batch=planned.batch,
            ranges=planned.ranges,
            counts=delivery.counts,
            duplicates_max=self._duplicates(planned, delivery, deduplication),
            sink=delivery.sink,
            attempts=delivery.attempts,
            ms=_ms_since(started),
            steps=spent,
        )

    def must_arrive(self) -> bool:
        """Whether the batch in hand is held until a sink takes it. Its events are looked at once, and only where that
        matters; a batch that cannot be looked at is held, and its next attempt says why."""
        if self.optional or not self.sometimes_optional:
            return not self.optional
        with self._asking:
            if self._must_arrive is None:
                self._must_arrive = self._in_hand is None or self._has_required(self._in_hand)
            return self._must_arrive

    def _has_required(self, events: Events) -> bool:
        try:
            return self._classifier.must_arrive(events)
        except Exception as error:
            say(f"a batch is held, because its events could not be inspected: {cause_of(error)}")
            return True

    def abort(self) -> None:
        """Others wait for this optional channel: cancel its write, and drop its batches for a while."""
        self._left_alone_until = time.monotonic() + _LEFT_ALONE
        self.cancel_write()

    def cancel_write(self) -> None:
        """Have the write that goes on, if any, fail now."""
        if writing := self.group.writing:
            writing.deadline.expire()

    def _with_overrun(self, done: Done) -> Done:
        lost = sum(each.end - each.start for each in done.ranges) - done.counts.read if self._overrun else 0
        return done.model_copy(update={"counts": done.counts + Counts(read=lost, dropped_optional=lost)})

    def _dropped(self, batch: Batch, started: float, spent: dict[BatchStep, int]) -> Done:
        """An optional channel whose sinks all failed: its events are counted, and dead ones are kept all the same."""
        attempt = batch.attempt()
        attempt.events.count()
        counts = attempt.counts
        self._dead_letter_queue.take(batch.planned, attempt, "")
        return Done(
            source=self.source,
            channel=self.channel,
            batch=batch.planned.batch,
            ranges=batch.planned.ranges,
            counts=counts.model_copy(
                update={
                    "delivered": 0,
                    "delivered_bytes": None,
                    "dropped_optional": counts.dropped_optional + counts.delivered,
                }
            ),
            sink="",
            attempts=max(1, len(self.group.sinks)),
            ms=_ms_since(started),
            steps=spent,
        )

    def _journal_added_partitions(self, ends: Offsets) -> None:
        new = sorted(ends.keys() - self.positions.keys())
        if new:
            added = [PositionChange(topic=key.topic, partition=key.partition, new=0) for key in new]
            self.positions = {**self.positions, **dict.fromkeys(new, 0)}
            entry = Positions(source=self.source, channel=self.channel, changes=added, origin="partition added")
            self._journal.append(entry)

    def _plan(self, number: int, ends: Offsets) -> Planned:
        """A batch that comes again keeps the sinks' ends of its first attempt: all of its copies are counted."""
        return Planned(
            source=self.source,
            channel=self.channel,
            batch=number,
            ranges=ranges(self.positions, ends),
            sink_ends=self._open.planned.sink_ends if self._open else self._ends_of_sinks(number),
            attempts=self._open.planned.attempts if self._open else 0,
        )

    def _ends_of_sinks(self, number: int) -> dict[str, list[SinkPosition]]:
        """The sinks' ends, at most a second old: older ones only mean a few more records to look at in recovery."""
        if self.optional:
            return {}
        now = time.monotonic()
        if self._sink_ends is None or now - self._sink_ends[0] > _SINK_ENDS_AGE:
            try:
                found = self.group.ends(self._listener(number), lambda: not self.sometimes_optional)
            except AllFailed:
                return {}
            self._sink_ends = now, found
        return self._sink_ends[1]

    def _duplicates(self, planned: Planned, delivery: Delivery, deduplication: Deduplication | None) -> int:
        """Records that sinks may hold twice: counted in the sinks where an attempt went before this delivery."""
        if deduplication is None:
            return self._bound(planned, delivery, frozenset(), 0)
        unknown = deduplication.unknown_attempts * _most(planned, delivery)
        return deduplication.duplicates + self._bound(planned, delivery, deduplication.covered, unknown)

    def _bound(self, planned: Planned, delivery: Delivery, covered: frozenset[str], unknown: int) -> int:
        """The same for sinks that are not `covered`; `unknown`: records of earlier runs that some of them may have."""
        before = self._before + unknown
        failed = delivery.before.keys() - covered
        if (self._open and self._open.committed) or (before == 0 and not failed):
            return 0
        if not failed:
            return before
        touched = (self.group.sinks.keys() if before else failed) - covered
        here = 0 if delivery.sink in covered else self._duplicates_here(planned, delivery, before)
        return here + sum(self._copies_elsewhere(planned, sink, delivery) for sink in touched - {delivery.sink})

    def _duplicates_here(self, planned: Planned, delivery: Delivery, before: int) -> int:
        found = self.group.resolve_in(delivery.sink, planned)
        if found.committed:
            return 0
        if found.complete and delivery.sink not in delivery.abandoned:
            return max(0, found.delivered_before - delivery.pass_.written)
        return before + delivery.before[delivery.sink] * delivery.counts.delivered

    def _copies_elsewhere(self, planned: Planned, sink: str, delivery: Delivery) -> int:
        """What a member of the group holds of a batch that another one took in the end; one whose attempt was
        abandoned may get all of it yet."""
        found = self.group.resolve_in(sink, planned)
        if found.complete and sink not in delivery.abandoned:
            return found.delivered_before
        return max(1, planned.attempts + delivery.before[sink]) * _most(planned, delivery)

    def _listener(self, number: int) -> Listener:
        def failed(failure: Failure) -> None:
            self.progress.holding = Holding(
                component=self._component(failure),
                cause=failure.cause,
                attempts=failure.attempt,
                since=failure.since,
            )
            self._journal.append(self._entry(failure, number))
            self.on_change()

        def switched(switch: Switch) -> None:
            self._journal.append(
                SinkSwitched(
                    source=self.source,
                    channel=self.channel,
                    batch=number,
                    group=self.group.name,
                    **switch.model_dump(),
                )
            )
            self.on_change()

        return Listener(failed, switched)

    def _component(self, failure: Failure) -> str:
        if failure.side is Side.SOURCE:
            return Read(self.source, (self.channel,)).path
        return self.group.sinks[failure.sink].place.path

    def _entry(self, failure: Failure, number: int) -> SinkFailed | SourceFailed:
        attempt, cause = failure.attempt, failure.cause
        if failure.side is Side.SOURCE:
            return SourceFailed(source=self.source, channel=self.channel, batch=number, attempt=attempt, cause=cause)
        return SinkFailed(
            source=self.source, channel=self.channel, batch=number, sink=failure.sink, attempt=attempt, cause=cause
        )

    def _finish(self, done: Done, ends: Offsets) -> None:
        """The positions come last: who sees them sees what was delivered, and that nothing is held up any more."""
        progress = self.progress
        self._open = self._in_hand = None
        progress.holding = None
        progress.balanced = done.counts.balanced
        progress.counts = progress.counts + done.counts
        progress.last_batch_at = time.time()
        progress.recent.append((time.monotonic(), progress.counts.read))
        self._waits_since = time.monotonic()
        if done.counts.delivered and progress.first_delivered_at is None:
            progress.first_delivered_at = progress.last_batch_at
        self.done_batch = done.batch
        self.positions = dict(ends)
        progress.finished += 1

    @property
    def moving(self) -> bool:
        """A batch was finished, or there is provably nothing to read."""
        return self.progress.finished > 0 or self.progress.idle_checks > 0

    @property
    def lag(self) -> int:
        """Records that are not done, as far as the ends were seen."""
        return sum(max(0, end - self.positions.get(key, 0)) for key, end in self.ends.items())

    def saw_ends(self, ends: Offsets, *, resting: bool) -> None:
        """Note where the log ends now; nothing left to read while nothing is in hand is progress, too, and so is a
        batch that is not due yet."""
        self.ends = ends
        if not resting:
            return
        now = time.monotonic()
        if not self.lag:
            self._waits_since = now
        if not self.lag or now - self._waits_since < self.progress.interval:
            self.progress.idle_checks += 1

    @property
    def holdings(self) -> list[Holding]:
        """What keeps the batch in hand from its end: an attempt that failed, a sink that does not answer."""
        return [each for each in (self.progress.holding, self.sink_away) if each]

    def status(self, batch: int | None, *, in_flight: bool, holding: Holding | None) -> QueryStatus:
        """What status.json says of this channel; `holding` of its source, where that is away."""
        progress = self.progress
        positions, ends = dict(self.positions), self.ends
        return QueryStatus(
            source=self.source,
            channel=self.channel,
            batch=batch,
            in_flight=in_flight,
            read=progress.counts.read,
            delivered=progress.counts.delivered,
            filtered=progress.counts.filtered,
            records_per_second=round(progress.rate(), 1),
            first_delivered_at=progress.first_delivered_at,
            last_batch_at=progress.last_batch_at,
            last_batch_balanced=progress.balanced,
            positions=[
                PartitionProgress(
                    topic=key.topic, partition=key.partition, next_offset=at, end_offset=_end(ends.get(key), at)
                )
                for key, at in sorted(positions.items())
            ],
            holding=next(iter(self.holdings), holding),
            group=self._group_status(),
            batch_interval=progress.interval,
            checking=progress.checking,
            guarantee=self._guarantee,
        )

    def _group_status(self) -> GroupStatus | None:
        if not self.group.name:
            return None
        pools = self.group.pools()
        return GroupStatus(name=self.group.name, processor=self.group.kind, **pools.model_dump())


def _most(planned: Planned, delivery: Delivery) -> int:
    """Events that one attempt may have given to a sink: a record can be several."""
    return max(planned.bound, delivery.counts.delivered)


def _end(seen: int | None, position: int) -> int | None:
    """The log ends at the position at least: it was seen before the position moved there."""
    return None if seen is None else max(seen, position)


def _from_here(offsets: Offsets) -> list[PartitionRange]:
    return [
        PartitionRange(topic=topic, partition=number, start=at, end=at)
        for (topic, number), at in sorted(offsets.items())
    ]


def _ms_since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
