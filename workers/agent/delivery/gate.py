"""The gate at the top of every batch: the exact boundary at which consumption pauses and stops.

A batch that has entered is finished; one that has not entered has touched nothing. While the gate is closed a batch
waits there, warm; once it is stopped, every batch that comes is turned away, for good.
"""

from __future__ import annotations

import threading
from enum import Enum


class Position(Enum):
    """OPEN lets batches in, CLOSED makes them wait, STOPPED turns them away."""

    OPEN = "open"
    CLOSED = "closed"
    STOPPED = "stopped"


class TurnedAway(Exception):
    """The gate is stopped; the batch has touched nothing."""


class Cancelled(Exception):
    """A stop was asked for while a batch was held; it is not a failure of its sink."""


class NotGranted(Exception):
    """The agent is a standby: it has no epoch, without which nothing is consumed."""


class Gate:
    """One gate for all queries of an agent. `epoch` is the token that opens it; that of a standby has none, and stays
    closed until one is granted."""

    def __init__(self, epoch: int) -> None:
        self._changed = threading.Condition()
        self._epoch = epoch
        self._position = Position.OPEN if epoch else Position.CLOSED
        self._inside: set[str] = set()
        self._cancelled = threading.Event()

    @property
    def position(self) -> Position:
        """Where the gate is."""
        return self._position

    @property
    def granted(self) -> bool:
        """Whether it has the token, so that it may be opened."""
        return self._epoch > 0

    def grant(self, epoch: int) -> None:
        """The agent is ACTIVE now, under this epoch. The gate stays where it is."""
        if epoch <= 0:
            raise NotGranted(f"{epoch} is no epoch")
        self._epoch = epoch

    @property
    def inside(self) -> frozenset[str]:
        """Queries with a batch in hand."""
        with self._changed:
            return frozenset(self._inside)

    @property
    def cancelled(self) -> bool:
        """Whether a stop has given up the batches in hand."""
        return self._cancelled.is_set()

    def open(self) -> None:
        """Let batches in again, unless the gate was stopped. Raises NotGranted where it has no token."""
        if not self.granted:
            raise NotGranted("a standby consumes nothing before it is promoted")
        self._move(Position.OPEN)

    def close(self) -> None:
        """Let no further batch in, unless the gate was stopped."""
        self._move(Position.CLOSED)

    def stop(self, *, cancel: bool) -> None:
        """Turn every further batch away. `cancel` also gives up batches that are held because their sink fails."""
        self._move(Position.STOPPED)
        if cancel:
            self._cancelled.set()

    def stopped_within(self, seconds: float) -> bool:
        """Wait for the gate to be stopped, so long at most; says whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: self._position is Position.STOPPED, seconds)

    def _move(self, position: Position) -> None:
        with self._changed:
            if self._position is not Position.STOPPED:
                self._position = position
                self._changed.notify_all()

    def enter(self, query: str) -> None:
        """Wait until the gate is open and go in. Raises TurnedAway once it is stopped."""
        with self._changed:
            while self._position is Position.CLOSED:
                self._changed.wait()
            if self._position is Position.STOPPED:
                raise TurnedAway(f"{query}: stopped at the gate")
            self._inside.add(query)

    def leave(self, query: str) -> None:
        """The batch in hand is over, well or badly."""
        with self._changed:
            self._inside.discard(query)
            self._changed.notify_all()

    def hold(self, seconds: float) -> None:
        """Wait inside, with a batch in hand. Raises Cancelled as soon as a stop gives the batch up."""
        self._cancelled.wait(seconds)
        self.check()

    def check(self) -> None:
        """Raises Cancelled where a stop has given up the batches in hand."""
        if self._cancelled.is_set():
            raise Cancelled("the stop canceled the batch")
