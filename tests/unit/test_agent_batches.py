"""What a batch leaves behind in the journal, in its sinks and among the dead letters, and in which order."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]

from pipelines.domain.journal import DeadLetters, Done, Planned, Positions, Replayed, Resolved, SinkFailed
from pipelines.domain.ledger import Counts
from pipelines.domain.protocol import AgentFinding, Holding
from tests.batch_bench import ALLOWED, FRAME, KEY, TOPIC, Bench, Disk, InTurn, Letters, Store
from workers.agent.batch import Attempt
from workers.agent.component import Resolution
from workers.agent.deadline import DeadlineExceeded, SlotsLost
from workers.agent.delivery import SourceLost
from workers.agent.findings import Blocked, Refused, blocking_text
from workers.agent.gate import Cancelled, TurnedAway

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
        self.held: list[float] = []

    def bench(self, *, group: bool = False, **kind: Any) -> Bench:
        """A run that begins where nothing has begun."""
        sinks = [self.sink, self.other] if group else [self.sink]
        processor = InTurn("lake", "second") if group else None
        made = Bench(self.disk.journal(), self.path, sinks, self.letters, processor, **kind)

        def hold(seconds: float) -> None:
            self.held.append(seconds)
            made.gate.check()

        made.gate.hold = hold  # type: ignore[method-assign]
        return made

    def left_open(self, **kind: Any) -> Planned:
        """A run gives its first batch up after half of it was written."""
        bench = self.bench(**kind)
        self.sink.failing = 1
        bench.gate.stop(cancel=True)
        with pytest.raises(Cancelled):
            bench.books.deliver(FRAME, 0, {KEY: 6})
        (planned,) = self.disk.of_kind(Planned)
        return planned

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


@pytest.mark.parametrize("verdict", ["dead_lettered", "unrouted"])
@pytest.mark.parametrize("given_up", [True, False])
def test_an_optional_channel_drops_a_batch_after_one_round_and_keeps_its_dead_letters_all_the_same(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, verdict: str, given_up: bool
) -> None:
    monkeypatch.setattr("workers.agent.batch._values", lambda _: {"read": 5, "delivered": 4, verdict: 1})
    seen: list[list[str]] = []
    stage.sink.failing = 1
    stage.letters.asked = lambda: seen.append(stage.kinds())
    bench = stage.bench(optional=True, judge=SimpleNamespace(judgement=lambda *_: ONE_IS_DEAD))
    if given_up:
        bench.books.give_up()
    bench.run(0, 5)
    (done,) = stage.disk.of_kind(Done)
    assert (done.sink, done.counts) == ("", Counts(read=5, dropped_optional=4, **{verdict: 1}))
    assert (seen, stage.letters.kept) == ([["Planned"] if given_up else ["Planned", "SinkFailed"]], [3])
    assert (stage.sink.failing, stage.held) == (int(given_up), [])


def test_events_that_a_source_let_go_of_are_counted_as_dropped(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(attempt: Attempt) -> Counts:
        attempt.already(Counts(read=7, delivered=7))
        return attempt.counts

    monkeypatch.setattr(stage.sink, "write", write)
    stage.bench(overrun=True).run(0, 10)
    assert [done.counts for done in stage.disk.of_kind(Done)] == [Counts(read=10, delivered=7, dropped_optional=3)]


def test_nothing_to_read_is_progress_only_while_nothing_is_in_hand(stage: Stage) -> None:
    bench = stage.bench().books
    for ends, resting in (({KEY: 0}, False), ({KEY: 1}, True)):
        bench.saw_ends(ends, resting=resting)
        assert not bench.moving
    bench.saw_ends({KEY: 0}, resting=True)
    assert bench.moving


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
    listed = sum(len(each.letters) for each in stage.disk.of_kind(DeadLetters))
    done = len(stage.disk.of_kind(Done))
    assert (len(stage.letters.kept), listed, done) == ((0, 0, 0) if blocked else (bad, bad, 1))


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


def test_a_failed_attempt_is_told_and_held_and_what_it_left_is_counted(stage: Stage) -> None:
    stage.sink.failing, stage.sink.bad = 2, {5}
    bench = stage.bench()
    told: list[Holding | None] = []
    bench.books.on_change = lambda: told.append(bench.books.progress.holding)
    bench.run(0, 6)
    assert stage.kinds() == ["Planned", "SinkFailed", "SinkFailed", "DeadLetters", "Done"]
    assert [each.attempt for each in stage.disk.of_kind(SinkFailed)] == [1, 2]
    (done,) = stage.disk.of_kind(Done)
    assert (done.attempts, done.duplicates_max) == (3, 4), "twice two records of five"
    assert [each.cause for each in told if each] == ["lake is away"] * 2
    assert len({each.since for each in told if each}) == 1, "since the first attempt"
    assert len(stage.held) == 2
    assert bench.books.progress.holding is None


def test_copies_in_every_member_of_a_group_are_counted(stage: Stage) -> None:
    stage.sink.failing = 1
    bench = stage.bench(group=True)
    bench.run(0, 6)
    (done,) = stage.disk.of_kind(Done)
    assert (done.sink, done.duplicates_max) == ("second", 3)
    assert (stage.sink.records, stage.other.records) == ([0, 1, 2], [0, 1, 2, 3, 4, 5])


def test_of_a_sink_that_cannot_be_asked_the_whole_batch_is_announced_for_each_attempt(stage: Stage) -> None:
    stage.sink.failing, stage.sink.silent = 2, True
    stage.bench().run(0, 6)
    stage.other.failing, stage.sink.failing = 1, 2
    stage.bench(group=True).run(1, 6)
    assert [done.duplicates_max for done in stage.disk.of_kind(Done)] == [12, 12 + 3]


@pytest.mark.parametrize("group", [False, True])
def test_a_write_that_was_abandoned_may_put_all_of_its_batch_there_yet(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, group: bool
) -> None:
    asked: list[int] = []
    monkeypatch.setattr("workers.agent.delivery.check_slots", lambda _, share, __: asked.append(share))
    stage.sink.failing, stage.sink.failure = 1, DeadlineExceeded("too late")
    bench = stage.bench(group=group)
    bench.run(0, 6)
    bench.run(1, 8)
    assert [done.duplicates_max for done in stage.disk.of_kind(Done)] == [6, 0]
    assert len(asked) >= 1, "whether it still holds slots"


def test_tasks_that_a_cluster_ran_again_are_counted_in_the_sink(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.agent.delivery.repeats", lambda *_: 1)
    stage.sink.asked = lambda: stage.sink.records.extend([0, 1])
    stage.bench().run(0, 6)
    assert [done.duplicates_max for done in stage.disk.of_kind(Done)] == [2]


def test_copies_of_a_run_before_are_counted_in_a_sink_that_this_run_does_not_use(stage: Stage) -> None:
    planned = stage.left_open(group=True)
    stage.other.failing, bench = 1, stage.bench(group=True)
    bench.group.processor = InTurn("second")
    bench.books.resolve(planned)
    bench.run(0, 6)
    assert [done.duplicates_max for done in stage.disk.of_kind(Done)] == [3 + 3]


@pytest.mark.parametrize(("group", "duplicates"), [(False, 0), (True, 6)])
def test_a_batch_that_its_only_sink_has_committed_is_not_announced_as_copies(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, group: bool, duplicates: int
) -> None:
    planned, bench = stage.left_open(group=group), stage.bench(group=group)
    monkeypatch.setattr(stage.sink, "resolve", lambda _: Resolution(6, committed=True))
    bench.books.resolve(planned)
    stage.sink.failing = 0
    bench.run(0, 6)
    assert [done.duplicates_max for done in stage.disk.of_kind(Done)] == [duplicates]


def test_a_sink_that_cannot_be_asked_after_a_crash_may_hold_the_whole_batch(stage: Stage) -> None:
    planned, bench = stage.left_open(), stage.bench()
    stage.sink.silent = True
    bench.books.resolve(planned)
    assert stage.disk.of_kind(Resolved)[-1].model_dump(exclude={"source", "channel", "batch"}) == {
        "delivered_before": 6, "complete": False,
    }  # fmt: skip
    with pytest.raises(Refused) as raised:
        bench.books.resolve(planned.model_copy(update={"open_ended": True}))
    (finding,) = raised.value.findings
    assert (finding.code, finding.retryable) == ("SINK_TAIL_UNREADABLE", True)


def test_the_ends_of_sinks_are_at_most_a_second_old_and_of_a_group_those_that_are_live(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    clock = SimpleNamespace(monotonic=lambda: now[0], time=lambda: now[0])
    monkeypatch.setattr("workers.agent.books.time", clock)
    bench = stage.bench(group=True)
    for number, after in enumerate((0.0, 0.9, 0.2)):
        now[0] += after
        bench.group.processor = InTurn("lake") if number == 2 else InTurn("lake", "second")
        bench.run(number, 5 * (number + 1))
    ends = [{sink: at.offset for sink, (at,) in each.sink_ends.items()} for each in stage.disk.of_kind(Planned)]
    assert ends == [{"lake": 0, "second": 0}, {"lake": 0, "second": 0}, {"lake": 10}]


BLOCKING = AgentFinding(path="interceptors.x", code="INTERCEPTOR_FAILED", message="no")


@pytest.mark.parametrize(
    ("failure", "raised"),
    [
        (Blocked(BLOCKING), Blocked),
        (RuntimeError(f"Task failed: {blocking_text('interceptors.x', 'INTERCEPTOR_FAILED', 'no')} at y"), Blocked),
        (RuntimeError("org.apache.spark.SparkException: KAFKA_DATA_LOSS"), SourceLost),
        (Py4JNetworkError("the JVM is gone"), Py4JNetworkError),
        (SlotsLost("they hang"), SlotsLost),
    ],
    ids=["blocked", "blocked in a task", "source lost", "JVM gone", "slots lost"],
)
def test_what_no_attempt_can_change_is_not_tried_again_and_no_failure_of_the_sink(
    stage: Stage, failure: Exception, raised: type[Exception]
) -> None:
    stage.sink.failing, stage.sink.failure = 1, failure
    with pytest.raises(raised):
        stage.bench().run(0, 6)
    assert stage.kinds() == ["Planned"]


def test_a_component_that_ends_its_worker_three_times_blocks_the_batch(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.agent.at_work.ended_inside", lambda: ["interceptors.x"])
    stage.sink.failing = 5
    with pytest.raises(Blocked) as raised:
        stage.bench().run(0, 6)
    assert raised.value.finding.path == "interceptors.x"
    assert (stage.sink.failing, len(stage.disk.of_kind(SinkFailed))) == (2, 2)


def test_a_sink_that_was_away_at_the_start_is_made_ready_before_its_first_batch_and_once(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    monkeypatch.setattr(stage.sink, "probe", lambda: steps.append("probe"))
    monkeypatch.setattr(stage.sink, "initialise", lambda _: steps.append("initialise"))
    stage.sink.asked = lambda: steps.append(f"write {bench.group.writing.sink}")  # type: ignore[union-attr]
    bench = stage.bench()
    bench.group.unready = {"lake"}
    bench.run(0, 5)
    bench.run(1, 6)
    assert steps == ["probe", "initialise", "write lake", "write lake"]
    assert bench.group.writing is None


def test_a_batch_that_was_open_is_resolved_on_disk_and_its_copies_are_counted_with_those_of_its_next_attempt(
    stage: Stage,
) -> None:
    planned, bench = stage.left_open(), stage.bench()
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
