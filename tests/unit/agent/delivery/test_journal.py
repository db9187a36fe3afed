"""The journal's writer: what recovery depends on is on disk at once, and no secret ever is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipelines.domain.base.positions import Frozen
from pipelines.domain.ledger import journal as domain
from pipelines.domain.ledger.journal import (
    ComponentState,
    DeadLetter,
    DeadLetters,
    Done,
    Exited,
    Identified,
    Noticed,
    PhaseChanged,
    Planned,
    Positions,
    Resolved,
    SinkFailed,
    SinkSwitched,
    read_entries,
)
from pipelines.domain.ledger.ledger import Counts
from tests.batch_bench import Disk
from workers.agent.base import masking
from workers.agent.run_dir.journal_writer import Journal, JournalDamaged, JournalUnwritable, NotGranted

WHERE = {"source": "shop", "channel": "lake"}
PLANNED = Planned(**WHERE, batch=0, ranges=[])
DONE = Done(**WHERE, batch=0, ranges=[], counts=Counts(), sink="lake")
RECOVERY = [
    PLANNED,
    DONE,
    Resolved(**WHERE, batch=0, delivered_before=0),
    Positions(**WHERE, changes=[], origin="start_from: earliest"),
    Identified(source="shop", cluster_id="c", topics={}),
]


@pytest.mark.parametrize("payload", RECOVERY, ids=lambda payload: type(payload).__name__)
def test_what_recovery_depends_on_survives_a_loss_of_power_as_soon_as_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, payload: Frozen
) -> None:
    disk = Disk(tmp_path, monkeypatch)
    journal = disk.journal()
    journal.append(PhaseChanged(phase="RUNNING"))
    journal.append(payload)
    disk.lose_power()
    assert disk.entries() == [PhaseChanged(phase="RUNNING"), payload]


def test_entries_that_belong_together_are_all_written_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(tmp_path, monkeypatch)
    journal = disk.journal()
    journal.append(DONE, PLANNED)
    disk.lose_power()
    assert disk.entries() == [DONE, PLANNED]
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[: len(data) * 3 // 4]))
    with pytest.raises(JournalUnwritable):
        journal.append(DONE, PLANNED)
    monkeypatch.undo()
    journal.append(PLANNED)
    assert disk.entries() == [DONE, PLANNED, PLANNED]


def test_an_entry_that_cannot_be_synced_is_not_in_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal.jsonl"
    Journal(path, epoch=1).append(PLANNED)
    before, journal = path.read_bytes(), Journal(path, epoch=1)

    def broken(_: int) -> None:
        raise OSError("the disk is gone")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", broken)
        with pytest.raises(JournalUnwritable):
            journal.append(PLANNED)
    assert path.read_bytes() == before
    journal.append(PLANNED)
    (entry,), _ = read_entries(path.read_bytes().removeprefix(before))
    assert (entry.n, entry.payload()) == (1, PLANNED)


def _shortened(path: Path) -> None:
    os.truncate(path, 0)


def _changed(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"x")


def _replaced(path: Path) -> None:
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)


def _removed(path: Path) -> None:
    shutil.rmtree(path.parent)


@pytest.mark.parametrize("damage", [_shortened, _changed, _replaced, _removed])
def test_nothing_is_written_to_a_journal_that_another_process_has_damaged(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    path = tmp_path / "run" / "journal.jsonl"
    path.parent.mkdir()
    journal = Journal(path, epoch=1)
    journal.append(PLANNED)
    journal.check()
    damage(path)
    left = path.read_bytes() if path.exists() else None
    with pytest.raises(JournalDamaged, match=damage.__name__.strip("_")):
        journal.check()
    with pytest.raises(JournalDamaged):
        journal.append(PLANNED)
    assert left == (path.read_bytes() if path.exists() else None)


@pytest.mark.parametrize("kind", sorted(domain.PAYLOADS.keys() - domain.OWN_LIFE))
def test_a_standby_writes_of_its_own_life_alone_until_it_is_granted_an_epoch(
    tmp_path: Path, kind: domain.EntryKind
) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal(path, epoch=0)
    journal.append(PhaseChanged(phase="STANDBY"))
    payload = domain.PAYLOADS[kind].model_construct()
    with pytest.raises(NotGranted):
        journal.append(payload)
    journal.grant(7)
    journal.append(PLANNED)
    entries = read_entries(path.read_bytes())[0]
    assert [(entry.n, entry.epoch, entry.kind) for entry in entries] == [(1, 0, "phase"), (2, 7, "planned")]


@pytest.fixture
def secret() -> Iterator[str]:
    masking.hide(["hunter22"])
    yield "hunter22"
    masking.hide([])


DEAD_LETTER = DeadLetter(
    id="1", component="x", cause="hunter22", topic="t", partition=0, offset=0, at=0, body="", size=0
)


@pytest.mark.parametrize(
    "payload",
    [
        PhaseChanged(phase="FAILED", reason="login hunter22 refused"),
        ComponentState(name="lake", kind="sink", type="kafka", state="failed", detail="hunter22"),
        SinkFailed(**WHERE, batch=0, sink="lake", attempt=1, cause="login failed: user:hunter22@db"),
        SinkSwitched(**WHERE, batch=0, group="g", sink="lake", cause="hunter22", failures=1),
        DeadLetters(**WHERE, batch=0, dead_letters=[DEAD_LETTER]),
        Noticed(source="shop", code="EXPIRING", message="of hunter22"),
        Exited(code=1, reason="hunter22"),
    ],
    ids=lambda payload: type(payload).__name__,
)
def test_no_text_of_the_journal_says_a_secret(tmp_path: Path, secret: str, payload: Frozen) -> None:
    path = tmp_path / "journal.jsonl"
    Journal(path, epoch=1).append(payload)
    text = path.read_text()
    assert secret in payload.model_dump_json()
    assert secret not in text
    assert "[redacted]" in text
    assert len(read_entries(path.read_bytes())[0]) == 1
