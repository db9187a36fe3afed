"""When a disk is full, when it is low, and when an agent can start on it."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from pipelines.domain.hosts.disk import DiskSpace, DiskState, Margin, is_disk_full, scarcest

MIB, GIB = 1 << 20, 1 << 30


def space(free: int, total: int = 1000 * GIB, files: int | None = None) -> DiskSpace:
    return DiskSpace("/runs", free, total, files)


@pytest.mark.parametrize(
    ("free", "total", "state"),
    [
        (0, 1000 * GIB, DiskState.FULL),
        (MIB - 1, 1000 * GIB, DiskState.FULL),
        (MIB, 1000 * GIB, DiskState.LOW),
        (GIB - 1, 1000 * GIB, DiskState.LOW),
        (GIB, 1000 * GIB, DiskState.OK),
        (100 * 1024, 8 * MIB, DiskState.LOW),
        (80 * 1024, 8 * MIB, DiskState.FULL),
        (MIB, 8 * MIB, DiskState.OK),
        (0, 0, DiskState.OK),
    ],
)
def test_a_disk_is_full_or_low_by_its_own_size(free: int, total: int, state: DiskState) -> None:
    assert space(free, total).state(Margin()) is state


def test_a_disk_that_takes_no_more_files_is_full() -> None:
    assert space(GIB, files=0).full
    assert not space(GIB, files=0).startable
    assert not space(GIB, files=100).full


def test_a_start_needs_more_than_what_an_agent_needs_to_go_on() -> None:
    assert not space(2 * MIB).full
    assert not space(2 * MIB).startable
    assert space(16 * MIB).startable
    assert not space(300 * 1024, 8 * MIB).startable
    assert space(500 * 1024, 8 * MIB).startable


@pytest.mark.parametrize(
    ("text", "of_100_gib", "written"),
    [
        ("2GiB", 2 * GIB, "2GiB"),
        ("10%", 10 * GIB, "10%"),
        ("1GiB,5%", GIB, "1GiB,5%"),
        (" 50% , 2GiB ", 2 * GIB, "2GiB,50%"),
        ("0", 0, "0"),
        ("1048576", MIB, "1MiB"),
    ],
)
def test_a_margin_is_a_size_a_share_or_the_smaller_of_both(text: str, of_100_gib: int, written: str) -> None:
    margin = Margin.parse(text)
    assert margin.of(100 * GIB) == of_100_gib
    assert str(margin) == written


@pytest.mark.parametrize("text", ["", "lots", "1GiB,2GiB", "5%,6%", "-1", "200%"])
def test_a_margin_that_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Margin.parse(text)


def test_the_scarcer_disk_counts() -> None:
    assert scarcest([space(500 * MIB), None, space(400 * MIB)]) == space(400 * MIB)
    assert scarcest([space(GIB), space(MIB)]) == space(MIB)
    assert scarcest([space(500 * MIB), space(MIB, 8 * MIB)]) == space(MIB, 8 * MIB)
    full_of_files = space(GIB, files=0)
    assert scarcest([full_of_files, space(2 * MIB)]) == full_of_files
    assert scarcest([None]) is None


def test_a_directory_that_exists_has_room_and_another_is_unknown(tmp_path: Path) -> None:
    found = DiskSpace.of(tmp_path)
    assert found is not None
    assert 0 < found.free <= found.total
    assert DiskSpace.of(tmp_path / "absent") is None


def test_a_full_disk_is_recognized_by_its_number_by_its_words_and_by_what_an_error_was_raised_from() -> None:
    cause = OSError(errno.ENOSPC, "x")
    wrapped = RuntimeError("the journal cannot be written")
    wrapped.__cause__ = cause
    assert is_disk_full(cause)
    assert is_disk_full(OSError(errno.EDQUOT, "x"))
    assert is_disk_full(wrapped)
    assert is_disk_full(None, RuntimeError("java.io.IOException: No space left on device"))
    assert not is_disk_full(OSError(errno.EIO, "x"), RuntimeError("something else"), None)
