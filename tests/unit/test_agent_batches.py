"""What a batch leaves behind in the journal, in its sinks and among the dead letters, and in which order."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipelines.domain.journal import DeadLetters, Done, Planned, Positions, Replayed, Resolved, SinkFailed
from pipelines.domain.ledger import Counts
from tests.batch_bench import ALLOWED, FRAME, KEY, TOPIC, Bench, Disk, Letters, Store
from workers.agent.findings import Blocked
from workers.agent.gate import Cancelled, TurnedAway
from workers.agent.sink_processors.failover import Failover

BAD = {"component": "sources.shop", "cause": "no", "topic": TOPIC, "partition": 0, "offset": 3}
ONE_IS_DEAD: Any = SimpleNamespace(
    own=[],
    delivered=lambda *_: SimpleNamespace(select=lambda *_: SimpleNamespace(count=int)),
    dead=lambda _: SimpleNamespace(toLocalIterator=lambda: iter([{**BAD, "key": None, "body": b"", "headers": []}])),
)


class Stage:
    """A bench with one sink, or with two of which the first is tried first."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("workers.agent.batch.Observation", object)
        self.path = path
        self.disk = Disk(path, monkeypatch)
        self.sink, self.other, self.letters = Store(), Store("second"), Letters()

    def bench(self, *, group: bool = False, **kind: Any) -> Bench:
        """A run that begins where nothing has begun."""
        sinks = [self.sink, self.other] if group else [self.sink]
        processor = Failover(["lake", "second"], {"lake": 2, "second": 1}, 30_000, clock=int, wall=float)
        made = Bench(self.disk.journal(), self.path, sinks, self.letters, processor if group else None, **kind)
        made.gate.hold = lambda _: made.gate.check()  # type: ignore[method-assign]
        return made

    def kinds(self) -> list[str]:
        """The journal's entries."""
        return [type(each).__name__ for each in self.disk.entries()]


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(tmp_path, monkeypatch)


def test_a_batch_is_planned_on_disk_before_its_sink_is_touched_and_done_after_its_dead_letters(stage: Stage) -> None:
    seen: dict[str, list[Any]] = {}
    stage.sink.bad = {3}
    stage.sink.asked = lambda: seen.update(sink=stage.disk.synced())
    stage.letters.asked = lambda: seen.update(letters=stage.disk.entries(), delivered=[*stage.sink.records])
    stage.bench().run(0, 5)
    planned, kept, done = stage.disk.synced()
    assert (seen["sink"], seen["letters"]) == ([planned], [planned])
    assert seen["delivered"] == stage.sink.records == [0, 1, 2, 4]
    assert isinstance(kept, DeadLetters)
    assert [(letter.offset, letter.location) for letter in kept.letters] == [(3, "at 3")]
    assert (done.ranges, done.counts) == (planned.ranges, Counts(read=5, delivered=4, dead_lettered=1))


def test_a_batch_whose_dead_letters_cannot_be_kept_is_not_done(stage: Stage) -> None:
    def away() -> None:
        raise ConnectionError("nowhere to keep them")

    stage.sink.bad, stage.letters.asked = {3}, away
    bench = stage.bench()
    with pytest.raises(ConnectionError):
        bench.run(0, 5)
    assert stage.kinds() == ["Planned"]
    assert (bench.books.done_batch, bench.books.positions) == (-1, {KEY: 0})


