"""What the status says of a channel at any moment of a batch's end."""

from __future__ import annotations

import sys
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from pipelines.domain.journal import Done
from pipelines.domain.ledger import Counts
from pipelines.domain.positions import PartitionRange
from pipelines.domain.protocol import Holding, QueryStatus
from workers.agent.books import ChannelBooks, Progress

KEY = ("orders", 0)


def test_a_status_never_shows_a_position_before_its_records_or_records_that_are_still_held_up() -> None:
    nothing: Any = SimpleNamespace(name="")
    books = ChannelBooks("shop", "lake", group=nothing, judge=nothing, office=nothing, journal=nothing)
    books.continue_from({KEY: 0}, None)
    books.ends = {KEY: 10}
    books.progress.holding = Holding(component="sinks.lake", cause="away", attempts=1, since=1.0)
    ranges = [PartitionRange(topic="orders", partition=0, start=0, end=10)]
    counts = Counts(read=10, delivered=10)
    done = Done(source="shop", channel="lake", batch=0, ranges=ranges, counts=counts, sink="lake")
    seen: list[QueryStatus] = []

    def look(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code is ChannelBooks._finish.__code__:
            seen.append(books.status(0, in_flight=True, holding=None))
            return look
        return None

    before = sys.gettrace()
    sys.settrace(look)
    try:
        books._finish(done, {KEY: 10})
    finally:
        sys.settrace(before)
    assert (seen[0].lag, seen[0].delivered, seen[-1].lag, seen[-1].delivered) == (10, 0, 0, 10)
    assert [each for each in seen if each.lag == 0 and each.delivered != 10] == []
    assert [each for each in seen if each.delivered == 10 and each.holding is not None] == []


def test_after_a_silence_records_per_second_count_from_the_batch_that_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("workers.agent.books.time", SimpleNamespace(monotonic=lambda: now[0]))
    progress = Progress()
    for silence in (30.0, 600.0):
        now[0] += silence
        read = progress.counts.read
        for _ in range(4):
            progress.begin()
            now[0] += 0.5
            progress.counts = progress.counts + Counts(read=500, delivered=500)
            progress.recent.append((now[0], progress.counts.read))
        assert (progress.counts.read - read, progress.rate()) == (2000, 1000.0)
