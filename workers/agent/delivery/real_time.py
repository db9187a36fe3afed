"""One streaming query in real-time mode: records flow while a batch lasts, and the books are written at its end.

There is no gate between source and sink. A batch's end is the boundary: Spark's offset and commit logs are written
there and nowhere else. A pause or a drain waits for it and stops the query at once, before the next batch has read
anything; if that or a crash leaves records of a later batch in the sink, they are found there by their origin and left
out of the next attempt.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pipelines.domain.definitions.document.spec import Read
from pipelines.domain.ledger.ledger import Counts
from pipelines.domain.runs.protocol import Holding, QueryStatus
from workers.agent.base.log import say
from workers.agent.delivery.gate import Cancelled, Gate, Position
from workers.agent.delivery.ledger import ChannelLedger
from workers.agent.delivery.query import ReadQuery
from workers.agent.graph.batch import counted
from workers.agent.graph.component import SinkBuilder
from workers.agent.positions.checkpoint import Checkpoint, Offsets
from workers.agent.positions.held import Held

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

COUNTED = "counted"
"""Name of the observation of a batch."""

_POLL = 0.01
_PROGRESS_TIMEOUT = 10.0
"""Seconds in which Spark tells the counts of a batch that it has committed."""


class CountsMissing(Exception):
    """Spark has not told what a finished batch counted; the next run counts it again from the source."""


@dataclass(frozen=True)
class Flow:
    """What a query needs to run and to recount: the session, the endless frame in given columns but for what the sink
    holds, and the counts of a past range."""

    spark: SparkSession
    written: Callable[[Held | None, Sequence[Column]], DataFrame]
    count: Callable[[Offsets, Offsets], Counts]


class RealTimeQuery:
    """The query of one read with one channel and one sink."""

    def __init__(
        self,
        read: Read,
        ledger: ChannelLedger,
        *,
        checkpoint: Checkpoint,
        gate: Gate,
        sink: SinkBuilder,
        duration: float,
    ) -> None:
        self.read = read
        self.name = read.name
        self.channels = [ledger]
        self.checkpoint = checkpoint
        self.source_away: Holding | None = None
        self.failure: BaseException | None = None
        self.on_change: Callable[[], None] = lambda: None
        self._ledger = ledger
        self._gate = gate
        self._sink = sink
        self._duration = duration
        self._query: StreamingQuery | None = None
        self._batch: int | None = None
        self._over = threading.Event()

    def start(self, flow: Flow, on_end: Callable[[RealTimeQuery, BaseException | None], None]) -> None:
        """Start; `on_end` hears in a thread of its own how it ended."""
        threading.Thread(target=self._drive, args=(flow, on_end), name=f"real time {self.name}", daemon=True).start()

    def _drive(self, flow: Flow, on_end: Callable[[RealTimeQuery, BaseException | None], None]) -> None:
        error: BaseException | None = None
        try:
            self._recount_a_committed_batch(flow)
            while self._gate.position is not Position.STOPPED:
                if self._gate.position is Position.OPEN:
                    self._run(flow)
                time.sleep(_POLL)
        except BaseException as failure:
            error = self.failure = failure
        self._over.set()
        on_end(self, error)

    def _recount_a_committed_batch(self, flow: Flow) -> None:
        """A crash fell between Spark's commit of a batch and its `done`: the counts are taken from the source. What the
        sink has of the batch after it is found when that one starts."""
        number = self._ledger.done_batch + 1
        if self.checkpoint.is_committed(number):
            ends = self.checkpoint.ends(number)
            counts = flow.count(self._ledger.positions, ends)
            self._ledger.end(number, ends, counts, self._sink.place.name, flow.spark)

    def _run(self, flow: Flow) -> None:
        """One stretch of the query, from an open gate to a boundary at a closed or stopped one."""
        with suppress(Cancelled):
            self._start(flow)
            self._follow(flow)
        self._end(flow)

    def _follow(self, flow: Flow) -> None:
        query = self._query
        while query is not None:
            self._raise_what_ended(query)
            if self._settle_a_batch(query, flow) and self._gate.position is not Position.OPEN:
                break
            if self._gate.cancelled:
                break
            number = self._ledger.done_batch + 1
            self._ledger.probe_sinks(number, partial(self.checkpoint.is_committed, number))
            time.sleep(_POLL)

    def _start(self, flow: Flow) -> None:
        held = self._ledger.start(self._ledger.done_batch + 1, flow.spark)
        writer = self._sink.stream(partial(flow.written, held), self.read.source, self._ledger.channel)
        writer = writer.queryName(self.name).option("checkpointLocation", str(self.checkpoint.path))
        length = f"{self._duration * 1000:.0f} milliseconds"
        self._query = writer.outputMode("update").trigger(realTime=length).start()  # type: ignore[call-overload]
        self.on_change()

    def _raise_what_ended(self, query: StreamingQuery) -> None:
        if not query.isActive:
            raise query.exception() or RuntimeError("the query ended by itself")

    def _settle_a_batch(self, query: StreamingQuery, flow: Flow) -> bool:
        """Write a batch that Spark has committed into the books, and the next one, which it has begun."""
        number = self._ledger.done_batch + 1
        if not self.checkpoint.is_committed(number):
            return False
        counts = _counts_of(query, number)
        self._ledger.end(number, self.checkpoint.ends(number), counts, self._sink.place.name, flow.spark)
        self._batch = number
        self.on_change()
        return True

    def _end(self, flow: Flow) -> None:
        self.stop()
        self._query = None
        if self._gate.cancelled:
            say(f"{self.name}: stopped in the middle of a batch; what the sink has of it is reread")
        self._ledger.broken_off(flow.spark)
        self.on_change()

    def stop(self) -> None:
        """Stop Spark's query where it is."""
        if self._query is not None:
            self._query.stop()

    @property
    def settled(self) -> bool:
        """No query runs: the gate is not open, and a boundary was reached."""
        return self._query is None or self._over.is_set()

    @property
    def moving(self) -> bool:
        """A batch has ended, nothing is left to read, or the tasks of the first batch are at work."""
        query = self._query
        return self._ledger.moving or (query is not None and bool(query.status.get("isTriggerActive")))

    @property
    def progressed(self) -> int:
        """A number that grows with everything that happens."""
        return self._ledger.progress.finished + self._ledger.progress.idle_checks

    @property
    def balanced(self) -> bool:
        """Whether the last batch balances."""
        return self._ledger.progress.balanced

    @property
    def holdings(self) -> list[Holding]:
        """What keeps it from moving; empty where nothing does."""
        return self._ledger.holdings + ([self.source_away] if self.source_away else [])

    def cancel_held_writes(self) -> None:
        """No write of its own goes on: Spark's query is stopped where it is."""

    def channel_positions(self) -> list[Offsets]:
        """The position at the last boundary."""
        return [dict(self._ledger.positions)]

    def saw_ends(self, ends: Offsets) -> None:
        """Note where the log ends now."""
        self.source_away = None
        self._ledger.saw_ends(ends, resting=self._query is not None)

    def statuses(self) -> list[QueryStatus]:
        """What status.json says."""
        return [self._ledger.status(self._batch, in_flight=not self.settled, holding=self.source_away)]


def _counts_of(query: StreamingQuery, number: int) -> Counts:
    """What Spark reports of a finished batch; it does so within milliseconds of its commit. Raises CountsMissing."""
    deadline = time.monotonic() + _PROGRESS_TIMEOUT
    while time.monotonic() < deadline:
        for progress in query.recentProgress:
            if progress["batchId"] == number:
                return counted(progress["observedMetrics"][COUNTED].asDict())[0]
        time.sleep(_POLL / 10)
    raise CountsMissing(f"Spark did not report the counts of batch {number}")


Query = ReadQuery | RealTimeQuery
"""A streaming query in either mode."""
