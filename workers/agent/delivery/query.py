"""One streaming query: a source, and the channels it serves. Each batch passes the gate, is planned, delivered, done.

The order is what recovery rests on: gate, `planned` on disk, sink, acknowledgement, `done` on disk, Spark's commit.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from pipelines.domain.definitions.document.spec import WORTH_A_BATCH, Read
from pipelines.domain.runs.protocol import Holding, QueryStatus
from workers import crash_points
from workers.agent.delivery.gate import Cancelled, Gate, Position
from workers.agent.delivery.joint_write import JointWrite, joint_writes
from workers.agent.delivery.ledger import ChannelLedger
from workers.agent.delivery.scan import as_read
from workers.agent.graph.kept import Events, KeptPlans
from workers.agent.positions.checkpoint import Checkpoint, Offsets
from workers.agent.spark.session import generate_code, is_local

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from workers.agent.graph.compile import Endless

_PATIENCE = 3.0
"""Seconds that required channels wait at least for optional ones that share their read."""


class ReadQuery:
    """The query of one read. `keep`: a batch is evaluated once and kept, since a second look may see something else.
    `share`: the most tasks that a batch may be split into, so that it leaves other channels their slots."""

    def __init__(
        self,
        read: Read,
        channels: Sequence[ChannelLedger],
        *,
        checkpoint: Checkpoint,
        gate: Gate,
        keep: bool = False,
        share: int | None = None,
    ) -> None:
        self.read = read
        self.name = read.name
        self.channels = list(channels)
        self.checkpoint = checkpoint
        self.source_away: Holding | None = None
        for ledger in self.channels:
            ledger.group.source_is_away = lambda: self.source_away is not None
        self.failure: BaseException | None = None
        self.on_change: Callable[[], None] = lambda: None
        self.before_batch: Callable[[], None] = lambda: None
        self._gate = gate
        self._keep = keep
        self._share = share
        self._batch: int | None = None
        self._compiled: bool | None = None
        self._plans = KeptPlans()
        self._events: Callable[[DataFrame], DataFrame] = lambda batch: batch
        self._query: StreamingQuery | None = None
        self._ended = threading.Event()

    def start(
        self, endless: Endless, trigger_ms: int, on_end: Callable[[ReadQuery, BaseException | None], None]
    ) -> None:
        """Start the query; `on_end` hears in a thread of its own how it ended."""
        self._events, self._plans = endless.events, KeptPlans()
        writer = endless.frame.writeStream.queryName(self.name).option("checkpointLocation", str(self.checkpoint.path))
        self._query = writer.trigger(processingTime=f"{trigger_ms} milliseconds").foreachBatch(self.run_batch).start()
        threading.Thread(target=self._await, args=(on_end,), name=f"await {self.name}", daemon=True).start()

    def _await(self, on_end: Callable[[ReadQuery, BaseException | None], None]) -> None:
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
        return self._batch is None or self._ended.is_set() or self.checkpoint.is_committed(self._batch)

    @property
    def moving(self) -> bool:
        """Every channel finished a batch, or there is provably nothing to read."""
        return all(ledger.moving for ledger in self.channels)

    @property
    def progressed(self) -> int:
        """A number that grows with everything that happens."""
        own = [ledger.progress for ledger in self.channels]
        return sum(progress.finished + progress.idle_checks + progress.looks for progress in own)

    @property
    def balanced(self) -> bool:
        """Whether the last batch of every channel balances."""
        return all(ledger.progress.balanced for ledger in self.channels)

    @property
    def holdings(self) -> list[Holding]:
        """What keeps it from moving; empty where nothing does."""
        own = [each for ledger in self.channels for each in ledger.holdings]
        return own + ([self.source_away] if self.source_away else [])

    def cancel_held_writes(self) -> None:
        """Have writes fail now that something keeps from their end: nobody waits for them any more."""
        for ledger in self.channels:
            if self.source_away or ledger.holdings:
                ledger.cancel_write()

    def channel_positions(self) -> list[Offsets]:
        """The positions of every channel."""
        return [dict(ledger.positions) for ledger in self.channels]

    def run_batch(self, frame: DataFrame, number: int) -> None:
        """What Spark calls for each batch. Raises TurnedAway at a stopped gate, before anything was touched."""
        self._gate.enter(self.name)
        crash_points.reach("agent.offered")
        try:
            self._deliver(frame, number)
            self._batch = number
        except Cancelled:
            raise
        except Exception as error:
            self.failure = error
            raise
        finally:
            self._gate.leave(self.name)
            self.on_change()

    def _deliver(self, frame: DataFrame, number: int) -> None:
        due = [ledger for ledger in self.channels if number > ledger.done_batch]
        for ledger in self.channels:
            if ledger not in due:
                ledger.replayed(number)
        if due:
            self.before_batch()
            ends = self.checkpoint.ends(number)
            small = self._size(due, ends) <= WORTH_A_BATCH
            self._compile(frame, compiled=not small)
            if not small:
                frame = as_read(self._query, frame)
            joints = joint_writes(due, f"{self.name}/{number}")
            with self._evaluated(frame, small=small, passes=_passes(due, joints)) as events:
                due.sort(key=lambda ledger: (ledger.optional, ledger.sometimes_optional))
                deliver = {each: partial(each.deliver, events, number, ends, joints.get(each)) for each in due}
                _side_by_side(deliver, self._abort)

    @contextmanager
    def _evaluated(self, frame: DataFrame, *, small: bool, passes: int) -> Iterator[Events]:
        """The events of a batch, which is written in so many passes. A small one is a single task: to make another and
        to wait for it costs more than its events. Where it is written once, it may be by the plan of one before."""
        tasks = 1 if small else self._share

        def events(given: DataFrame) -> DataFrame:
            return self._events(given.coalesce(tasks) if tasks else given)

        if self._keep or passes > 1:
            with _kept(events(frame)) as kept:
                yield Events(kept)
        else:
            yield Events(frame, events, self._plans if small else None)

    def warm_up(self, frame: DataFrame, endless: Endless) -> None:
        """Go through a batch without rows, both as a small and as a large one."""
        self._events = endless.events
        for compiled in (False, True):
            generate_code(frame.sparkSession, compiled)
            with self._evaluated(frame, small=not compiled, passes=len(self.channels)) as events:
                for ledger in self.channels:
                    ledger.warm_up(Events(events.frame))

    def _size(self, due: Sequence[ChannelLedger], ends: Offsets) -> int:
        return max(sum(end - ledger.positions.get(key, 0) for key, end in ends.items()) for ledger in due)

    def _compile(self, frame: DataFrame, *, compiled: bool) -> None:
        """Writing Java for a plan takes longer than a small batch: that one is interpreted."""
        if compiled is self._compiled:
            return
        generate_code(frame.sparkSession, compiled)
        self._compiled = compiled

    def _abort(self) -> None:
        """One channel cannot go on, which ends the run: the others do not hold their batches any longer."""
        self._gate.stop(cancel=True)

    def saw_ends(self, ends: Offsets) -> None:
        """Note where the log ends now."""
        self.source_away = None
        resting = self._query is not None and self._gate.position is Position.OPEN and self.settled
        if resting:
            crash_points.reach("agent.resting")
        for ledger in self.channels:
            ledger.saw_ends(ends, resting=resting)

    def statuses(self) -> list[QueryStatus]:
        """What status.json says of each channel."""
        in_flight = not self.settled
        return [ledger.status(self._batch, in_flight=in_flight, holding=self.source_away) for ledger in self.channels]


def _passes(due: Sequence[ChannelLedger], joints: Mapping[ChannelLedger, JointWrite]) -> int:
    """How often a batch is read and evaluated, if it is not kept."""
    return len(due) - len(joints) + len(set(joints.values()))


@contextmanager
def _kept(frame: DataFrame) -> Iterator[DataFrame]:
    """Evaluated once, in memory or on disk, for as long as the batch is in hand; twice on a cluster, which may lose
    an executor."""
    from pyspark import StorageLevel

    once = is_local(frame.sparkSession.sparkContext)
    kept = frame.persist(StorageLevel.MEMORY_AND_DISK_DESER if once else StorageLevel.MEMORY_AND_DISK_2)
    try:
        yield kept
    finally:
        kept.unpersist()


def _side_by_side(actions: Mapping[ChannelLedger, Callable[[], None]], failed: Callable[[], None]) -> None:
    """Run all to their end, the first in this thread; then raise what the first that failed raised.

    Once the required channels are done, optional ones have as long again, and are given up then; so are those that are
    sometimes optional, where the batch can be dropped.
    """
    from pyspark import InheritableThread

    errors: list[BaseException] = []

    def run(action: Callable[[], None]) -> None:
        try:
            action()
        except BaseException as error:
            errors.append(error)
            failed()

    started = time.monotonic()
    (_, first), *others = actions.items()
    threads = [(ledger, InheritableThread(target=run, args=(action,))) for ledger, action in others]
    for _, thread in threads:
        thread.start()
    run(first)
    for ledger, thread in threads:
        if ledger.optional or ledger.sometimes_optional:
            thread.join(max(_PATIENCE, time.monotonic() - started))
            while thread.is_alive() and not ledger.must_arrive():
                ledger.abort()
                thread.join(_PATIENCE)
        thread.join()
    if errors:
        raise errors[0]
