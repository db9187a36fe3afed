"""Attempts to deliver a batch: which failures are told, held or raised, and how many copies they may leave."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]

from pipelines.domain.ledger.journal import Done, Planned, Resolved, SinkFailed, SinkPosition
from pipelines.domain.ledger.ledger import Counts
from pipelines.domain.ledger.sink_groups import Pools
from pipelines.domain.runs.protocol import AgentFinding, Holding
from tests.batch_bench import InTurn, Stage, Store, offsets_of
from workers.agent.base.findings import Blocked, Refused, blocking_text
from workers.agent.delivery.deduplication import Policy
from workers.agent.delivery.delivery import SourceLost
from workers.agent.delivery.gate import Cancelled
from workers.agent.graph.batch import Attempt
from workers.agent.graph.component import Look, Resolution, Unverifiable
from workers.agent.spark.deadline import DeadlineExceeded, SlotsLost


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(tmp_path, monkeypatch)


def test_a_failed_attempt_is_told_and_held_and_what_it_left_is_counted(stage: Stage) -> None:
    stage.sink.failing, stage.sink.bad = 2, {5}
    bench = stage.bench()
    reported: list[Holding | None] = []
    bench.ledger.on_change = lambda: reported.append(bench.ledger.progress.holding)
    bench.run(0, 6)
    assert stage.kinds() == ["Planned", "SinkFailed", "SinkFailed", "DeadLetters", "Done"]
    assert [each.attempt for each in stage.disk.of_kind(SinkFailed)] == [1, 2]
    (done,) = stage.disk.of_kind(Done)
    assert (done.attempts, done.duplicates_max) == (3, 4), "twice two records of five"
    assert [each.cause for each in reported if each] == ["lake is away"] * 2
    assert len({each.since for each in reported if each}) == 1, "since the first attempt"
    assert len(stage.held) == 2
    assert bench.ledger.progress.holding is None


def test_a_sink_that_failed_is_asked_whether_it_is_there_before_it_is_given_anything(stage: Stage) -> None:
    writes: list[int] = []
    stage.sink.failing, stage.sink.unreachable = 1, 3
    stage.sink.asked = lambda: writes.append(len(stage.held))
    bench = stage.bench()
    bench.run(0, 6)
    bench.run(1, 12)
    assert writes == [0, 4, 4], "three attempts ended before a write; afterwards it is not asked any more"
    assert [each.attempt for each in stage.disk.of_kind(SinkFailed)] == [1, 2, 3, 4]
    assert [done.duplicates_max for done in stage.disk.of_kind(Done)] == [3, 0]


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
    monkeypatch.setattr("workers.agent.delivery.delivery.check_slots", lambda _, share, __: asked.append(share))
    stage.sink.failing, stage.sink.failure = 1, DeadlineExceeded("too late")
    bench = stage.bench(group=group)
    bench.run(0, 6)
    bench.run(1, 8)
    assert [done.duplicates_max for done in stage.disk.of_kind(Done)] == [6, 0]
    assert len(asked) >= 1, "whether it still holds slots"


def test_tasks_that_a_cluster_ran_again_are_counted_in_the_sink(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.agent.spark.repeats.count", lambda *_: 1)
    stage.sink.asked = lambda: stage.sink.records.extend([0, 1])
    stage.bench().run(0, 6)
    assert [done.duplicates_max for done in stage.disk.of_kind(Done)] == [2]


def test_copies_of_a_run_before_are_counted_in_a_sink_that_this_run_does_not_use(stage: Stage) -> None:
    planned = stage.left_open(group=True)
    stage.other.failing, bench = 1, stage.bench(group=True)
    bench.group.processor = InTurn("second")
    bench.ledger.resolve(planned)
    bench.run(0, 6)
    assert [done.duplicates_max for done in stage.disk.of_kind(Done)] == [3 + 3]


@pytest.mark.parametrize(("group", "duplicates"), [(False, 0), (True, 6)])
def test_a_batch_that_its_only_sink_has_committed_is_not_announced_as_copies(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, group: bool, duplicates: int
) -> None:
    planned, bench = stage.left_open(group=group), stage.bench(group=group)
    monkeypatch.setattr(stage.sink, "resolve", lambda _: Resolution(6, committed=True))
    bench.ledger.resolve(planned)
    stage.sink.failing = 0
    bench.run(0, 6)
    assert [done.duplicates_max for done in stage.disk.of_kind(Done)] == [duplicates]


def test_a_sink_that_cannot_be_asked_after_a_crash_may_hold_the_whole_batch(stage: Stage) -> None:
    planned, bench = stage.left_open(), stage.bench()
    stage.sink.silent = True
    bench.ledger.resolve(planned)
    assert stage.disk.of_kind(Resolved)[-1].model_dump(exclude={"source", "channel", "batch"}) == {
        "delivered_before": 6,
        "complete": False,
        "left_out": False,
        "cause": "",
    }
    with pytest.raises(Refused) as raised:
        bench.ledger.resolve(planned.model_copy(update={"open_ended": True}))
    (finding,) = raised.value.findings
    assert (finding.code, finding.retryable) == ("SINK_TAIL_UNREADABLE", True)


def test_the_ends_of_sinks_are_at_most_a_second_old_and_of_a_group_those_that_are_live(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    clock = SimpleNamespace(monotonic=lambda: now[0], time=lambda: now[0])
    monkeypatch.setattr("workers.agent.delivery.ledger.time", clock)
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
    monkeypatch.setattr("workers.agent.base.at_work.ended_inside", lambda: ["interceptors.x"])
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
    bench.ledger.resolve(planned)
    assert stage.disk.synced()[-1] == Resolved(source="shop", channel="lake", batch=0, delivered_before=3)
    stage.sink.failing = 1
    bench.run(0, 6)
    bench.run(1, 8)
    assert [each.sink_ends for each in stage.disk.of_kind(Planned)[:2]] == [planned.sink_ends] * 2
    assert [done.duplicates_max for done in stage.disk.of_kind(Done)] == [6, 0]
    assert len(stage.sink.records) == 8 + 6


class Splitting(Store):
    """A sink of which nobody knows what it holds; each record is three events."""

    def write(self, attempt: Attempt) -> Counts:
        if self.failing:
            return super().write(attempt)
        self.asked()
        offsets = offsets_of(attempt.planned)
        self.records += 3 * offsets
        attempt.already(Counts(read=len(offsets), added=2 * len(offsets), delivered=3 * len(offsets)))
        return attempt.counts

    def look(self, planned: Planned, spark: Any, since: Any, told: Any) -> Look:
        raise Unverifiable("records were deleted")

    def resolve(self, planned: Planned) -> Resolution:
        return Resolution(planned.bound, complete=False)


def test_a_member_that_comes_back_within_a_batch_is_in_the_journal_before_it_is_given_any_of_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.sink = Splitting()
    bench = stage.bench(group=True, deduplicates=Policy(None))
    monkeypatch.setattr(bench.group.processor, "pools", lambda: Pools(live=["second"], failed=[]))
    noted: list[Any] = []
    stage.sink.asked = lambda: noted.append(stage.disk.synced()[-1].sink_ends["lake"])
    bench.run(0, 6)
    assert stage.disk.of_kind(Planned)[0].sink_ends["lake"] == []
    assert noted == [[SinkPosition(topic="out", partition=0, offset=0)]]
    assert [done.duplicates_max for done in stage.disk.of_kind(Done)] == [0]


def test_the_bound_of_what_nobody_knows_counts_every_event_of_a_record(stage: Stage) -> None:
    stage.sink = Splitting()
    planned, bench = stage.left_open(), stage.bench(deduplicates=Policy(None))
    bench.ledger.resolve(planned.attempted(2))
    bench.run(0, 6)
    assert [done.duplicates_max for done in stage.disk.of_kind(Done)] == [2 * 18]


def test_a_stop_that_gives_the_batch_up_is_no_failure_of_its_sink(stage: Stage) -> None:
    bench = stage.bench()
    stage.sink.failing = 1
    stage.sink.asked = lambda: bench.gate.stop(cancel=True)
    with pytest.raises(Cancelled):
        bench.run(0, 6)
    assert stage.kinds() == ["Planned"]
    assert (bench.query.failure, bench.gate.inside) == (None, frozenset())
