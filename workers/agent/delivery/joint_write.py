"""One write for several channels of a read: where their sinks take their batches together, each event is read,
evaluated and written in one pass, whatever the number of channels.

Each channel keeps its own books, and its own attempts: the first attempt of each waits for those of the others, and one
of them writes for all. Where that fails, every channel goes on alone, so that one which cannot be written to does not
keep the others from what is theirs in this batch.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable
from concurrent.futures import Future
from typing import TYPE_CHECKING

from workers.agent.base.frames import within
from workers.agent.graph.batch import Attempt
from workers.agent.graph.component import SinkBuilder
from workers.agent.spark.deadline import Deadline

if TYPE_CHECKING:
    from workers.agent.delivery.ledger import ChannelLedger

_MEETING = 2.0
"""Seconds that a channel waits for the first attempts of the others, which all begin with the batch."""
_MARGIN = 30.0
"""Seconds beyond the deadline of a write in which its end is known."""


class JointWrite:
    """The first attempts of so many channels to deliver one batch. `group`: the name of Spark's jobs, whichever of them
    starts these."""

    def __init__(self, channels: int, group: str) -> None:
        self.group = group
        self._meeting = threading.Barrier(channels)
        self._joining = threading.Lock()
        self._passes: list[tuple[SinkBuilder, Attempt]] = []
        self._deadlines: list[Deadline] = []
        self._done: Future[None] = Future()

    def write(self, sink: SinkBuilder, attempt: Attempt, deadline: Deadline) -> None:
        """Deliver one channel's attempt with those of the others; on its own, where they do not come. Raises what the
        write has raised, in every channel."""
        with self._joining:
            self._passes.append((sink, attempt))
            self._deadlines.append(deadline)
        try:
            turn = self._meeting.wait(_MEETING)
        except threading.BrokenBarrierError:
            within(sink.place.path, sink.write)(attempt)
            return
        if turn == 0:
            self._write_all(attempt)
        self._done.result(sink.write_deadline + _MARGIN)

    def _write_all(self, attempt: Attempt) -> None:
        passes = sorted(self._passes, key=lambda each: each[0].place.path)
        first, _ = passes[0]
        try:
            within(first.place.path, first.write_together)(passes)
        except BaseException as error:
            try:
                first.abandon(attempt.spark)
                self._expire_all()
            finally:
                self._done.set_exception(error)
        else:
            self._done.set_result(None)

    def _expire_all(self) -> None:
        """One write has one deadline: where it has passed for one, it has for all."""
        if any(deadline.expired for deadline in self._deadlines):
            for deadline in self._deadlines:
                deadline.expire()


def joint_writes(ledgers: Iterable[ChannelLedger], name: str) -> dict[ChannelLedger, JointWrite]:
    """How the next batch is written in as few passes as its channels allow; those that write alone are left out.
    `name`: of the batch."""
    found: dict[Hashable, list[ChannelLedger]] = {}
    for ledger in ledgers:
        if ledger.joins and (key := ledger.group.written_with) is not None:
            found.setdefault(key, []).append(ledger)
    several = [each for each in found.values() if len(each) > 1]
    joints = [(each, JointWrite(len(each), f"{name}/{number}")) for number, each in enumerate(several)]
    return {ledger: joint for each, joint in joints for ledger in each}
