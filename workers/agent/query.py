"""One streaming query: (source, channel). Each batch passes the gate, is planned, delivered, and done.

The order is what recovery rests on: gate, `planned` on disk, sink, acknowledgement, `done` on disk, Spark's commit.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipelines.domain.journal import Done, Planned, PositionChange, Positions, Replayed, Resolved, SinkFailed
from pipelines.domain.ledger import Counts
from pipelines.domain.positions import PartitionPosition
from pipelines.domain.protocol import Cursor, Holding, QueryStatus
from workers.agent.batch import Batch
from workers.agent.checkpoint import Checkpoint, Offsets, ranges
from workers.agent.gate import Cancelled, Gate, Position
from workers.agent.ledger import Journal
from workers.agent.sink_processors import DefaultProcessor, Delivery, Failure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

_RATE_WINDOW = 5.0
_SINK_ENDS_AGE = 1.0


@dataclass
class Progress:
    """What a query has done in this run."""

    batch: int | None = None
    finished: int = 0
    idle_looks: int = 0
    counts: Counts = field(default_factory=Counts)
    balanced: bool = True
    first_delivered_at: float | None = None
    last_batch_at: float | None = None
    holding: Holding | None = None
    recent: deque[tuple[float, int]] = field(default_factory=lambda: deque([(time.monotonic(), 0)]))

    def rate(self) -> float:
        """Records read per second over the last few seconds."""
        now = time.monotonic()
        while len(self.recent) > 1 and self.recent[1][0] < now - _RATE_WINDOW:
            self.recent.popleft()
        begin, before = self.recent[0]
        return (self.counts.read - before) / max(now - begin, 1.0)


class ChannelQuery:
    """The query of one (source, channel), and its books in this run."""

    def __init__(
        self,
        source: str,
        channel: str,
        *,
        processor: DefaultProcessor,
        checkpoint: Checkpoint,
        gate: Gate,
        journal: Journal,
    ) -> None:
        self.source, self.channel = source, channel
        self.name = f"{source}.{channel}"
        self.checkpoint = checkpoint
        self.progress = Progress()
        self.positions: Offsets = {}
        self.ends: Offsets = {}
        self.source_away: Holding | None = None
        self.failure: BaseException | None = None
        self.on_change: Callable[[], None] = lambda: None
        self._processor = processor
        self._gate = gate
        self._journal = journal
        self._done_batch = -1
        self._open: tuple[Planned, Resolved, bool] | None = None
        self._sink_ends: tuple[float, list[PartitionPosition]] | None = None
        self._query: StreamingQuery | None = None
        self._ended = threading.Event()

    def continue_from(self, positions: Offsets, done_batch: int | None) -> None:
        """Take over where the ledger stands."""
        self.positions = dict(positions)
        self._done_batch = -1 if done_batch is None else done_batch

    def resolve(self, planned: Planned) -> None:
        """Ask the sink how much of a batch is there that was planned and never done, and write that down."""
        resolution = self._processor.sink.resolve(planned)
        resolved = Resolved(
            source=self.source, channel=self.channel, batch=planned.batch,
            delivered_before=resolution.delivered_before, complete=resolution.complete,
        )  # fmt: skip
        self._journal.append(resolved)
        self._open = planned, resolved, resolution.committed

    def start(
        self, frame: DataFrame, trigger_ms: int, on_end: Callable[[ChannelQuery, BaseException | None], None]
    ) -> None:
        """Start the query; `on_end` hears in a thread of its own how it ended."""
        writer = frame.writeStream.queryName(self.name).option("checkpointLocation", str(self.checkpoint.path))
        self._query = writer.trigger(processingTime=f"{trigger_ms} milliseconds").foreachBatch(self.run_batch).start()
        threading.Thread(target=self._await, args=(on_end,), name=f"await {self.name}", daemon=True).start()

    def _await(self, on_end: Callable[[ChannelQuery, BaseException | None], None]) -> None:
        error: BaseException | None = None
        try:
            if self._query is not None:
                self._query.awaitTermination()
        except Exception as failure:
            error = failure
        self._ended.set()
        on_end(self, error)

    def stop(self) -> None:
        """Stop Spark's query; to be called once it is settled."""
        if self._query is not None and not self._ended.is_set():
            self._query.stop()

    @property
    def settled(self) -> bool:
        """No batch in hand, and Spark's commit of the last one is on disk, or will not come."""
        if self.name in self._gate.inside:
            return False
        batch = self.progress.batch
        return batch is None or self._ended.is_set() or self.checkpoint.is_committed(batch)

    @property
    def moving(self) -> bool:
        """A batch was finished, or there is provably nothing to read."""
        return self.progress.finished > 0 or self.progress.idle_looks > 0

    def run_batch(self, frame: DataFrame, number: int) -> None:
        """What Spark calls for each batch. Raises TurnedAway at a stopped gate, before anything was touched."""
        self._gate.enter(self.name)
        try:
            if number <= self._done_batch:
                self._journal.append(Replayed(source=self.source, channel=self.channel, batch=number))
            else:
                self._deliver(frame, number)
            self.progress.batch = number
        except Cancelled:
            raise
        except Exception as error:
            self.failure = error
            raise
        finally:
            self._gate.leave(self.name)
            self.on_change()

    def _deliver(self, frame: DataFrame, number: int) -> None:
        started = time.monotonic()
        ends = self.checkpoint.ends(number)
        self._journal_added_partitions(ends)
        planned = self._plan(number, ends)
        self._journal.append(planned)
        delivery = self._processor.deliver(Batch(frame, planned), self._failed(number))
        done = Done(
            source=self.source, channel=self.channel, batch=number, ranges=planned.ranges, counts=delivery.counts,
            duplicates_max=self._duplicates(planned, delivery), sink=delivery.sink, attempts=delivery.attempts,
            ms=round((time.monotonic() - started) * 1000),
        )  # fmt: skip
        self._journal.append(done)
        self._finish(done, ends)

    def _journal_added_partitions(self, ends: Offsets) -> None:
        added = [
            PositionChange(topic=key[0], partition=key[1], new=0) for key in sorted(ends.keys() - self.positions.keys())
        ]
        if added:
            self.positions = {**self.positions, **{(change.topic, change.partition): 0 for change in added}}
            entry = Positions(source=self.source, channel=self.channel, changes=added, origin="partition added")
            self._journal.append(entry)

    def _plan(self, number: int, ends: Offsets) -> Planned:
        """A batch that comes again keeps the sink's ends of its first attempt: all of its copies are counted."""
        return Planned(
            source=self.source, channel=self.channel, batch=number, ranges=ranges(self.positions, ends),
            sink_ends=self._open[0].sink_ends if self._open else self._ends_of_sink(number),
        )  # fmt: skip

    def _ends_of_sink(self, number: int) -> list[PartitionPosition]:
        """The sink's ends, at most a second old: older ones only mean a few more records to look at in recovery."""
        now = time.monotonic()
        if self._sink_ends is None or now - self._sink_ends[0] > _SINK_ENDS_AGE:
            self._sink_ends = now, self._processor.ends(self._failed(number))
        return self._sink_ends[1]

    def _duplicates(self, planned: Planned, delivery: Delivery) -> int:
        """Records that the sink may hold twice. Counted in the sink where an attempt went before this delivery."""
        before = self._open[1].delivered_before if self._open else 0
        if (self._open and self._open[2]) or (before == 0 and delivery.attempts == 1):
            return 0
        if delivery.attempts == 1:
            return before
        found = self._processor.sink.resolve(planned)
        if found.committed:
            return 0
        if found.complete:
            return max(0, found.delivered_before - delivery.counts.delivered)
        return before + (delivery.attempts - 1) * delivery.counts.delivered

    def _failed(self, number: int) -> Callable[[Failure], None]:
        def failed(failure: Failure) -> None:
            self.progress.holding = Holding(
                component=f"sinks.{failure.sink}", cause=failure.cause, attempts=failure.attempt, since=failure.since
            )
            self._journal.append(
                SinkFailed(
                    source=self.source, channel=self.channel, batch=number, sink=failure.sink, attempt=failure.attempt,
                    cause=failure.cause,
                )
            )  # fmt: skip
            self.on_change()

        return failed

    def _finish(self, done: Done, ends: Offsets) -> None:
        progress = self.progress
        self._open = None
        self._done_batch = done.batch
        self.positions = dict(ends)
        progress.finished += 1
        progress.counts = progress.counts + done.counts
        progress.balanced = done.counts.balanced
        progress.holding = None
        progress.last_batch_at = time.time()
        progress.recent.append((time.monotonic(), progress.counts.read))
        if done.counts.delivered and progress.first_delivered_at is None:
            progress.first_delivered_at = progress.last_batch_at

    def saw_ends(self, ends: Offsets) -> None:
        """Note where the log ends now; nothing left to read is progress, too."""
        self.ends = ends
        self.source_away = None
        idle = all(self.positions.get(key, 0) >= end for key, end in ends.items())
        if (
            idle
            and self._query is not None
            and self._gate.position is Position.OPEN
            and self.name not in self._gate.inside
        ):
            self.progress.idle_looks += 1

    def status(self) -> QueryStatus:
        """What status.json says of this query."""
        progress = self.progress
        positions, ends = dict(self.positions), self.ends
        return QueryStatus(
            source=self.source, channel=self.channel, batch=progress.batch, in_flight=not self.settled,
            read=progress.counts.read, delivered=progress.counts.delivered, filtered=progress.counts.filtered,
            records_per_second=round(progress.rate(), 1), first_delivered_at=progress.first_delivered_at,
            last_batch_at=progress.last_batch_at, last_batch_balanced=progress.balanced,
            cursor=[
                Cursor(topic=topic, partition=number, next_offset=at, end_offset=ends.get((topic, number)))
                for (topic, number), at in sorted(positions.items())
            ],
            holding=progress.holding or self.source_away,
        )  # fmt: skip
