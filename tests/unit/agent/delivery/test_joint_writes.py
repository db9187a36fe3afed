"""Channels of one read whose sinks take their batches together are written in one pass, and apart where that fails."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from pipelines.domain.definitions.document.spec import Read
from pipelines.domain.ledger.journal import Done, Planned, SinkFailed, SinkPosition
from tests.batch_bench import FRAME, KEY, Bench, DeadLetterStore, Disk, Store
from workers.agent.delivery import joint_write
from workers.agent.delivery.delivery import SourceLost
from workers.agent.delivery.query import ReadQuery
from workers.agent.spark.deadline import Deadline

NAMES = ("audit", "lake", "store")
BATCH = [*range(6)]


class Stage:
    """Three channels of one read, with a sink of the same name each."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("workers.agent.graph.batch.Observation", object)
        monkeypatch.setattr("pyspark.InheritableThread", threading.Thread)
        self.kept = 0
        monkeypatch.setattr(FRAME, "persist", self._keep)
        self.disk = Disk(path, monkeypatch)
        self.sinks = {name: Store(name) for name in NAMES}
        for sink in self.sinks.values():
            sink.together = "one cluster"
        self.benches: list[Bench] = []
        for sink in self.sinks.values():
            gate = self.benches[0].gate if self.benches else None
            self.benches.append(Bench(self.disk.journal(), path, [sink], DeadLetterStore(), gate=gate))
        self.ledgers = {name: bench.ledger for name, bench in zip(NAMES, self.benches, strict=True)}
        first = self.benches[0]
        first.gate.hold = lambda seconds: first.gate.check()  # type: ignore[method-assign]
        channels, checkpoint = list(self.ledgers.values()), first.checkpoint
        self.query = ReadQuery(Read("shop", NAMES), channels, checkpoint=checkpoint, gate=first.gate)

    def _keep(self, _: object) -> object:
        self.kept += 1
        return FRAME

    def run(self, number: int = 0, end: int = len(BATCH)) -> None:
        """A batch of all."""
        self.benches[0].plan(number, end)
        self.query.run_batch(FRAME, number)

    @property
    def passes(self) -> int:
        """Made for several sinks."""
        return sum(sink.passes for sink in self.sinks.values())

    @property
    def records(self) -> dict[str, list[int]]:
        return {name: sink.records for name, sink in self.sinks.items()}


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(tmp_path, monkeypatch)


def test_one_of_them_writes_for_all_and_each_has_its_books(stage: Stage) -> None:
    stage.run()
    stage.run(1, 9)
    assert stage.records == {name: [*range(9)] for name in NAMES}
    assert (stage.passes, stage.kept) == (2, 0), "what is evaluated once is not kept"
    assert stage.sinks["audit"].passes == 2, "the same producers every time"
    assert [done.counts.delivered for done in stage.disk.of_kind(Done)] == [6, 3] * 3


def test_a_sink_of_another_kind_is_written_beside_them_and_the_batch_is_kept_for_both(stage: Stage) -> None:
    stage.sinks["lake"].together = None
    stage.run()
    assert stage.records == dict.fromkeys(NAMES, BATCH)
    assert (stage.passes, stage.kept) == (1, 1)


def test_sinks_that_all_differ_are_written_apart(stage: Stage) -> None:
    for name, sink in stage.sinks.items():
        sink.together = name
    stage.run()
    assert stage.records == dict.fromkeys(NAMES, BATCH)
    assert (stage.passes, stage.kept) == (0, 1)


@pytest.mark.parametrize("optional", ["optional", "sometimes_optional"])
def test_a_channel_that_may_be_dropped_does_not_hold_the_others_up(stage: Stage, optional: str) -> None:
    setattr(stage.ledgers["lake"], optional, True)
    stage.run()
    assert stage.records == dict.fromkeys(NAMES, BATCH)
    assert stage.passes == 1


