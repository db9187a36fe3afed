"""The books of real-time mode: a batch begins by itself when the one before it is over, so that the sink may have
records of it before anything is written of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipelines.domain.ledger.journal import Done, Planned, SinkPosition
from pipelines.domain.ledger.ledger import Counts
from tests.batch_bench import KEY, Bench, DeadLetterStore, Disk, Store
from tests.simulation.test_exactly_once import holding
from workers.agent.delivery.deduplication import Policy
from workers.agent.graph.component import Look
from workers.agent.positions.checkpoint import Offsets

SPARK: Any = SimpleNamespace()
OUT = KEY
TEN = Counts(read=10, delivered=10)


class Topic(Store):
    """A sink that can be read. `answering`: called while it is asked where it ends."""

    def __init__(self) -> None:
        super().__init__()
        self.answering: Callable[[], None] = lambda: None

    def ends(self) -> list[SinkPosition]:
        self.answering()
        return super().ends()

    def look(self, planned: Planned, spark: Any, since: Offsets | None, told: Any) -> Look:
        (noted,) = planned.ends_of(self.place.name)
        start = since[OUT] if since else noted.offset
        (item,) = planned.ranges
        own = [n for n in self.records[start:] if n >= item.start and (planned.open_ended or n < item.end)]
        return Look(holding(own), {OUT: len(self.records)})


class Runs:
    """Runs that follow each other on one journal and one topic."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        clock = SimpleNamespace(monotonic=lambda: 0.0, time=lambda: 0.0)
        monkeypatch.setattr("workers.agent.delivery.deduplication.time", clock)
        self.path, self.disk, self.sink = path, Disk(path, monkeypatch), Topic()

    def start(self) -> Bench:
        """A run that knows what the journals say."""
        positions, planned = {KEY: 0}, None
        done = None
        for entry in self.disk.entries():
            if isinstance(entry, Planned):
                planned = entry.attempted()
            elif isinstance(entry, Done):
                positions.update({item.key: item.end for item in entry.ranges})
                done, planned = entry.batch, None
        bench = Bench(self.disk.journal(), self.path, [self.sink], DeadLetterStore(), deduplicates=Policy(None))
        bench.gate.hold = lambda seconds: None  # type: ignore[method-assign]
        bench.ledger.continue_from(positions, done)
        if planned is not None:
            bench.ledger.resolve(planned)
        return bench

    def deliver(self, bench: Bench, number: int) -> set[int]:
        """Start a batch of ten records and write what the sink has not; returns what it had."""
        held = bench.ledger.start(number, SPARK)
        bits = held.offsets.get((KEY, 0)) if held else None  # type: ignore[call-overload]
        had = {n for n in range(8 * len(bits.data)) if bits.data[n // 8] >> n % 8 & 1} if bits else set()
        self.sink.records += [n for n in range(10 * number, 10 * number + 10) if n not in had]
        return had


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    return Runs(tmp_path, monkeypatch)


def test_what_follows_a_batch_that_was_committed_before_a_crash_is_looked_for(runs: Runs) -> None:
    runs.deliver(runs.start(), 0)
    runs.sink.records += range(10, 15)

    second = runs.start()
    second.ledger.end(0, {KEY: 10}, TEN, "lake", SPARK)
    assert runs.deliver(second, 1) == set(range(10, 15))
    assert sorted(runs.sink.records) == list(range(20))

    runs.sink.records += range(20, 25)
    third = runs.start()
    third.ledger.end(1, {KEY: 20}, TEN, "lake", SPARK)
    assert runs.deliver(third, 2) == set(range(20, 25))
    assert sorted(runs.sink.records) == list(range(30))
    assert sum(done.duplicates_max for done in runs.disk.of_kind(Done)) == 0


def test_the_journal_never_has_the_end_of_a_batch_without_the_batch_that_has_begun(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash between two writes would leave records in the sink that no run looks for."""
    first = runs.start()
    runs.deliver(first, 0)
    runs.sink.records += range(10, 15)
    open_batches: list[int | None] = []
    write = os.write

    def look(file: int, data: bytes) -> int:
        written = write(file, data)
        last = runs.disk.entries()[-1]
        open_batches.append(last.batch if isinstance(last, Planned) else None)
        return written

    monkeypatch.setattr(os, "write", look)
    first.ledger.end(0, {KEY: 10}, TEN, "lake", SPARK)
    assert open_batches == [1]
    assert runs.deliver(runs.start(), 1) == set(range(10, 15))


@pytest.mark.parametrize("has_asked_before", [True, False])
def test_the_sinks_ends_of_a_batch_are_from_before_its_first_record(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, has_asked_before: bool
) -> None:
    """Spark commits a batch and begins the next one while the sink is asked where it ends."""
    now = [1000.0]
    monkeypatch.setattr(
        "workers.agent.delivery.ledger.time", SimpleNamespace(monotonic=lambda: now[0], time=lambda: now[0])
    )
    first = runs.start()
    runs.deliver(first, 0)
    if not has_asked_before:
        first = runs.start()
        runs.deliver(first, 0)
    committed: list[int] = []

    def commits() -> None:
        if not committed:
            committed.append(0)
            runs.sink.records += range(10, 15)

    runs.sink.answering = commits
    now[0] += 5
    first.ledger.probe_sinks(0, lambda: bool(committed))
    first.ledger.end(0, {KEY: 10}, TEN, "lake", SPARK)
    assert runs.deliver(runs.start(), 1) == set(range(10, 15))
