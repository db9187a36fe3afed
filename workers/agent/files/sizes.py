"""How many files a batch becomes: what the batch before has taken of space and time says it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workers.agent.graph.batch import Attempt

_LARGEST = 1 << 62
_ALL = 10_000
"""More than a batch has tasks."""
_LONGEST = 10.0
"""Seconds that one writer may take for its part of a batch; a batch that would take longer has more of them."""
_SMALLEST = 1 / 16
"""Of the size of a file: what each writer has where there are many for the sake of time alone."""

_AT_ONCE = 1 / 2
"""Of the time that a batch has taken: the sink is behind where the next one begins within it."""


@dataclass(frozen=True)
class Layout:
    """How a batch is written: so many writers at a time, each of which begins a new file after so many events."""

    writers: int
    events_per_file: int


@dataclass(frozen=True)
class Measured:
    """Bytes in files for each event, and bytes and seconds of a writer for each offset of the batch: some events are
    not written, and not every source counts events."""

    bytes_per_event: float
    bytes_per_offset: float
    seconds_per_offset: float


@dataclass(frozen=True)
class _Trial:
    batch: int
    since: float


class Sizes:
    """Learns how large the events of each source are. `size`: of a file, in bytes."""

    def __init__(self, size: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._size = size
        self._clock = clock
        self._measured: dict[str, Measured] = {}
        self._trials: dict[str, _Trial] = {}
        self._behind_until: dict[str, float] = {}

    def layout(self, attempt: Attempt, sample: Callable[[Attempt], float], slots: int) -> Layout:
        """One file for each `size` bytes; where batches follow one another at once, more of them, for so many writers
        as there are `slots` for tasks. The first batch has one writer, since its size is not known; `sample` says how
        large its events are, about. A batch that is tried again has as many as there are: one may have been too
        slow."""
        planned = attempt.planned
        known, last = self._measured.get(planned.source), self._trials.get(planned.source)
        again = last is not None and last.batch == planned.batch
        most = slots if self._clock() < self._behind_until.get(planned.source, 0.0) else 1
        writers = _ALL if again else _writers(known, planned.bound, self._size, most) if known else 1
        event_size = known.bytes_per_event if known else sample(attempt)
        self._trials[planned.source] = _Trial(planned.batch, self._clock())
        return Layout(writers, max(1, int(self._size / event_size)) if event_size else _LARGEST)

    def learn(self, attempt: Attempt, parts: Mapping[str, int]) -> None:
        """A batch is written. `parts`: its files as Spark calls them, `part-TASK-…`, and their sizes."""
        planned, size = attempt.planned, sum(parts.values())
        tasks = {Path(part).name.split("-")[1] for part in parts}
        now = self._clock()
        took = now - self._trials.pop(planned.source).since
        self._behind_until[planned.source] = now + took * _AT_ONCE
        offsets = max(1, planned.bound)
        if size:
            self._measured[planned.source] = Measured(
                size / attempt.counts.delivered, size / offsets, took * len(tasks) / offsets
            )


def _writers(known: Measured, offsets: int, size: int, slots: int) -> int:
    files = offsets * known.bytes_per_offset / size
    by_time = int(offsets * known.seconds_per_offset / _LONGEST)
    return max(1, int(files), by_time, min(slots, int(files / _SMALLEST)))
