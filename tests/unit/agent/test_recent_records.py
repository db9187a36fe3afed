"""Events that an ingest buffer has let go of and keeps for previews: bounded, closed to others, and in no log."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from pipelines.domain.base.positions import PartitionPosition, TopicPartition
from pipelines.domain.definitions.components.source.http import HttpSource
from workers.agent.components.source.http import Builder
from workers.agent.graph.component import Place
from workers.agent.push import frames, recent
from workers.agent.push import log as logs
from workers.agent.push.event import Event, record_batch
from workers.agent.push.log import IngestBuffer
from workers.agent.push.recent import RecentReader
from workers.agent.ranges.ranges import Slice


@pytest.fixture(autouse=True)
def _small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ten events each."""
    monkeypatch.setattr(logs, "_SEGMENT_BYTES", 1)


class Pushed:
    """A source whose events are appended here, and delivered as the test says."""

    def __init__(self, state: Path, recent_records: int) -> None:
        spec = HttpSource.model_validate({"type": "http", "port": 1, "recent_records": recent_records})
        self.source = Builder(spec, Place("orders", 1, "sources.shop", state))
        self.directory = self.source.directory
        self.log = IngestBuffer(self.directory, spec, durable=True)

    def append(self, events: int) -> None:
        for first in range(self.log.end, self.log.end + events, 10):
            self.log.append(record_batch([Event(b"%d" % number) for number in range(first, first + 10)]))

    def deliver(self, until: int) -> None:
        self.source.acknowledge([PartitionPosition(topic="shop", partition=0, offset=until)])

    def bodies(self, start: int, end: int) -> list[int]:
        reader = RecentReader(json.dumps({"directory": str(self.directory), "topic": "shop"}))
        batches = reader.batches(Slice(TopicPartition("shop", 0), start, end))
        return [int(body) for batch in batches for body in batch.column("value").to_pylist()]

    def kept(self) -> list[str]:
        return sorted(path.name for path in self.directory.glob("*.recent"))


def test_nothing_is_kept_where_nobody_asks_for_it(tmp_path: Path) -> None:
    pushed = Pushed(tmp_path, 0)
    pushed.append(50)
    pushed.deliver(50)
    assert pushed.kept() == []
    assert [first for first, _ in frames.segments(pushed.directory)] == [40]


def test_the_newest_events_stay_for_previews_and_the_log_does_not_know_of_them(tmp_path: Path) -> None:
    pushed = Pushed(tmp_path, 25)
    pushed.append(100)
    pushed.deliver(80)
    assert logs.first(pushed.directory) == 80
    assert pushed.log.fill() == (20, sum(len(str(n)) for n in range(80, 100)))
    assert recent.first(pushed.directory) == 70
    assert pushed.bodies(75, 100) == list(range(75, 100))
    pushed.deliver(100)
    assert pushed.bodies(75, 100) == list(range(75, 100))
    pushed.append(30)
    pushed.deliver(130)
    assert recent.first(pushed.directory) == 100
    assert len(pushed.kept()) == 2
    pushed.log.close()
    again = Pushed(tmp_path, 25)
    assert (again.log.end, again.log.acknowledged, logs.first(again.directory)) == (130, 130, 120)


def test_what_is_kept_is_bounded_in_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pushed = Pushed(tmp_path, 10_000)
    pushed.append(100)
    size = frames.segments(pushed.directory)[0][1].stat().st_size
    monkeypatch.setattr(recent, "MOST_BYTES", 3 * size + size // 2)
    pushed.deliver(100)
    assert len(pushed.kept()) == 3
    assert pushed.bodies(recent.first(pushed.directory), 100) == list(range(60, 100))


def test_files_are_closed_to_other_users(tmp_path: Path) -> None:
    pushed = Pushed(tmp_path, 100)
    pushed.append(50)
    pushed.deliver(50)
    assert pushed.directory.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in pushed.directory.iterdir()} == {0o600}


def test_what_was_kept_goes_when_nobody_asks_for_it_any_more(tmp_path: Path) -> None:
    pushed = Pushed(tmp_path, 100)
    pushed.append(50)
    pushed.deliver(50)
    assert len(pushed.kept()) == 4
    recent.prune(pushed.directory, 0)
    assert pushed.kept() == []


def test_a_segment_that_is_let_go_of_while_it_is_read_is_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushed = Pushed(tmp_path, 100)
    pushed.append(50)

    def listed(directory: Path) -> list[tuple[int, Path]]:
        found = segments(directory)
        pushed.deliver(50)
        return found

    segments = recent.segments
    monkeypatch.setattr(recent, "segments", listed)
    assert pushed.bodies(0, 50) == list(range(50))


def test_no_event_is_missing_between_what_is_kept_and_the_log(tmp_path: Path) -> None:
    pushed = Pushed(tmp_path, 40)
    for delivered in (7, 23, 40, 41, 66, 90):
        pushed.append(20)
        pushed.deliver(min(delivered, pushed.log.end))
        firsts = [first for first, _ in recent.segments(pushed.directory)]
        assert all(after - first == 10 for first, after in pairwise(firsts))
        assert recent.first(pushed.directory) <= max(0, pushed.log.end - 40)
