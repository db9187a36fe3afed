"""A directory with many files is taken in a number of steps that grows with the files, not with their square."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.agent.test_file_sources import Tailing
from workers.agent.files import tail
from workers.agent.files.heads import Heads

MANY = 300


class Opens(Counter[str]):
    """How often each file was opened."""


@pytest.fixture
def opens(monkeypatch: pytest.MonkeyPatch) -> Opens:
    counted, original = Opens(), tail.opened

    @contextmanager
    def opened(found: tail.Found) -> Iterator[BinaryIO]:
        counted[Path(found.path).name] += 1
        with original(found) as file:
            yield file

    monkeypatch.setattr(tail, "opened", opened)
    return counted


def fill(directory: Path, text: str, many: int = MANY) -> None:
    directory.mkdir(exist_ok=True)
    for number in range(many):
        (directory / f"{number:05}.log").write_text(text.format(number))


@pytest.mark.parametrize(
    "text",
    [
        "{0} is a line of its own\n",
        "host,time,level\n" + "{0},2026-11-23,INFO\n",
        "a line that all files have\n" * 20 + "{0}\n",
        "{0}\n" * 2000,
        "the same line\n",
    ],
    ids=["short", "a header", "a long header", "long", "equal"],
)
def test_a_first_scan_opens_each_file_a_fixed_number_of_times(tmp_path: Path, opens: Opens, text: str) -> None:
    fill(tmp_path / "d", text)
    Tailing(tmp_path / "d")
    assert sum(opens.values()) <= 3 * MANY


def test_a_file_that_comes_later_does_not_open_the_others_again(tmp_path: Path, opens: Opens) -> None:
    fill(tmp_path / "d", "{0} is a line of its own\n")
    tailing = Tailing(tmp_path / "d")
    opens.clear()
    tailing.write("new.log", "another line\n")
    assert dict(opens) == {"new.log": 2}


def test_after_a_restart_each_file_is_opened_once_for_all_that_are_new(tmp_path: Path, opens: Opens) -> None:
    fill(tmp_path / "d", "{0} is a line of its own\n")
    tailing = Tailing(tmp_path / "d")
    for name in ("new", "newer", "newest"):
        (tmp_path / "d" / name).write_text(f"{name}\n")
    opens.clear()
    again = tailing.restarted()
    assert sum(opens.values()) <= MANY + 3 * 2
    assert {"new", "newer", "newest"} <= {*again.bodies()}


def test_files_that_are_all_truncated_look_for_their_copies_in_a_fixed_number_of_steps(
    tmp_path: Path, opens: Opens, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "d"
    fill(directory, "{0} is a line of its own\n")
    tailing = Tailing(directory)
    for file in list(directory.iterdir())[::2]:
        (directory / f"{file.name}.1").write_bytes(file.read_bytes())
    for file in directory.glob("*.log"):
        file.write_text("new\n")
    listings = Counter[str]()
    monkeypatch.setattr(tail, "listing", lambda at, original=tail.listing: listings.update([at]) or original(at))
    opens.clear()
    tailing.scan()
    assert sum(opens.values()) <= 8 * MANY
    assert listings.total() == 2
    assert len(tailing.tail.groups["g"].copies) == MANY // 2


def test_files_are_read_oldest_first_and_by_name_where_they_are_of_one_age(tmp_path: Path) -> None:
    directory = tmp_path / "d"
    directory.mkdir()
    ages = {"new": 30, "b-old": 10, "a-old": 10, "middle": 20}
    for name, at in ages.items():
        (directory / name).write_text(f"{name} 1\n{name} 2\n")
        os.utime(directory / name, (at, at))
    tailing = Tailing(directory)
    files = ["a-old", "b-old", "middle", "new"]
    assert tailing.bodies() == [f"{name} {number}" for name in files for number in (1, 2)]


def test_the_oldest_file_gets_what_is_left_of_a_batch(tmp_path: Path) -> None:
    directory = tmp_path / "d"
    directory.mkdir()
    for name, at in {"new": 30, "old": 10}.items():
        (directory / name).write_text(f"{name} 1\n{name} 2\n")
        os.utime(directory / name, (at, at))
    assert Tailing(directory).bodies(1)[0] == "old 1"


def test_many_equal_files_are_all_read_once_it_is_clear_that_they_are_no_copies(tmp_path: Path) -> None:
    fill(tmp_path / "d", "the same line\n", many=20)
    tailing = Tailing(tmp_path / "d")
    assert len(tailing.bodies()) == 1
    tailing.now += 6.0
    tailing.scan()
    assert len(tailing.bodies()) == 19


@given(st.lists(st.binary(max_size=6), max_size=30), st.binary(min_size=1, max_size=6), st.data())
def test_heads_find_exactly_those_that_begin_alike(kept: list[bytes], head: bytes, data: st.DataObject) -> None:
    heads = Heads()
    for inode, each in enumerate(kept):
        heads.put(inode, each)
    gone = data.draw(st.sets(st.sampled_from(range(len(kept))))) if kept else set()
    for inode in gone:
        heads.drop(inode)
    alike = {
        inode
        for inode, each in enumerate(kept)
        if each and inode not in gone and (each.startswith(head) or head.startswith(each))
    }
    found = list(heads.alike(head))
    assert (set(found), len(found)) == (alike, len(alike))
