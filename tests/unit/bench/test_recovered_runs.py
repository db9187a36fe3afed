"""When the parts of a recovery ended, as run directories and the API tell it."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from bench.recovery.pipeline import Pipeline, intended_at
from bench.systems.base import Failed, Running
from controlplane.devstack.client import Api
from pipelines.domain.ledger import journal
from pipelines.domain.ledger.journal import Entry, EntryKind, Exited, Planned, Resolved
from pipelines.domain.runs import protocol
from pipelines.domain.runs.protocol import ExitRecord

LOG = """\
2026-11-24T01:00:02.000Z INFO    keeper p/2: The keeper starts as process 1.
2026-11-24T01:00:03.000Z INFO    driver p/2: The driver starts as process 2.
2026-11-24T01:00:04.500Z INFO    driver p/2: the Spark session is open
2026-11-24T01:00:05.000Z INFO    driver p/2: every component is ready after 1.9 s
"""
HOUR = datetime(2026, 11, 24, 1, tzinfo=UTC).timestamp()


class StubApi:
    """Answers with these runs."""

    def __init__(self, *runs: dict[str, Any]) -> None:
        self._runs = runs

    def get(self, path: str) -> dict[str, Any]:
        assert path == "/pipelines/p/runs"
        return {"results": list(self._runs)}


def run(directory: Path, number: int, **more: Any) -> dict[str, Any]:
    own = directory / str(number)
    own.mkdir()
    row: dict[str, Any] = {"number": number, "epoch": number, "role": "ACTIVE", "state": "ENDED", "promoted_at": None}
    return {**row, "run_dir": str(own), "started_at": None, "ended_at": None, **more}


def write(row: dict[str, Any], *payloads: tuple[float, EntryKind, Any]) -> None:
    lines = [
        journal.encode(Entry(n=number, epoch=1, at=at, kind=kind, data=payload.model_dump(mode="json")))
        for number, (at, kind, payload) in enumerate(payloads, 1)
    ]
    (Path(row["run_dir"]) / protocol.JOURNAL).write_bytes(b"".join(lines))


def of(*runs: dict[str, Any]) -> Pipeline:
    return Pipeline(cast(Api, StubApi(*runs)), "p")


@pytest.fixture
def killed(tmp_path: Path) -> dict[str, Any]:
    return run(tmp_path, 1, ended_at="2026-11-24T01:00:00.750Z")


@pytest.fixture
def heir(tmp_path: Path) -> dict[str, Any]:
    row = run(tmp_path, 2, state="LIVE", started_at="2026-11-24T01:00:01.900Z")
    (Path(row["run_dir"]) / protocol.LOG).write_text(LOG)
    place: dict[str, Any] = {"source": "in", "channel": "out", "batch": 4}
    planned = Planned(**place, ranges=[])
    resolved = Resolved(**place, delivered_before=2, left_out=True)
    write(row, (HOUR + 6, EntryKind.PLANNED, planned), (HOUR + 6.5, EntryKind.RESOLVED, resolved))
    return row


def test_a_recovery_is_told_by_the_api_the_log_and_the_journal(killed: dict[str, Any], heir: dict[str, Any]) -> None:
    marks = of(heir, killed).marks(1, heir)
    assert {part: round(at - HOUR, 3) for part, at in marks.items()} == {
        "detection": 0.75,
        "backoff": 1.9,
        "process": 3.0,
        "jvm_and_session": 4.5,
        "preflight": 5.0,
        "query_start": 6.0,
        "sink_tail": 6.5,
    }


def test_the_last_word_is_the_keepers_record(killed: dict[str, Any], heir: dict[str, Any]) -> None:
    write(killed, (HOUR + 0.1, EntryKind.EXIT, Exited(code=13, reason="")))
    ExitRecord(token="t", boottime=1.0, at=HOUR + 0.3).store(Path(killed["run_dir"]) / protocol.EXIT)
    assert of(heir, killed).marks(1, heir)["agent_end"] == HOUR + 0.3


def test_without_a_keeper_it_is_the_drivers_own(killed: dict[str, Any], heir: dict[str, Any]) -> None:
    write(killed, (HOUR + 0.1, EntryKind.EXIT, Exited(code=14, reason="")))
    assert of(heir, killed).marks(1, heir)["agent_end"] == HOUR + 0.1


def test_a_start_that_is_not_written_down_is_no_recovery(killed: dict[str, Any], heir: dict[str, Any]) -> None:
    (Path(heir["run_dir"]) / protocol.LOG).unlink()
    with pytest.raises(Failed, match="process, jvm_and_session, preflight"):
        of(heir, killed).marks(1, heir)


def test_a_standby_consumes_from_its_promotion_on(tmp_path: Path) -> None:
    row = run(tmp_path, 3, started_at="2026-11-24T00:00:00Z", promoted_at="2026-11-24T01:00:00Z")
    assert intended_at(row) == "2026-11-24T01:00:00Z"


def test_the_active_run_has_the_highest_epoch(tmp_path: Path) -> None:
    standby = run(tmp_path, 4, role="STANDBY", epoch=None)
    older, promoted = run(tmp_path, 3, epoch=3), run(tmp_path, 2, epoch=5)
    assert of(standby, older, promoted).active() == promoted


def test_a_crash_starts_the_same_command_again(tmp_path: Path) -> None:
    def spawn() -> subprocess.Popen[bytes]:
        return subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL)

    running = Running("no token", tmp_path / "log", spawn=spawn, process=spawn())
    before = running.process
    assert before is not None
    try:
        killed = running.crash()
        assert before.returncode == -9
        assert running.process is not None
        assert running.process.pid != before.pid
        assert running.alive
        assert killed > running.started_at
    finally:
        running.stop()


def test_what_has_no_process_of_its_own_cannot_crash(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="no process"):
        Running("no token", tmp_path / "log").crash()
