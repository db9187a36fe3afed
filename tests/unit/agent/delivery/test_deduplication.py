"""A batch that comes again: what its sinks hold is left out, what came late is counted, what nobody knows is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from pipelines.domain.base.positions import PartitionRange, TopicPartition
from pipelines.domain.ledger.journal import Planned, SinkPosition
from pipelines.domain.ledger.ledger import Counts
from pipelines.domain.runs.protocol import Holding
from workers.agent.delivery.deduplication import Deduplication, Listener, Policy
from workers.agent.delivery.gate import Cancelled
from workers.agent.graph.batch import Attempt
from workers.agent.graph.component import Look, Place, Resolution, SinkBuilder, Unverifiable
from workers.agent.positions.checkpoint import Offsets
from workers.agent.positions.held import BITS, Copies, Held, joined

KEY, OUT = TopicPartition("orders", 0), TopicPartition("out", 0)
PLANNED = Planned(
    source="shop", channel="lake", batch=3, ranges=[PartitionRange(topic="orders", partition=0, start=0, end=100)]
)
SPARK: Any = SimpleNamespace()


def holding(offsets: Iterable[int]) -> Held:
    bitmap, numbers = bytearray(BITS // 8), list(offsets)
    for offset in numbers:
        bitmap[offset // 8] |= 1 << offset % 8
    return joined([(Copies(KEY, 0), 0, bytes(bitmap))], len(numbers))


class Topic(SinkBuilder):
    """A sink that is a list of offsets. `away`: so many questions fail; `gone`: it cannot know."""

    def __init__(self, name: str = "lake") -> None:
        super().__init__(SimpleNamespace(), Place("p", 1, f"sinks.{name}"))
        self.records: list[int] = []
        self.away = 0
        self.gone = False
        self.lingers = 0.0
        self.asked: list[int] = []

    def look(self, planned: Planned, spark: Any, since: Offsets | None, told: Callable[[int, int], None]) -> Look:
        if self.gone:
            raise Unverifiable("records of the topic were deleted")
        if self.away:
            self.away -= 1
            raise ConnectionError("away")
        start = since[OUT] if since else 0
        self.asked.append(start)
        told(len(self.records), len(self.records))
        return Look(holding(self.records[start:]), {OUT: len(self.records)})

    def abandon(self, spark: Any) -> float:
        return self.lingers

    def write(self, attempt: Attempt) -> Counts:
        raise NotImplementedError

    def resolve(self, planned: Planned) -> Resolution:
        raise NotImplementedError


class Bench:
    """A batch in hand, and a clock that only waiting moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *sinks: Topic, timeout: float | None = 30.0) -> None:
        self.now = 1000.0
        self.waited: list[float] = []
        self.told: list[Any] = []
        self.found: list[tuple[Look | None, str]] = []
        self.delayed: list[Holding | None] = []
        self.noted: list[Planned] = []
        self.stopped = False
        self.sinks, self.timeout = {sink.place.name: sink for sink in sinks}, timeout
        monkeypatch.setattr(
            "workers.agent.delivery.deduplication.time",
            SimpleNamespace(monotonic=lambda: self.now, time=lambda: self.now),
        )

    def batch(self, *suspects: str, planned: Planned = PLANNED, over_since: float | None = None) -> Deduplication:
        return Deduplication(
            planned,
            self.sinks,
            Policy(self.timeout),
            wait=self.wait,
            listener=Listener(
                self.told.append,
                lambda look, cause: self.found.append((look, cause)),
                self.delayed.append,
                self.noted.append,
            ),
            suspects=frozenset(suspects),
            over_since=over_since,
        )

    def wait(self, seconds: float) -> None:
        if self.stopped:
            raise Cancelled
        self.waited.append(seconds)
        self.now += seconds