def test_an_optional_channel_that_drops_a_batch_keeps_its_dead_letters_all_the_same(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.agent.batch._values", lambda _: {"read": 5, "delivered": 4, "dead_lettered": 1})
    seen: list[list[str]] = []
    stage.letters.asked = lambda: seen.append(stage.kinds())
    bench = stage.bench(optional=True, judge=SimpleNamespace(judgement=lambda *_: ONE_IS_DEAD))
    bench.books.give_up()
    bench.run(0, 5)
    (done,) = stage.disk.of_kind(Done)
    assert (done.sink, done.counts) == ("", Counts(read=5, dead_lettered=1, dropped_optional=4))
    assert (seen, stage.letters.kept, stage.sink.records) == ([["Planned"]], [3], [])


@pytest.mark.parametrize(("bad", "blocked"), [(ALLOWED, False), (ALLOWED + 1, True)])
def test_more_dead_letters_than_allowed_block_the_batch_and_are_not_kept(stage: Stage, bad: int, blocked: bool) -> None:
    stage.sink.bad = set(range(bad))
    bench = stage.bench()
    if blocked:
        with pytest.raises(Blocked) as raised:
            bench.run(0, bad + 5)
        assert (raised.value.finding.code, raised.value.finding.path) == ("TOO_MANY_DEAD_LETTERS", "sinks.lake")
    else:
        bench.run(0, bad + 5)
    assert (len(stage.letters.kept), len(stage.disk.of_kind(Done))) == ((0, 0) if blocked else (bad, 1))


def test_each_batch_begins_where_the_one_before_ended(stage: Stage) -> None:
    bench = stage.bench()
    for number, end in enumerate((5, 9, 12)):
        bench.run(number, end)
        bench.commit(number)
    found = [(item.start, item.end) for done in stage.disk.of_kind(Done) for item in done.ranges]
    assert found == [(0, 5), (5, 9), (9, 12)]
    assert bench.books.positions == {KEY: 12}
    assert stage.sink.records == list(range(12))


def test_a_batch_that_spark_runs_again_is_noted_and_not_delivered(stage: Stage) -> None:
    bench = stage.bench()
    bench.run(0, 5)
    bench.run(0, 5)
    assert stage.kinds() == ["Planned", "Done", "Replayed"]
    assert stage.disk.of_kind(Replayed) == [Replayed(source="shop", channel="lake", batch=0)]
    assert (stage.sink.records, bench.books.positions) == ([0, 1, 2, 3, 4], {KEY: 5})


def test_a_partition_that_was_added_is_in_the_journal_before_the_batch_that_reads_it(stage: Stage) -> None:
    stage.bench().run(0, 5, 3)
    added, planned, _ = stage.disk.entries()
    assert isinstance(added, Positions)
    assert [(change.partition, change.new) for change in added.changes] == [(1, 0)]
    assert [(item.partition, item.start, item.end) for item in planned.ranges] == [(0, 0, 5), (1, 0, 3)]


def test_a_failed_attempt_is_told_and_what_it_left_is_counted(stage: Stage) -> None:
    stage.sink.failing = 2
    bench = stage.bench()
    told: list[str] = []
    bench.books.on_change = lambda: told.append(bench.books.progress.holding.cause)  # type: ignore[union-attr]
    bench.run(0, 6)
    assert stage.kinds() == ["Planned", "SinkFailed", "SinkFailed", "Done"]
    assert [each.attempt for each in stage.disk.of_kind(SinkFailed)] == [1, 2]
    (done,) = stage.disk.of_kind(Done)
    assert (done.attempts, done.duplicates_max) == (3, 6), "twice half of the batch"
    assert told == ["lake is away"] * 2
    assert bench.books.progress.holding is None


def test_copies_in_every_member_of_a_group_are_counted(stage: Stage) -> None:
    stage.sink.failing = 1
    bench = stage.bench(group=True)
    bench.run(0, 6)
    (done,) = stage.disk.of_kind(Done)
    assert (done.sink, done.duplicates_max) == ("second", 3)
    assert (stage.sink.records, stage.other.records) == ([0, 1, 2], [0, 1, 2, 3, 4, 5])


def test_of_a_sink_that_cannot_be_asked_the_whole_batch_is_announced(stage: Stage) -> None:
    stage.sink.failing, stage.sink.silent = 1, True
    bench = stage.bench(group=True)
    bench.run(0, 6)
    assert [done.duplicates_max for done in stage.disk.of_kind(Done)] == [6]


def test_a_batch_that_was_open_is_resolved_on_disk_and_its_copies_are_counted_with_those_of_its_next_attempt(
    stage: Stage,
) -> None:
    before = stage.bench()
    stage.sink.failing = 1
    before.gate.stop(cancel=True)
    with pytest.raises(Cancelled):
        before.books.deliver(FRAME, 0, {KEY: 6})
    (planned,) = stage.disk.of_kind(Planned)
    bench = stage.bench()
    bench.books.resolve(planned)
    assert stage.disk.synced()[-1] == Resolved(source="shop", channel="lake", batch=0, delivered_before=3)
    stage.sink.failing = 1
    bench.run(0, 6)
    bench.run(1, 8)
    assert [each.sink_ends for each in stage.disk.of_kind(Planned)[:2]] == [planned.sink_ends] * 2
    assert [done.duplicates_max for done in stage.disk.of_kind(Done)] == [6, 0]
    assert len(stage.sink.records) == 8 + 6


def test_a_stop_that_gives_the_batch_up_is_no_failure_of_its_sink(stage: Stage) -> None:
    bench = stage.bench()
    stage.sink.failing = 1
    stage.sink.asked = lambda: bench.gate.stop(cancel=True)
    with pytest.raises(Cancelled):
        bench.run(0, 6)
    assert stage.kinds() == ["Planned"]
    assert (bench.query.failure, bench.gate.inside) == (None, frozenset())


def test_a_stopped_gate_turns_a_batch_away_before_anything_of_it_is_written(stage: Stage) -> None:
    bench = stage.bench()
    bench.gate.stop(cancel=False)
    with pytest.raises(TurnedAway):
        bench.run(0, 6)
    assert (stage.disk.entries(), stage.sink.records) == ([], [])


def test_a_batch_that_the_guard_blocks_is_not_planned(stage: Stage) -> None:
    bench = stage.bench()

    def blocked() -> None:
        raise ConnectionError("another topic")

    bench.query.before_batch = blocked
    with pytest.raises(ConnectionError):
        bench.run(0, 6)
    assert (stage.disk.entries(), stage.sink.records, bench.gate.inside) == ([], [], frozenset())
    assert isinstance(bench.query.failure, ConnectionError)


def test_a_batch_is_over_when_its_commit_is_on_disk(stage: Stage) -> None:
    bench = stage.bench()
    assert bench.query.settled
    stage.sink.asked = lambda: seen.append(bench.query.settled)
    seen: list[bool] = []
    bench.run(0, 5)
    assert seen == [False]
    assert not bench.query.settled
    bench.commit(0)
    assert bench.query.settled
