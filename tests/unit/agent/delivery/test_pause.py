"""The proof of a pause: what is proven of a gate, queries and positions that are the agent's own, and when."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from pipelines.domain.ledger.ledger import Counts
from pipelines.domain.runs.protocol import PauseProof
from tests.batch_bench import KEY, Bench, DeadLetterStore, Disk, Store
from workers.agent.delivery.status import PauseWatch

BETWEEN = 0.15
"""Seconds in which no position may move."""


class Stage:
    """A bench whose pause is watched, with a clock that only the test moves."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.sink = 1000.0, Store()
        self.bench = Bench(Disk(path, monkeypatch).journal(), path, [self.sink], DeadLetterStore())
        self.watch = PauseWatch(self.bench.gate, [self.bench.query])
        monkeypatch.setattr("workers.agent.graph.batch.Observation", object)
        clock = SimpleNamespace(monotonic=lambda: self.now, time=lambda: 5000.0 + self.now)
        monkeypatch.setattr("workers.agent.delivery.status.time", clock)

    def check(self, after: float = 0.0) -> PauseProof:
        """One look; the gate is closed."""
        self.now += after
        proof = self.watch.check()
        assert proof is not None
        return proof


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    stage = Stage(tmp_path, monkeypatch)
    yield stage
    stage.bench.gate.stop(cancel=True)


def test_nothing_is_proven_while_the_gate_is_not_closed(stage: Stage) -> None:
    assert stage.watch.check() is None
    stage.bench.gate.stop(cancel=False)
    assert stage.watch.check() is None


def test_a_pause_is_proven_once_the_position_has_stood_still_for_a_while(stage: Stage) -> None:
    stage.bench.gate.close()
    first = stage.check()
    assert (first.gate_closed, first.batches_in_flight, first.balanced) == (True, 0, True)
    assert (first.positions_still, first.holds) == (False, False), "one look proves nothing"
    assert not stage.check(after=BETWEEN - 0.01).holds
    proven = stage.check(after=0.02)
    assert proven.holds
    assert stage.check(after=60).proven_at == proven.proven_at == 5000.0 + 1000.0 + BETWEEN + 0.01


def test_a_position_that_moves_between_looks_has_to_stand_still_again(stage: Stage) -> None:
    stage.bench.gate.close()
    stage.check()
    stage.bench.ledger.positions = {KEY: 5}
    assert not stage.check(after=10).positions_still
    assert not stage.check(after=BETWEEN - 0.01).holds
    assert stage.check(after=0.02).holds


def test_a_pause_that_was_proven_is_doubted_as_soon_as_a_position_moves(stage: Stage) -> None:
    stage.bench.gate.close()
    stage.check()
    before = stage.check(after=1)
    stage.bench.ledger.positions = {KEY: 5}
    assert not stage.check(after=1).holds
    assert stage.check(after=1).proven_at == before.proven_at + 2


def test_a_batch_in_hand_is_waited_for_until_its_commit_is_on_disk(stage: Stage) -> None:
    writing, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        writing.set()
        assert go_on.wait(60)

    stage.sink.asked = wait
    batch = threading.Thread(target=stage.bench.run, args=(0, 5), daemon=True)
    batch.start()
    assert writing.wait(60)
    stage.bench.gate.close()
    stage.check()
    assert (stage.check(after=10).batches_in_flight, stage.check().holds) == (1, False)
    go_on.set()
    batch.join(60)
    assert stage.check(after=10).batches_in_flight == 1, "done, and not committed"
    stage.bench.commit(0)
    assert stage.check().batches_in_flight == 0
    assert stage.check(after=BETWEEN + 0.01).holds


def test_time_counts_from_the_end_of_the_last_batch_in_hand(stage: Stage) -> None:
    stage.bench.gate.enter("shop.lake")
    stage.bench.gate.close()
    stage.check()
    stage.check(after=10)
    stage.bench.gate.leave("shop.lake")
    assert not stage.check().positions_still
    assert stage.check(after=BETWEEN + 0.01).holds


def test_what_goes_through_the_gate_beside_the_queries_is_in_hand_too(stage: Stage) -> None:
    stage.bench.gate.enter("replay-7")
    stage.bench.gate.close()
    stage.check()
    assert stage.check(after=10).batches_in_flight == 1
    stage.bench.gate.leave("replay-7")
    stage.check()
    assert stage.check(after=10).holds


def test_a_last_batch_that_does_not_balance_is_no_pause(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage.sink, "write", lambda attempt: (attempt.already(Counts(read=5)), attempt.counts)[1])
    stage.bench.run(0, 5)
    stage.bench.commit(0)
    stage.bench.gate.close()
    stage.check()
    proof = stage.check(after=10)
    assert (proof.positions_still, proof.batches_in_flight, proof.balanced, proof.holds) == (True, 0, False, False)


def test_an_open_gate_forgets_what_was_seen(stage: Stage) -> None:
    stage.bench.gate.close()
    stage.check()
    assert stage.check(after=1).holds
    stage.bench.gate.open()
    assert stage.watch.check() is None
    stage.bench.gate.close()
    assert not stage.check(after=10).holds