def numbers(held: Held | None) -> set[int]:
    if held is None:
        return set()
    (bits,) = held.offsets.values()
    return {bits.start + n for n in range(8 * len(bits.data)) if bits.data[n // 8] >> n % 8 & 1}


def test_nobody_is_asked_about_a_batch_that_was_never_attempted(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = Topic()
    batch = Bench(monkeypatch, sink).batch()
    assert batch.held(SPARK) is None
    batch.delivered("lake", 100, SPARK)
    assert (sink.asked, batch.duplicates) == ([], 0)


@pytest.mark.parametrize(("ago", "waited"), [(None, 0.5), (0.2, 0.3), (3.0, 0.0)])
def test_writers_that_have_been_over_for_long_are_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, ago: float | None, waited: float
) -> None:
    bench = Bench(monkeypatch, Topic())
    bench.batch("lake", over_since=None if ago is None else bench.now - ago).held(SPARK)
    assert bench.waited == [pytest.approx(waited)]


def test_what_an_earlier_run_has_delivered_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = Topic()
    sink.records = [*range(40)]
    bench = Bench(monkeypatch, sink)
    batch = bench.batch("lake")
    assert numbers(batch.held(SPARK)) == {*range(40)}
    assert bench.found[0][1] == ""
    assert batch.held(SPARK) is not None
    assert sink.asked == [0], "it is asked once"
    sink.records += range(40, 100)
    batch.delivered("lake", 60, SPARK)
    assert batch.duplicates == 0
    assert bench.told[-1] is None


def test_what_comes_after_the_look_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = Topic()
    sink.records = [*range(40), 7]
    batch = Bench(monkeypatch, sink).batch("lake")
    batch.held(SPARK)
    sink.records += [40, 41, *range(40, 100)]
    batch.delivered("lake", 60, SPARK)
    assert batch.duplicates == 1 + 2


def test_an_attempt_that_failed_is_looked_for_when_its_writers_are_over(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = Topic()
    sink.lingers = 20.0
    bench = Bench(monkeypatch, sink)
    batch = bench.batch()
    assert batch.held(SPARK) is None
    sink.records = [*range(10)]
    batch.failed("lake", SPARK)
    assert numbers(batch.held(SPARK)) == {*range(10)}
    assert sum(bench.waited) == 20.5
    sink.records += range(10, 30)
    batch.failed("lake", SPARK)
    assert numbers(batch.held(SPARK)) == {*range(30)}
    assert sink.asked == [0, 10]
    sink.records += range(30, 100)
    batch.delivered("lake", 70, SPARK)
    assert batch.duplicates == 0


def test_a_sink_that_is_away_is_waited_for_and_then_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = Topic()
    sink.away = 5
    bench = Bench(monkeypatch, sink)
    assert numbers(bench.batch("lake").held(SPARK)) == set()
    assert [each and each.attempts for each in bench.delayed] == [1, 2, 3, 4, 5]
    assert {each and each.component for each in bench.delayed} == {"sinks.lake"}

    sink.away = 1000
    batch = bench.batch("lake")
    assert batch.held(SPARK) is None
    assert 30 <= sum(bench.waited) - 6 <= 32
    assert (batch.covered, batch.unknown_attempts) == (frozenset(), 1)
    assert bench.found[-1][0] is None
    assert "away" in bench.found[-1][1]


@pytest.mark.parametrize("was_silent", [False, True])
def test_a_sink_that_was_away_is_looked_at_again_when_it_has_taken_in_what_waited_for_it(
    monkeypatch: pytest.MonkeyPatch, was_silent: bool
) -> None:
    """A broker that was frozen answers before it has read what lies in its sockets."""
    sink = Topic()
    sink.records, sink.away = [*range(40)], 1000 if was_silent else 3
    bench = Bench(monkeypatch, sink)
    batch = bench.batch("lake")
    if was_silent:
        assert batch.held(SPARK) is None
        batch.failed("lake", SPARK)
        sink.away = 0

    def wait(seconds: float) -> None:
        Bench.wait(bench, seconds)
        if sink.asked and len(sink.records) < 60:
            sink.records = [*range(60)]

    monkeypatch.setattr(batch, "_wait", wait)
    assert numbers(batch.held(SPARK)) == {*range(60)}
    assert len(bench.found) == 1 + was_silent
    sink.records += range(60, 100)
    batch.delivered("lake", 40, SPARK)
    assert batch.duplicates == 0


def test_a_sink_that_answers_again_is_known_again(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = Topic()
    sink.records, sink.away = [*range(40)], 1000
    bench = Bench(monkeypatch, sink)
    batch = bench.batch("lake")
    assert batch.held(SPARK) is None
    batch.failed("lake", SPARK)
    sink.away = 1
    assert batch.held(SPARK) is None, "it is asked once"
    assert len(bench.found) == 1
    batch.failed("lake", SPARK)
    assert numbers(batch.held(SPARK)) == {*range(40)}
    sink.records += range(40, 100)
    batch.delivered("lake", 60, SPARK)
    assert (batch.duplicates, batch.covered, batch.unknown_attempts) == (0, frozenset({"lake"}), 0)


def test_what_was_delivered_to_a_silent_sink_is_counted_once_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = Topic()
    sink.records, sink.away = [*range(40)], 1000
    batch = Bench(monkeypatch, sink).batch("lake")
    assert batch.held(SPARK) is None
    sink.away = 0
    sink.records += range(100)
    batch.delivered("lake", 100, SPARK)
    assert (batch.duplicates, batch.covered, batch.unknown_attempts) == (40, frozenset({"lake"}), 0)


def test_a_sink_that_stays_silent_after_a_batch_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = Topic()
    sink.records = [*range(40)]
    batch = Bench(monkeypatch, sink).batch("lake")
    batch.held(SPARK)
    sink.away = 1000
    batch.delivered("lake", 60, SPARK)
    assert (batch.covered, batch.unknown_attempts) == (frozenset(), 1)


def test_with_wait_it_is_waited_for_until_a_stop_gives_the_batch_up(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = Topic()
    sink.away = 1000
    bench = Bench(monkeypatch, sink, timeout=None)
    monkeypatch.setattr(bench, "stopped", False)

    def wait(seconds: float) -> None:
        bench.stopped = len(bench.waited) > 500
        Bench.wait(bench, seconds)

    monkeypatch.setattr(bench, "wait", wait)
    with pytest.raises(Cancelled):
        bench.batch("lake").held(SPARK)
    assert sum(bench.waited) > 400


def test_what_nobody_can_know_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = Topic()
    sink.gone = True
    bench = Bench(monkeypatch, sink, timeout=None)
    batch = bench.batch("lake")
    assert batch.held(SPARK) is None
    assert bench.found == [(None, "records of the topic were deleted")]
    assert batch.covered == frozenset()
    sink.gone = False
    batch.failed("lake", SPARK)
    assert batch.held(SPARK) is None
    assert len(bench.found) == 1


def test_a_batch_that_was_split_between_members_of_a_group_is_there_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Topic("first"), Topic("second")
    batch = Bench(monkeypatch, first, second).batch()
    first.records = [*range(30)]
    batch.failed("first", SPARK)
    assert numbers(batch.held(SPARK)) == {*range(30)}
    second.records = [*range(30, 50)]
    batch.failed("second", SPARK)
    assert numbers(batch.held(SPARK)) == {*range(50)}
    first.records += [30]
    second.records += range(50, 100)
    batch.delivered("second", 50, SPARK)
    assert batch.duplicates == 1, "the first member got one late"


def test_a_member_that_was_away_when_a_batch_was_planned_is_noted_before_it_is_given_anything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = Topic("first"), Topic("second")
    ends = [SinkPosition(topic="out", partition=0, offset=0)]
    planned = PLANNED.model_copy(update={"sink_ends": {"first": [], "second": ends}})
    bench = Bench(monkeypatch, first, second, timeout=None)
    batch = bench.batch("first", "second", planned=planned)
    first.away = 1000
    second.records = [*range(20)]
    assert numbers(batch.held(SPARK)) == {*range(20)}, "the first one was given nothing: it is not asked"
    batch.prepare("second")
    second.records += range(20, 30)
    batch.failed("second", SPARK)
    monkeypatch.setattr(first, "ends", lambda: ends)
    batch.prepare("first")
    batch.prepare("first")
    (noted,) = bench.noted
    assert (noted.sink_ends, noted.attempts) == ({"first": ends, "second": ends}, 1)
    first.away, first.records = 0, [*range(30, 40)]
    batch.failed("first", SPARK)
    assert numbers(batch.held(SPARK)) == {*range(40)}
    second.records += range(40, 100)
    batch.delivered("second", 60, SPARK)
    assert (batch.duplicates, batch.covered) == (0, frozenset({"first", "second"}))


def test_tasks_that_ran_twice_inside_an_attempt_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = Topic()
    batch = Bench(monkeypatch, sink).batch()
    sink.records = [*range(100), *range(20)]
    batch.repeated("lake")
    batch.delivered("lake", 100, SPARK)
    assert batch.duplicates == 20
