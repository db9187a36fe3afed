"""status.json: when it is written, what it says of progress, and that it says no secret."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipelines.domain.base.states import AgentPhase
from pipelines.domain.runs.protocol import AgentFinding, ComponentStatus, Status
from tests.batch_bench import KEY, Bench, DeadLetterStore, Disk, Store
from workers.agent.base import masking
from workers.agent.delivery.status import StatusFile

HEARTBEAT = 5.0


class Stage:
    """A status file of one query, with clocks that only the test moves."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        clock = SimpleNamespace(monotonic=lambda: self.now, time=lambda: self.now)
        monkeypatch.setattr("workers.agent.delivery.status.time", clock)
        monkeypatch.setattr("workers.agent.delivery.status.boottime", lambda: self.now)
        self.bench = Bench(Disk(path, monkeypatch).journal(), path, [Store()], DeadLetterStore())
        self.path = path / "status.json"
        self.file = StatusFile(self.path, "token", HEARTBEAT)

    def update(self, phase: AgentPhase = AgentPhase.RUNNING, after: float = 0.0, **more: Any) -> Status | None:
        """What an update has written, if it has."""
        self.now += after
        self.path.unlink(missing_ok=True)
        given = {
            "detail": "",
            "stuck": [],
            "command_seq": 1,
            "command_done": True,
            "proof": None,
            "queries": [self.bench.query],
            "components": list,
            "ingest_buffers": [],
            "findings": [],
            "survey": None,
            "initialised_in": None,
        }
        self.file.update(phase=phase, **{**given, **more})
        return Status.load(self.path)

    def move(self) -> None:
        """A look finds nothing left to read."""
        self.bench.ledger.saw_ends({}, resting=True)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(tmp_path, monkeypatch)


@pytest.fixture
def secret() -> Iterator[str]:
    masking.hide(["hunter22"])
    yield "hunter22"
    masking.hide([])


def test_no_text_of_the_status_says_a_secret(stage: Stage, secret: str) -> None:
    finding = AgentFinding(
        path="sinks.lake", code="AUTH", message=f"login {secret} refused", suggestion=f"not {secret}"
    )
    component = ComponentStatus(name="lake", kind="sink", type="kafka", state="failed", detail=f"as user:{secret}@db")
    written = stage.update(detail=f"ended by {secret}", findings=[finding], components=lambda: [component])
    assert written is not None
    assert secret not in stage.path.read_text()
    texts = [written.detail, written.findings[0].message, written.findings[0].suggestion, written.components[0].detail]
    assert all("[redacted]" in text for text in texts)


def test_it_is_written_at_a_change_at_a_heartbeat_and_twice_a_second_for_what_moves(stage: Stage) -> None:
    assert stage.update()
    assert not stage.update(after=HEARTBEAT - 0.01)
    assert stage.update(after=0.01)
    assert stage.update(AgentPhase.PAUSING), "another phase"
    assert stage.update(AgentPhase.PAUSING, command_seq=2), "another command"
    stage.move()
    assert not stage.update(AgentPhase.PAUSING, command_seq=2, after=0.49)
    assert stage.update(AgentPhase.PAUSING, command_seq=2, after=0.02)


def test_a_batch_that_is_held_is_told_at_once(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stage.update()
    held = {"component": "sinks.lake", "cause": "away", "since": 1.0, "attempts": 1}
    monkeypatch.setattr(type(stage.bench.query), "holdings", property(lambda _: [str(held)]))
    assert stage.update()


def test_progress_is_dated_when_it_was_made_and_a_pause_is_no_lack_of_it(stage: Stage) -> None:
    def beats(written: Status | None) -> tuple[float, float]:
        assert written is not None
        return written.progress_heartbeat, written.queries[0].progress_heartbeat

    assert beats(stage.update()) == (1000.0, 1000.0)
    assert beats(stage.update(after=60)) == (1000.0, 1000.0)
    stage.move()
    assert beats(stage.update(after=60)) == (1120.0, 1120.0)
    assert beats(stage.update(AgentPhase.PAUSED, after=60)) == (1180.0, 1180.0)


def test_a_disk_that_is_full_does_not_stop_the_agent(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Status, "store", full)
    assert stage.update() is None


def test_an_idle_look_is_progress_only_while_the_gate_is_open_and_nothing_is_left(stage: Stage) -> None:
    query, ledger = stage.bench.query, stage.bench.ledger
    query.saw_ends({KEY: 0})
    assert query.progressed == 0, "not started"
    query._query = SimpleNamespace()  # type: ignore[assignment]
    query.saw_ends({KEY: 1})
    assert (query.progressed, query.moving, ledger.lag) == (0, False, 1), "a record is left to be read"
    query.saw_ends({KEY: 0})
    assert (query.progressed, query.moving) == (1, True)
    stage.bench.gate.close()
    query.saw_ends({KEY: 0})
    assert query.progressed == 1, "a pause reads nothing, and proves nothing of what is left"
    stage.bench.gate.open()
    stage.bench.gate.enter(query.name)
    query.saw_ends({KEY: 0})
    assert query.progressed == 1, "a batch is in hand"


def test_a_position_beyond_the_end_that_was_seen_last_is_no_negative_lag(stage: Stage) -> None:
    stage.bench.ledger.positions = {KEY: 5}
    stage.bench.query.saw_ends({KEY: 3})
    (position,) = stage.bench.query.statuses()[0].positions
    assert (stage.bench.ledger.lag, position.next_offset, position.end_offset) == (0, 5, 5)


def test_a_batch_that_is_not_due_yet_is_progress_and_one_that_is_overdue_is_none(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, now = stage.bench.query, [1000.0]
    query._query = SimpleNamespace()  # type: ignore[assignment]
    stage.bench.ledger.progress.interval = 30.0
    monkeypatch.setattr("workers.agent.delivery.ledger.time", SimpleNamespace(monotonic=lambda: now[0]))
    query.saw_ends({KEY: 0})
    for after, progressed in ((0, 2), (29, 3), (1, 3), (600, 3)):
        now[0] += after
        query.saw_ends({KEY: 1})
        assert query.progressed == progressed, f"at {now[0]}"
    query.saw_ends({KEY: 0})
    query.saw_ends({KEY: 1})
    assert query.progressed == 5, "events that come after a rest wait anew"
