"""Sink processors: which sink takes a batch, and what happens when it fails."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]

from pipelines.domain.ledger import Counts
from pipelines.domain.positions import PartitionPosition
from workers.agent.batch import Batch
from workers.agent.component import SinkBuilder
from workers.agent.gate import Gate

T = TypeVar("T")

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 10.0
_SOURCE_LOST = re.compile(
    r"KAFKA_DATA_LOSS|OffsetOutOfRange|data may have been lost|Cannot fetch offset", re.IGNORECASE
)


class SourceLost(Exception):
    """Records of the batch can no longer be read: no sink's fault, and no attempt will change it."""


@dataclass(frozen=True)
class Failure:
    """One attempt that failed; `since` is the wall time of the first one of this batch."""

    sink: str
    cause: str
    attempt: int
    since: float


@dataclass(frozen=True)
class Delivery:
    """A batch that a sink has acknowledged."""

    counts: Counts
    sink: str
    attempts: int


def pauses() -> Iterator[float]:
    """Seconds between attempts: half a second, doubling, at most ten seconds."""
    pause = _FIRST_PAUSE
    while True:
        yield pause
        pause = min(_LONGEST_PAUSE, pause * 2)


def cause_of(error: BaseException) -> str:
    """The innermost cause in a line, out of a Java or Python exception."""
    text = str(error)
    causes = re.findall(r"^Caused by: (.+)$", text, re.MULTILINE)
    lost = re.search(r"executor [^)]*\): (.+)$", text, re.MULTILINE)
    first = text.strip().splitlines()[0] if text.strip() else type(error).__name__
    return (causes[-1] if causes else lost[1] if lost else first)[:500]


class DefaultProcessor:
    """Flume's DefaultSinkProcessor with one sink: a batch that cannot be written is held and tried again, for ever.

    A stop that gives the batch up is not a failure of the sink.
    """

    def __init__(self, name: str, sink: SinkBuilder, gate: Gate) -> None:
        self.name = name
        self.sink = sink
        self._gate = gate

    def ends(self, failed: Callable[[Failure], None]) -> list[PartitionPosition]:
        """The sink's own end offsets, waited for like a delivery."""
        return self._hold(lambda: self.sink.ends(), failed)[0]

    def deliver(self, batch: Batch, failed: Callable[[Failure], None]) -> Delivery:
        """Write the batch; `failed` hears of every attempt that did not work.

        Raises Cancelled where a stop gives the batch up, SourceLost where its records are gone, Py4JNetworkError where
        the JVM is gone.
        """
        counts, attempts = self._hold(lambda: self.sink.write(batch.attempt()), failed)
        return Delivery(counts, self.name, attempts)

    def _hold(self, action: Callable[[], T], failed: Callable[[Failure], None]) -> tuple[T, int]:
        since = 0.0
        for attempt, pause in enumerate(pauses(), start=1):
            try:
                return action(), attempt
            except Py4JNetworkError:
                raise
            except Exception as error:
                self._gate.check()
                if _SOURCE_LOST.search(str(error)):
                    raise SourceLost(cause_of(error)) from error
                since = since or time.time()
                failed(Failure(self.name, cause_of(error), attempt, since))
            self._gate.hold(pause)
        raise AssertionError("pauses() never ends")
