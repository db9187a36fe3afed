"""What the status says of a channel at any moment of a batch's end."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from pipelines.domain.ledger.ledger import Counts
from pipelines.domain.runs.protocol import QueryStatus
from tests.batch_bench import KEY, Bench, DeadLetterStore, Disk, Store
from workers.agent.delivery import ledger
from workers.agent.delivery.ledger import Progress


def test_a_status_never_shows_a_position_before_its_records_or_records_that_are_still_held_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread may ask between any two lines."""
    monkeypatch.setattr("workers.agent.graph.batch.Observation", object)
    sink = Store()
    sink.failing = 1
    bench = Bench(Disk(tmp_path, monkeypatch).journal(), tmp_path, [sink], DeadLetterStore())
    monkeypatch.setattr(bench.gate, "hold", lambda _: None)
    bench.ledger.saw_ends({KEY: 10}, resting=False)
    seen: list[QueryStatus] = []

    def check(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != ledger.__file__:
            return None
        seen.append(bench.ledger.status(0, in_flight=True, holding=None))
        return check

    before = sys.gettrace()
    sys.settrace(check)
    try:
        bench.run(0, 10)
    finally:
        sys.settrace(before)
    assert (seen[0].lag, seen[0].delivered, seen[-1].lag, seen[-1].delivered) == (10, 0, 0, 10)
    assert [each.holding.cause for each in seen if each.holding], "the first attempt failed"
    assert [each for each in seen if each.lag == 0 and each.delivered != 10] == []
    assert [each for each in seen if each.delivered == 10 and each.holding is not None] == []


def test_after_a_silence_records_per_second_count_from_the_batch_that_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("workers.agent.delivery.ledger.time", SimpleNamespace(monotonic=lambda: now[0]))
    progress = Progress()
    for silence in (30.0, 600.0):
        now[0] += silence
        read = progress.counts.read
        for _ in range(4):
            progress.start()
            now[0] += 0.5
            progress.counts = progress.counts + Counts(read=500, delivered=500)
            progress.recent.append((now[0], progress.counts.read))
        assert (progress.counts.read - read, progress.rate()) == (2000, 1000.0)


def test_the_rate_of_batches_that_are_apart_on_purpose_is_that_of_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("workers.agent.delivery.ledger.time", SimpleNamespace(monotonic=lambda: now[0]))
    progress = Progress(30.0)
    for _ in range(4):
        now[0] += 29.0
        progress.start()
        now[0] += 1.0
        progress.counts = progress.counts + Counts(read=3000, delivered=3000)
        progress.recent.append((now[0], progress.counts.read))
    for _ in range(3):
        assert progress.rate() == 100.0
        now[0] += 10.0
    now[0] += 10.0
    assert progress.rate() < 100.0, "a batch is overdue"
