"""Channels that share a read: each has a batch to its end, whatever becomes of the others."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from pipelines.domain.definitions.document.spec import Read
from pipelines.domain.ledger.journal import Done, Replayed
from tests.batch_bench import FRAME, KEY, Bench, DeadLetterStore, Disk, Store
from workers.agent.delivery import query as queries
from workers.agent.delivery.delivery import SourceLost
from workers.agent.delivery.query import ReadQuery


class Stage:
    """Two channels of one read, `lake` and `audit`, with a sink of the same name each."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("workers.agent.graph.batch.Observation", object)
        monkeypatch.setattr("pyspark.InheritableThread", threading.Thread)
        monkeypatch.setattr(queries, "_PATIENCE", 0.05)
        self.disk = Disk(path, monkeypatch)
        self.lake, self.audit = Store("lake"), Store("audit")
        self.first = Bench(self.disk.journal(), path, [self.lake], DeadLetterStore())
        self.second = Bench(self.disk.journal(), path, [self.audit], DeadLetterStore(), gate=self.first.gate)
        channels, checkpoint = [self.first.ledger, self.second.ledger], self.first.checkpoint
        self.query = ReadQuery(Read("shop", ("lake", "audit")), channels, checkpoint=checkpoint, gate=self.first.gate)

    def run(self, number: int, end: int) -> None:
        """A batch of both."""
        self.first.plan(number, end)
        self.query.run_batch(FRAME, number)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(tmp_path, monkeypatch)


def test_every_channel_gets_the_batch_and_one_that_has_it_does_not_get_it_again(stage: Stage) -> None:
    stage.run(0, 5)
    stage.second.ledger.continue_from({KEY: 0}, None)
    stage.run(0, 5)
    assert (stage.lake.records, stage.audit.records) == ([*range(5)], [*range(5)] * 2)
    assert stage.disk.of_kind(Replayed) == [Replayed(source="shop", channel="lake", batch=0)]
    assert len(stage.disk.of_kind(Done)) == 3


def test_the_events_are_evaluated_once_for_all(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    monkeypatch.setattr(FRAME, "persist", lambda _: steps.append("keep") or FRAME)  # type: ignore[func-returns-value]
    monkeypatch.setattr(FRAME, "unpersist", lambda: steps.append("let go"))
    stage.lake.asked = stage.audit.asked = lambda: steps.append("write")
    stage.run(0, 5)
    assert steps == ["keep", "write", "write", "let go"]


@pytest.mark.parametrize("failing", ["lake", "audit"])
def test_one_that_cannot_go_on_ends_the_wait_of_the_others_and_the_run(stage: Stage, failing: str) -> None:
    sinks, channels = {"lake": stage.lake, "audit": stage.audit}, {"lake": stage.first, "audit": stage.second}
    other = "audit" if failing == "lake" else "lake"
    held = threading.Event()
    sinks[other].failing = 3
    channels[other].ledger.on_change = held.set
    sinks[failing].failing, sinks[failing].failure = 1, RuntimeError("KAFKA_DATA_LOSS")
    sinks[failing].asked = lambda: held.wait(60) and None  # type: ignore[assignment]
    with pytest.raises(SourceLost):
        stage.run(0, 5)
    assert (stage.first.gate.cancelled, stage.first.gate.inside) == (True, frozenset())
    assert stage.disk.of_kind(Done) == []


def test_an_optional_one_holds_the_others_up_for_a_moment_only(stage: Stage) -> None:
    abandoned = threading.Event()
    stage.first.ledger.optional = True
    stage.lake.asked = lambda: abandoned.wait(60) and None  # type: ignore[assignment]
    stage.first.ledger.abort = abandoned.set  # type: ignore[method-assign]
    stage.run(0, 5)
    assert abandoned.is_set()
    assert (stage.lake.records, stage.audit.records) == ([*range(5)], [*range(5)])


@pytest.mark.parametrize("required", [True, False])
def test_one_that_is_sometimes_optional_is_waited_for_where_its_batch_must_arrive(stage: Stage, required: bool) -> None:
    abandoned, looked = threading.Event(), threading.Event()

    def must_arrive() -> bool:
        looked.set()
        return required

    stage.first.ledger.sometimes_optional = True
    stage.first.ledger.must_arrive = must_arrive  # type: ignore[method-assign]
    stage.first.ledger.abort = abandoned.set  # type: ignore[method-assign]
    stage.lake.asked = lambda: (looked if required else abandoned).wait(60) and None  # type: ignore[assignment]
    stage.run(0, 5)
    assert abandoned.is_set() is not required
    assert (stage.lake.records, stage.audit.records) == ([*range(5)], [*range(5)])


def test_a_batch_balances_if_it_does_in_every_channel(stage: Stage) -> None:
    assert stage.query.balanced
    for bench in (stage.first, stage.second):
        bench.ledger.progress.balanced = False
        assert not stage.query.balanced
        bench.ledger.progress.balanced = True  # type: ignore[unreachable]