def test_a_pass_that_fails_is_followed_by_attempts_of_each_alone(stage: Stage) -> None:
    stage.sinks["lake"].failing = 3
    stage.run()
    assert stage.sinks["lake"].records[-6:] == BATCH
    assert {name: stage.sinks[name].records[-6:] for name in NAMES} == dict.fromkeys(NAMES, BATCH)
    assert stage.passes == 1
    assert stage.sinks["audit"].abandoned == 1, "the writer of the pass sends nothing more, before anybody goes on"
    failed = [each.sink for each in stage.disk.of_kind(SinkFailed)]
    assert sorted(failed) == ["audit", "lake", "lake", "lake", "store"]
    attempts = {done.sink: done.attempts for done in stage.disk.of_kind(Done)}
    assert attempts == {"audit": 2, "lake": 4, "store": 2}
    before = {name: len(records) for name, records in stage.records.items()}
    stage.run(1, 9)
    assert stage.passes == 2, "the next batch is written together again"
    assert all(records[before[name] :] == [6, 7, 8] for name, records in stage.records.items())


def test_a_channel_that_has_the_batch_already_is_not_written_again(stage: Stage) -> None:
    stage.run()
    for name in ("lake", "store"):
        stage.ledgers[name].continue_from({KEY: 0}, None)
    stage.run()
    assert [len(stage.records[name]) for name in NAMES] == [6, 12, 12]
    assert stage.passes == 2


def test_a_batch_that_a_run_has_begun_is_looked_for_by_each_alone(stage: Stage) -> None:
    stage.run()
    (planned,) = {entry.batch: entry for entry in stage.disk.of_kind(Planned)}.values()
    for ledger in stage.ledgers.values():
        ledger.continue_from({KEY: 0}, None)
        ledger.resolve(planned)
    stage.run()
    assert stage.passes == 1


def test_one_that_does_not_come_is_not_waited_for(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint_write, "_MEETING", 0.05)
    written = threading.Event()
    ends = stage.sinks["lake"].ends

    def late() -> list[SinkPosition]:
        assert written.wait(60)
        return ends()

    stage.sinks["lake"].ends = late  # type: ignore[method-assign]
    stage.sinks["audit"].asked = stage.sinks["store"].asked = written.set
    stage.run()
    assert stage.records == dict.fromkeys(NAMES, BATCH)
    assert stage.passes == 0


def test_nobody_waits_for_a_writer_whose_producer_cannot_be_closed(stage: Stage) -> None:
    def lost(spark: object) -> float:
        raise ConnectionError("the JVM does not answer")

    stage.sinks["audit"].abandon = lost  # type: ignore[method-assign]
    stage.sinks["lake"].failing = 1
    stage.run()
    assert [len(stage.records[name]) >= len(BATCH) for name in NAMES] == [True] * 3


def test_records_that_are_gone_end_the_run_of_all(stage: Stage) -> None:
    stage.sinks["store"].failing, stage.sinks["store"].failure = 1, RuntimeError("KAFKA_DATA_LOSS")
    with pytest.raises(SourceLost):
        stage.run()
    assert stage.disk.of_kind(Done) == []


def test_a_deadline_that_passes_for_one_has_passed_for_all(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.agent.delivery.delivery.check_slots", lambda *_: None)
    expired: list[str] = []
    expire = Deadline.expire

    def noted(self: Deadline) -> None:
        expired.append(self._group)
        expire(self)

    monkeypatch.setattr(Deadline, "expire", noted)

    def hang() -> None:
        if not expired:
            stage.ledgers["store"].cancel_write()

    stage.sinks["lake"].asked, stage.sinks["lake"].failing = hang, 1
    stage.run()
    assert set(expired) == {"shop.audit+lake+store/0/0"}, "they have their jobs in common"
    assert len(expired) == 1 + len(NAMES)
    causes = [each.cause for each in stage.disk.of_kind(SinkFailed)]
    assert len(causes) == len(NAMES)
    assert all("did not end within" in cause for cause in causes)
