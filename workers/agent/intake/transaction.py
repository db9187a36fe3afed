"""Flume's channel transaction over an intake log: begin, put or take, commit or rollback, close.

A transaction belongs to the thread that obtained it (BasicChannelSemantics). Puts are seen by nobody before the commit;
what was taken comes again after a rollback.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable
from enum import Enum
from types import TracebackType
from typing import Self, TypeVar

from workers.agent.intake import log as logs
from workers.agent.intake.event import Event, record_batch
from workers.agent.intake.log import IntakeLog, PutQueueFull
from workers.agent.intake.reader import events

T = TypeVar("T")


class TransactionMisused(Exception):
    """A call that this state of a transaction, or this thread, does not allow."""


class State(Enum):
    """The life of a transaction."""

    NEW = "new"
    OPEN = "open"
    COMPLETED = "completed"
    CLOSED = "closed"


class Channel:
    """An intake log as a channel: one transaction at a time for each thread, puts and takes by many threads."""

    def __init__(self, log: IntakeLog, transaction_capacity: int) -> None:
        self.log = log
        self.transaction_capacity = transaction_capacity
        self.lock = threading.Lock()
        self._mine = threading.local()
        self._next = log.acknowledged
        self._returned: list[int] = []
        self._taken: set[int] = set()

    def transaction(self) -> Transaction:
        """This thread's transaction; a new one where it has none, or the last one is closed."""
        current: Transaction | None = getattr(self._mine, "transaction", None)
        if current is None or current.state is State.CLOSED:
            current = self._mine.transaction = Transaction(self)
        return current

    def take(self) -> tuple[int, Event] | None:
        """The next event that nobody else has, and its offset."""
        with self.lock:
            if self._returned:
                offset = heapq.heappop(self._returned)
            elif self._next < self.log.end:
                offset, self._next = self._next, self._next + 1
            else:
                return None
            self._taken.add(offset)
        return offset, next(events(self.log.directory, offset, offset + 1))

    def give_back(self, offsets: list[int]) -> None:
        """What a rollback returns comes first again, in its order."""
        with self.lock:
            for offset in offsets:
                self._taken.discard(offset)
                heapq.heappush(self._returned, offset)

    def delivered(self, offsets: list[int]) -> None:
        """The log lets go of what lies before the first event that is still somebody's."""
        with self.lock:
            self._taken.difference_update(offsets)
            left = min([*self._taken, *self._returned[:1], self._next])
            logs.acknowledge(self.log.directory, left)


class Transaction:
    """See the module. Also a context manager that commits, or rolls back where an exception comes, and closes."""

    def __init__(self, channel: Channel) -> None:
        self.state = State.NEW
        self._channel = channel
        self._thread = threading.get_ident()
        self._puts: list[Event] = []
        self._takes: list[int] = []

    def begin(self) -> None:
        """Open it."""
        self._require(State.NEW, "begin")
        self.state = State.OPEN

    def put(self, event: Event) -> None:
        """Add an event. Raises PutQueueFull, TypeError; the transaction stays open."""
        self._require(State.OPEN, "put")
        if not isinstance(event, Event):
            raise TypeError("an event is needed")
        self._room(self._puts, "puts")
        self._puts.append(event)

    def take(self) -> Event | None:
        """The next event, or None where there is none. Raises PutQueueFull where it is one too many."""
        self._require(State.OPEN, "take")
        self._room(self._takes, "takes")
        found = self._channel.take()
        if found is None:
            return None
        self._takes.append(found[0])
        return found[1]

    def _room(self, queue: list[T], what: str) -> None:
        if len(queue) >= self._channel.transaction_capacity:
            raise PutQueueFull(
                f"More {what} in one transaction than transaction_capacity ({self._channel.transaction_capacity}). "
                "Commit more often, or raise it."
            )

    def commit(self) -> None:
        """Append the puts, let go of the takes. Where it raises (LogFull), the transaction waits for its rollback."""
        self._require(State.OPEN, "commit")
        if self._puts:
            with self._channel.lock:
                self._channel.log.append(record_batch(self._puts))
        if self._takes:
            self._channel.delivered(self._takes)
        self.state = State.COMPLETED

    def rollback(self) -> None:
        """Forget the puts, give back the takes."""
        self._require(State.OPEN, "rollback")
        self.state = State.COMPLETED
        self._channel.give_back(self._takes)
        self._puts, self._takes = [], []

    def close(self) -> None:
        """End it. One that is still open is closed, too, rolled back, and an error is raised."""
        self._same_thread("close")
        state, self.state = self.state, State.CLOSED
        if state is State.OPEN:
            self._channel.give_back(self._takes)
            raise TransactionMisused("close: the transaction is open; commit it or roll it back first")
        if state is State.CLOSED:
            raise TransactionMisused("close: the transaction is closed")

    def _require(self, state: State, call: str) -> None:
        self._same_thread(call)
        if self.state is not state:
            raise TransactionMisused(f"{call}: the transaction is {self.state.value}")

    def _same_thread(self, call: str) -> None:
        if threading.get_ident() != self._thread:
            raise TransactionMisused(f"{call}: the transaction belongs to another thread")

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        try:
            self._finish(self.commit if error is None else self.rollback)
        finally:
            self.close()

    def _finish(self, how: Callable[[], None]) -> None:
        try:
            how()
        except BaseException:
            if self.state is State.OPEN:
                self.rollback()
            raise
