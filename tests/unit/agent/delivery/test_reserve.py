"""On a full disk a run's reserve has room for how a batch ended and how the run did, and for nothing that begins."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.domain.base.files import write_atomically
from pipelines.domain.hosts.disk import DiskSpace
from pipelines.domain.ledger.journal import Done, Exited, Planned, read_entries
from pipelines.domain.ledger.ledger import Counts
from pipelines.domain.runs.protocol import Control
from workers.adapters.rundirs import LocalRunDirs
from workers.agent.run_dir.journal_writer import DiskFull, Journal, JournalUnwritable
from workers.agent.run_dir.reserve import SIZE, Reserve

WHERE = {"source": "shop", "channel": "lake"}
PLANNED = Planned(**WHERE, batch=0, ranges=[])
DONE = Done(**WHERE, batch=0, ranges=[], counts=Counts(), sink="lake")


class Disk:
    """Refuses every write to the journal while the reserve takes its room, as a full disk does."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reserve = Reserve(directory / "reserve")
        self.journal_path = directory / "journal.jsonl"
        self.journal = Journal(self.journal_path, 1, self.reserve)
        self.full = self.stolen = False
        write = os.write

        def writes(file: int, data: bytes) -> int:
            if self.full and (self.stolen or not self.reserve.released):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return write(file, data)

        monkeypatch.setattr(os, "write", writes)

    def entries(self) -> list[object]:
        return [entry.payload() for entry in read_entries(self.journal_path.read_bytes())[0]]


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(tmp_path, monkeypatch)


def size(path: Path) -> int:
    return path.stat().st_blocks * 512


def test_the_reserve_takes_room_until_it_is_released(tmp_path: Path) -> None:
    path = tmp_path / "reserve"
    reserve = Reserve(path)
    assert size(path) >= SIZE
    assert reserve.release()
    assert (size(path), path.stat().st_size, reserve.released) == (0, 0, True)
    assert not reserve.release()


@pytest.mark.parametrize(("number", "released"), [(errno.ENOSPC, True), (errno.EOPNOTSUPP, False)])
def test_a_file_system_that_cannot_set_room_aside_is_not_a_full_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, released: bool
) -> None:
    def refuse(*_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    reserve = Reserve(tmp_path / "reserve")
    assert reserve.released is released
    assert (tmp_path / "reserve").exists() is released
    assert LocalRunDirs(tmp_path).found_full(tmp_path) is released


def test_a_batch_in_flight_is_written_down_and_none_begins_on_the_reserve(disk: Disk) -> None:
    disk.journal.append(PLANNED)
    disk.full = True
    disk.journal.append(DONE)
    assert disk.reserve.released
    with pytest.raises(DiskFull):
        disk.journal.append(PLANNED)
    disk.journal.append(Exited(code=17, reason="full"))
    assert disk.entries() == [PLANNED, DONE, Exited(code=17, reason="full")]


def test_a_batch_that_finds_the_disk_full_releases_the_reserve_and_does_not_begin(disk: Disk) -> None:
    disk.full = True
    with pytest.raises(JournalUnwritable):
        disk.journal.append(PLANNED)
    assert disk.reserve.released
    disk.journal.append(Exited(code=17, reason="full"))
    assert disk.entries() == [Exited(code=17, reason="full")]


def test_nothing_is_half_written_where_the_room_was_taken_by_others(disk: Disk) -> None:
    disk.full = disk.stolen = True
    with pytest.raises(JournalUnwritable):
        disk.journal.append(DONE)
    assert disk.journal_path.read_bytes() == b""


def test_the_room_is_taken_again_when_there_is_enough(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    now, free = [time.monotonic()], [0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    found: Callable[[Path], DiskSpace] = lambda path: DiskSpace(str(path), free[0], 1 << 40)  # noqa: E731
    monkeypatch.setattr(DiskSpace, "of", staticmethod(found))
    disk.full = True
    disk.journal.append(DONE)
    for free[0], released in ((0, True), (15 << 20, True), (16 << 20, False)):
        now[0] += 5
        disk.reserve.refill()
        assert disk.reserve.released is released
    disk.full = False
    disk.journal.append(PLANNED)
    assert disk.entries() == [DONE, PLANNED]


def test_a_document_that_cannot_be_written_leaves_the_old_one_and_no_other_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "control.json"
    write_atomically(path, b"{}")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, b"another")
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("control.json", b"{}")]
    assert Control.load(path) is None
