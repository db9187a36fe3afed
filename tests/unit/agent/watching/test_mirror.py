"""Beside the records: what lag tools are shown, and when a source counts as away."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.runs.protocol import Holding
from tests.batch_bench import KEY, TOPIC, Bench, DeadLetterStore, Disk, Store
from workers.agent.positions.checkpoint import Offsets, as_offsets
from workers.agent.watching.mirror import Mirror, SourceWatch

OTHER = TopicPartition(TOPIC, 1)
HOUR = 3600.0


class Source:
    """As much of a source as is looked at; `away`: so many questions are not answered."""

    def __init__(self) -> None:
        self.place = SimpleNamespace(path="sources.shop")
        self.shown: list[Offsets] = []
        self.held: list[tuple[str, str, str]] = []
        self.away = 0

    def _answer(self) -> None:
        if self.away:
            self.away -= 1
            raise ConnectionError("away")

    def acknowledge(self, positions: list[Any]) -> None:
        self._answer()
        self.shown.append(as_offsets(positions))

    def held_up(self, *what: str) -> None:
        self.held.append(what)  # type: ignore[arg-type]

    def ingest_buffer(self) -> None:
        return None

    def ends(self, partitions: list[TopicPartition]) -> Offsets:
        self._answer()
        return dict.fromkeys(partitions, 9)


class Stage:
    """Two channels of one source, with a clock that only the test moves."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, made = 1000.0, Disk(path, monkeypatch)
        self.benches = [Bench(made.journal(), path, [Store()], DeadLetterStore()) for _ in range(2)]
        self.fast, self.slow = (bench.ledger for bench in self.benches)
        self.source: Any = Source()
        clock = SimpleNamespace(monotonic=lambda: self.now, time=lambda: self.now)
        for module in ("mirror", "absence"):
            monkeypatch.setattr(f"workers.agent.watching.{module}.time", clock)
        self.mirror = Mirror(self.source, [self.fast, self.slow])  # type: ignore[arg-type]


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(tmp_path, monkeypatch)


def test_lag_tools_see_where_the_slowest_channel_is_and_only_what_has_moved(stage: Stage) -> None:
    stage.fast.positions, stage.slow.positions = {KEY: 9, OTHER: 4}, {KEY: 5, OTHER: 6}
    stage.mirror.commit()
    stage.mirror.commit()
    stage.slow.positions = {KEY: 7, OTHER: 6}
    stage.mirror.commit()
    assert stage.source.shown == [{KEY: 5, OTHER: 4}, {KEY: 7}]
    assert stage.mirror.written == {KEY: 7, OTHER: 4}


def test_what_could_not_be_written_is_written_the_next_time(stage: Stage) -> None:
    stage.fast.positions = stage.slow.positions = {KEY: 5}
    stage.source.away = 1
    stage.mirror.commit()
    assert (stage.source.shown, stage.mirror.written) == ([], {})
    stage.mirror.commit()
    assert (stage.source.shown, stage.mirror.written) == ([{KEY: 5}], {KEY: 5})


def test_everything_is_written_again_once_in_an_hour_and_when_it_was_forgotten(stage: Stage) -> None:
    stage.fast.positions = stage.slow.positions = {KEY: 5}
    stage.mirror.commit()
    for after, times in ((HOUR - 1, 1), (1, 2), (1, 2), (HOUR - 1, 3)):
        stage.now += after
        stage.mirror.commit()
        assert len(stage.source.shown) == times
    stage.mirror.forget(since=stage.mirror.rounds)
    stage.mirror.commit()
    stage.mirror.commit()
    assert len(stage.source.shown) == 4


def test_the_channel_that_is_behind_is_named_with_what_holds_it(stage: Stage) -> None:
    stage.fast.positions = stage.slow.positions = {KEY: 5}
    stage.fast.ends = stage.slow.ends = {KEY: 5}
    stage.mirror.commit()
    stage.slow.positions, stage.slow.channel = {KEY: 3}, "slow"
    stage.mirror.commit()
    stage.slow.progress.holding = Holding(component="sinks.lake", cause="away", attempts=1, since=1.0)
    stage.mirror.commit()
    assert stage.source.held == [("", "", ""), ("slow", "", ""), ("slow", "sinks.lake", "away")]


def test_a_source_is_away_after_two_looks_in_a_row_that_fail_and_back_after_one_that_does_not(stage: Stage) -> None:
    (query, _) = (bench.query for bench in stage.benches)
    watch = SourceWatch(stage.source, [query])
    for failures in (1, 1):
        stage.source.away = failures
        for _ in range(failures):
            watch.check()
            assert query.source_away is None
            assert watch.absence.pause < 1, "a look that hung says little, and the next one may hang as long"
        watch.check()
    stage.source.away = 4
    for number in range(4):
        stage.now += 1
        watch.check()
        assert (query.source_away is not None) == (number >= 1)
    assert query.source_away is not None
    assert (query.source_away.attempts, query.source_away.since) == (4, stage.now - 3)
    watch.check()
    assert (query.source_away, stage.fast.ends, stage.fast.moving) == (None, {KEY: 9}, False)  # type: ignore[comparison-overlap]
