"""What a batch leaves behind in the journal, in its sinks and among the dead letters, and in which order."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipelines.domain.ledger.journal import DeadLetters, Done, Planned, Positions, Replayed
from pipelines.domain.ledger.ledger import Counts
from pipelines.domain.runs.crashes import QUARANTINE
from tests.batch_bench import ALLOWED, CLASSIFIER, KEY, TOPIC, Stage
from workers.agent.base.findings import Blocked
from workers.agent.delivery.dead_letters import DeadLetterQueue
from workers.agent.delivery.gate import TurnedAway
from workers.agent.graph.batch import Attempt, Refusal

BAD = {"component": "sources.shop", "cause": "no", "topic": TOPIC, "partition": 0, "offset": 3}
ONE_IS_DEAD: Any = SimpleNamespace(
    own=[],
    delivered=lambda *_: SimpleNamespace(select=lambda *_: SimpleNamespace(count=int)),
    dead=lambda _: SimpleNamespace(toLocalIterator=lambda: iter([{**BAD, "key": None, "body": b"", "headers": []}])),
)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(tmp_path, monkeypatch)


def test_a_batch_is_planned_on_disk_before_its_sink_is_touched_and_done_after_its_dead_letters(stage: Stage) -> None:
    seen: dict[str, list[Any]] = {}
    stage.sink.bad = {3}
    stage.sink.asked = lambda: seen.update(sink=stage.disk.synced())
    stage.dead_letters.asked = lambda: seen.update(dead_letters=stage.disk.entries(), delivered=[*stage.sink.records])
    stage.bench().run(0, 5)
    planned, kept, done = stage.disk.synced()
    assert (seen["sink"], seen["dead_letters"]) == ([planned], [planned])
    assert seen["delivered"] == stage.sink.records == [0, 1, 2, 4]
    assert isinstance(kept, DeadLetters)
    assert [(dead_letter.offset, dead_letter.location) for dead_letter in kept.dead_letters] == [(3, "at 3")]
    refused = {"sinks.lake": {"dead_lettered": 1}}
    assert done.ranges == planned.ranges
    assert done.counts == Counts(read=5, delivered=4, dead_lettered=1, components=refused)


def test_a_batch_whose_dead_letters_cannot_be_kept_is_not_done(stage: Stage) -> None:
    def away() -> None:
        raise ConnectionError("nowhere to keep them")

    stage.sink.bad, stage.dead_letters.asked = {3}, away
    bench = stage.bench()
    with pytest.raises(ConnectionError):
        bench.run(0, 5)
    assert stage.kinds() == ["Planned"]
    assert (bench.ledger.done_batch, bench.ledger.positions) == (-1, {KEY: 0})


@pytest.mark.parametrize("verdict", ["dead_lettered", "unrouted"])
@pytest.mark.parametrize("abandoned", [True, False])
def test_an_optional_channel_drops_a_batch_after_one_round_and_keeps_its_dead_letters_all_the_same(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, verdict: str, abandoned: bool
) -> None:
    values = {"read": 5, "delivered": 4, f"{verdict}@sources.shop": 1}
    monkeypatch.setattr("workers.agent.graph.batch._values", lambda _: values)
    seen: list[list[str]] = []
    stage.sink.failing = 1
    stage.dead_letters.asked = lambda: seen.append(stage.kinds())
    bench = stage.bench(optional=True, classifier=SimpleNamespace(classification=lambda *_: ONE_IS_DEAD))
    if abandoned:
        bench.ledger.abort()
    bench.run(0, 5)
    (done,) = stage.disk.of_kind(Done)
    parts = {"sources.shop": {verdict: 1}}
    assert (done.sink, done.counts) == ("", Counts(read=5, dropped_optional=4, components=parts, **{verdict: 1}))
    assert (seen, stage.dead_letters.kept) == ([["Planned"] if abandoned else ["Planned", "SinkFailed"]], [3])
    assert (stage.sink.failing, stage.held) == (int(abandoned), [])


class Looked:
    """A look at whether a channel is required for an event of the batch."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, required: bool) -> None:
        self.times, self._required = 0, required
        self.kind: dict[str, Any] = {"sometimes_optional": True, "classifier": self}
        self.classification = lambda *_: ONE_IS_DEAD if not required else CLASSIFIER.classification(*_)
        monkeypatch.setattr("workers.agent.graph.batch._values", lambda _: {"read": 5, "delivered": 5})

    def must_arrive(self, _frame: Any) -> bool:
        self.times += 1
        return self._required


def test_a_batch_without_an_event_that_must_arrive_is_dropped_after_one_round(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = Looked(monkeypatch, required=False)
    stage.sink.failing = 1
    stage.bench(**looked.kind).run(0, 5)
    (done,) = stage.disk.of_kind(Done)
    assert (done.sink, done.counts) == ("", Counts(read=5, dropped_optional=5))
    assert (looked.times, stage.kinds(), stage.held) == (1, ["Planned", "SinkFailed", "Done"], [])


def test_a_batch_with_an_event_that_must_arrive_is_held_and_brings_all_of_its_events(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = Looked(monkeypatch, required=True)
    stage.sink.failing = 3
    stage.bench(**looked.kind).run(0, 5)
    (done,) = stage.disk.of_kind(Done)
    assert (done.attempts, done.counts) == (4, Counts(read=5, delivered=5))
    assert (looked.times, stage.sink.records[-5:]) == (1, [*range(5)])


def test_nobody_looks_at_a_batch_that_its_sink_takes(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = Looked(monkeypatch, required=True)
    bench = stage.bench(**looked.kind)
    bench.run(0, 5)
    bench.run(1, 10)
    assert (looked.times, stage.sink.records) == (0, [*range(10)])


@pytest.mark.parametrize("required", [True, False])
def test_a_channel_that_was_left_alone_still_takes_what_must_arrive(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, required: bool
) -> None:
    bench = stage.bench(**Looked(monkeypatch, required).kind)
    bench.ledger.abort()
    bench.run(0, 5)
    assert stage.sink.records == ([*range(5)] if required else [])


def test_a_batch_that_cannot_be_looked_at_is_held(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = Looked(monkeypatch, required=True)

    def fails(_: Any) -> bool:
        raise ConnectionError("the executor is gone")

    monkeypatch.setattr(looked, "must_arrive", fails)
    stage.sink.failing = 2
    stage.bench(**looked.kind).run(0, 5)
    assert stage.sink.records[-5:] == [*range(5)]


def test_events_that_a_source_let_go_of_are_counted_as_dropped(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(attempt: Attempt) -> Counts:
        attempt.already(Counts(read=7, delivered=7))
        return attempt.counts

    monkeypatch.setattr(stage.sink, "write", write)
    stage.bench(overrun=True).run(0, 10)
    assert [done.counts for done in stage.disk.of_kind(Done)] == [Counts(read=10, delivered=7, dropped_optional=3)]


def test_nothing_to_read_is_progress_only_while_nothing_is_in_hand(stage: Stage) -> None:
    bench = stage.bench().ledger
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
    listed = sum(len(each.dead_letters) for each in stage.disk.of_kind(DeadLetters))
    done = len(stage.disk.of_kind(Done))
    assert (len(stage.dead_letters.kept), listed, done) == ((0, 0, 0) if blocked else (bad, bad, 1))


@pytest.mark.parametrize(("component", "blocked"), [(QUARANTINE, False), ("interceptors.x", True)])
def test_records_in_quarantine_are_no_reason_to_block(stage: Stage, component: str, blocked: bool) -> None:
    dead_letter_queue = DeadLetterQueue(stage.dead_letters, stage.disk.journal(), max_rate=1)
    attempt: Any = SimpleNamespace(
        counts=Counts(read=5, dead_lettered=5, components={component: {"dead_lettered": 5}}),
        dead=lambda: None,
        refusals=[],
    )
    with pytest.raises(Blocked, match=component) if blocked else nullcontext():
        dead_letter_queue.take(Planned(source="shop", channel="lake", batch=0, ranges=[]), attempt, "sinks.lake")


def test_each_event_of_one_record_is_a_letter_of_its_own_and_the_same_one_when_it_comes_again(stage: Stage) -> None:
    refusal = Refusal(None, b"bad", [], TOPIC, 0, 3, "no")
    attempt: Any = SimpleNamespace(
        counts=Counts(read=1, added=1, dead_lettered=2), dead=lambda: None, refusals=[refusal, refusal]
    )
    dead_letter_queue = DeadLetterQueue(stage.dead_letters, stage.disk.journal(), ALLOWED)
    for _ in range(2):
        dead_letter_queue.take(Planned(source="shop", channel="lake", batch=0, ranges=[]), attempt, "sinks.lake")
    first, again = ([dead_letter.id for dead_letter in each.dead_letters] for each in stage.disk.of_kind(DeadLetters))
    assert first == again
    assert len(set(first)) == 2


def test_each_batch_begins_where_the_one_before_ended(stage: Stage) -> None:
    bench = stage.bench()
    for number, end in enumerate((5, 9, 12)):
        bench.run(number, end)
        bench.commit(number)
    found = [(item.start, item.end) for done in stage.disk.of_kind(Done) for item in done.ranges]
    assert found == [(0, 5), (5, 9), (9, 12)]
    assert bench.ledger.positions == {KEY: 12}
    assert stage.sink.records == list(range(12))


def test_a_batch_that_spark_runs_again_is_noted_and_not_delivered(stage: Stage) -> None:
    bench = stage.bench()
    bench.run(0, 5)
    bench.run(0, 5)
    assert stage.kinds() == ["Planned", "Done", "Replayed"]
    assert stage.disk.of_kind(Replayed) == [Replayed(source="shop", channel="lake", batch=0)]
    assert (stage.sink.records, bench.ledger.positions) == ([0, 1, 2, 3, 4], {KEY: 5})


def test_a_partition_that_was_added_is_in_the_journal_before_the_batch_that_reads_it(stage: Stage) -> None:
    stage.bench().run(0, 5, 3)
    added, planned, _ = stage.disk.entries()
    assert isinstance(added, Positions)
    assert [(change.partition, change.new) for change in added.changes] == [(1, 0)]
    assert [(item.partition, item.start, item.end) for item in planned.ranges] == [(0, 0, 5), (1, 0, 3)]


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
    bench.commit(0)  # type: ignore[unreachable]
    assert bench.query.settled
