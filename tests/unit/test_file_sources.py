"""Growing and finished files are read as Flume reads them, and nothing is lost where Flume loses it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.components.source_spooldir import SpooldirSource
from tests.vectors import Vector, applicable
from workers.agent.checkpoint import Offsets
from workers.agent.files.spool import FileChanged, Rules, Spool, SpoolReader
from workers.agent.files.tail import Group, Tail
from workers.agent.files.tail_reader import TailReader
from workers.agent.ranges import RangeLost, RangeReader, advance, slices

VECTORS = {v.id: v for family in ("source.taildir", "source.spooldir") for v in applicable(family)}


class Cursor:
    """What one query does: plans a batch, reads it, and goes on from there."""

    def __init__(self, reader: RangeReader) -> None:
        self.reader = reader
        self.position: Offsets = {}

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        end = advance(self.reader, self.position, most)
        batches = [batch for part in slices(self.position, end) for batch in self.reader.batches(part)]
        found = [row for batch in batches for row in batch.to_pylist()]
        self.position = end
        return found

    def bodies(self, most: int | None = None) -> list[str]:
        return [row["value"].decode() for row in self.rows(most)]


class Tailing(Cursor):
    """One directory that is followed, with a clock that stands still unless it is moved."""

    def __init__(self, directory: Path, pattern: str = ".*", idle: float = 0.0, share: int = 0, **labels: str) -> None:
        self.directory = directory
        self.now = 0.0
        directory.mkdir(exist_ok=True)
        self.registry = directory.parent / "registry.json"
        self.tail = Tail({"g": Group(str(directory), pattern, idle, lambda: self.now)}, self.registry)
        options = {"registry": str(self.registry), "labels": labels, "headers": {}, "longest": 100, "share": share}
        super().__init__(TailReader(json.dumps(options)))
        self.scan()

    def scan(self) -> None:
        self.tail.scan()

    def write(self, name: str, text: str) -> None:
        with (self.directory / name).open("a", newline="") as file:
            file.write(text)
        self.scan()

    def restarted(self, pattern: str = ".*") -> Tailing:
        position = self.position
        made = Tailing(self.directory, pattern)
        made.position = position
        return made


def empty_then_two_lines(tmp: Path) -> None:
    tailing = Tailing(tmp / "d")
    sizes = [len(tailing.bodies())]
    tailing.write("file1", "file1line1\nfile1line2\n")
    sizes += [len(tailing.bodies()), len(tailing.bodies())]
    assert sizes == VECTORS["TR-003"].expected_events_or_error["sizes"]


def empty_files_are_passed_over(tmp: Path) -> None:
    tailing = Tailing(tmp / "d")
    tailing.write("file2", "")
    tailing.write("file1", "1\n2\n")
    assert tailing.bodies() == ["1", "2"]
    assert tailing.bodies() == []


def partial_lines_wait(tmp: Path) -> None:
    tailing = Tailing(tmp / "d", idle=10.0)
    tailing.write("f", "file1line1\nfile1")
    assert tailing.bodies(5) == ["file1line1"]
    tailing.write("f", "line2\nfile1line3\nfile1line4")
    assert tailing.bodies() == ["file1line2", "file1line3"]
    tailing.now = 11.0
    tailing.scan()
    assert tailing.bodies() == ["file1line4"]


def line_ends(tmp: Path) -> None:
    tailing = Tailing(tmp / "d")
    tailing.write("f", "file1line1\nfile1line2\rfile1line2\nfile1line3\r\nfile1line4\n")
    assert tailing.bodies() == VECTORS["TR-015"].expected_events_or_error["bodies"]


def truncated(tmp: Path) -> None:
    tailing = Tailing(tmp / "d")
    tailing.write("f", "1\n2\n3\n")
    tailing.bodies()
    os.truncate(tmp / "d" / "f", 0)
    tailing.write("f", "4\n5\n")
    assert tailing.bodies() == ["4", "5"]


def size_decides_where_the_time_is_the_same(tmp: Path) -> None:
    tailing = Tailing(tmp / "d")
    tailing.write("f", "line1\n")
    assert tailing.bodies() == ["line1"]
    stat = (tmp / "d" / "f").stat()
    with (tmp / "d" / "f").open("a") as file:
        file.write("line2\n")
    os.utime(tmp / "d" / "f", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    tailing.scan()
    assert tailing.bodies() == ["line2"]


def files_come_and_go(tmp: Path) -> None:
    tailing = Tailing(tmp / "d", "file.*")

    def present() -> int:
        return sum(file.present for file in tailing.tail.files().values())

    counts = []
    tailing.write("file0", "0\n")
    tailing.write("file1", "1\n")
    counts.append(present())
    tailing.write("file1", "more\n")
    counts.append(present())
    tailing.write("file2", "2\n")
    tailing.write("file3", "3\n")
    counts.append(present())
    (tmp / "d" / "file0").unlink()
    tailing.scan()
    counts.append(present())
    assert counts == VECTORS["TM-002"].expected_events_or_error["counts"]


def whole_names_match(tmp: Path) -> None:
    tailing = Tailing(tmp / "d", "[ab].log")
    for name in VECTORS["TM-007"].input_events[0]["op"].split():
        tailing.write(name, f"{name}\n")
    assert sorted(tailing.bodies()) == VECTORS["TM-007"].expected_events_or_error["files"]


def groups_by_pattern(tmp: Path) -> None:
    tailing = Tailing(tmp / "d", r"[ab]\.log|c\.log\..*")
    for name in ("a.log", "a.log.1", "b.log", "c.log.yyyy-MM-01", "c.log.yyyy-MM-02"):
        tailing.write(name, f"{name}\n")
    assert sorted(tailing.bodies()) == VECTORS["TS-001"].expected_events_or_error["bodies_set"]


def busy_files_do_not_starve_others(tmp: Path) -> None:
    tailing = Tailing(tmp / "d", share=2)
    tailing.write("a", "A1\nA2\nA3\nA4\n")
    tailing.write("b", "B1\nB2\nB3\nB4\n")
    order = tailing.bodies(4) + tailing.bodies(4)
    assert [sorted(order[:4]), sorted(order[4:])] == [["A1", "A2", "B1", "B2"], ["A3", "A4", "B3", "B4"]]


def a_failed_batch_of_one_file_stays_its_own(tmp: Path) -> None:
    tailing = Tailing(tmp / "d")
    tailing.write("a", "a1\n")
    before = dict(tailing.position)
    assert tailing.bodies() == ["a1"]
    tailing.position = before  # the batch failed, and comes again
    tailing.write("b", "b1\n")
    assert sorted(tailing.bodies()) == ["a1", "b1"]


class Spooling(Cursor):
    """One spooling directory."""

    def __init__(self, directory: Path, *, recursive: bool = False, completed: str = "rename", **labels: str) -> None:
        directory.mkdir(exist_ok=True)
        self.directory = directory
        registry = directory.parent / "spool.json"
        rules = Rules(str(directory), "[^.].*", "", recursive, "oldest", completed, ".COMPLETED")
        self.spool = Spool(rules, registry)
        self.spool.scan()
        options = {"registry": str(registry), "topic": "s", "labels": labels, "longest": 100}
        super().__init__(SpoolReader(json.dumps(options)))

    def drop(self, name: str, text: str) -> Path:
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.spool.scan()
        return path


EIGHT = "".join(f"line{n}\n" for n in range(8))


def wrong_orders_are_refused(_: Path) -> None:
    with pytest.raises(ValueError, match="consume_order"):
        SpooldirSource.model_validate({"type": "spooldir", "directory": "/d", "consume_order": "undefined"})


def orders_in_any_case(_: Path) -> None:
    for order in VECTORS["SP-002"].config["consumeOrder"]:
        SpooldirSource.model_validate({"type": "spooldir", "directory": "/d", "consume_order": order})


def path_header(tmp: Path) -> None:
    spooling = Spooling(tmp / "s", path="k")
    path = spooling.drop("f", EIGHT)
    rows = spooling.rows()
    assert {row["headers"][0]["value"].decode() for row in rows} == {str(path)}
    assert len(rows) == 8


def name_header(tmp: Path) -> None:
    spooling = Spooling(tmp / "s", name="k")
    spooling.drop("f", EIGHT)
    assert spooling.rows()[0]["headers"] == [{"key": "k", "value": b"f"}]


def directories_below(tmp: Path) -> None:
    spooling = Spooling(tmp / "s", recursive=True)
    spooling.drop("one/two/three/f", EIGHT)
    assert len(spooling.bodies()) == 8


def not_directories_below(tmp: Path) -> None:
    spooling = Spooling(tmp / "s")
    spooling.drop("one/f", EIGHT)
    assert spooling.bodies() == []


def empty_files_are_events(tmp: Path) -> None:
    spooling = Spooling(tmp / "s")
    spooling.drop("a", "1 line\n")
    for name in "bcd":
        spooling.drop(name, "")
    assert spooling.bodies() == ["1 line", "", "", ""]


def all_empty(tmp: Path) -> None:
    spooling = Spooling(tmp / "s", path="file")
    for number in range(10):
        spooling.drop(str(number), "")
    assert [spooling.bodies(3) for _ in range(4)] == [[""] * 3, [""] * 3, [""] * 3, [""]]


CHECKS: dict[str, Callable[[Path], None]] = {
    "TR-003": empty_then_two_lines, "TR-006": empty_files_are_passed_over, "TR-007": partial_lines_wait,
    "TR-008": partial_lines_wait, "TR-009": partial_lines_wait, "TR-015": line_ends, "TR-016": truncated,
    "TR-020": size_decides_where_the_time_is_the_same, "TM-002": files_come_and_go, "TM-007": whole_names_match,
    "TS-001": groups_by_pattern, "TS-009": busy_files_do_not_starve_others,
    "TS-011": a_failed_batch_of_one_file_stays_its_own, "SP-001": wrong_orders_are_refused,
    "SP-002": orders_in_any_case, "SP-003": path_header, "SP-004": name_header, "SP-005": directories_below,
    "SP-006": not_directories_below, "SP-008": empty_files_are_events, "SP-009": all_empty,
}  # fmt: skip


@pytest.mark.parametrize("vector", VECTORS.values(), ids=str)
def test_files_are_read_as_flume_reads_them(vector: Vector, tmp_path: Path) -> None:
    CHECKS[vector.id](tmp_path)


def test_a_renamed_file_is_followed_even_where_its_new_name_does_not_match(tmp_path: Path) -> None:
    tailing = Tailing(tmp_path / "d", r"app\.log")
    tailing.write("app.log", "1\n2\n")
    assert tailing.bodies(1) == ["1"]
    (tmp_path / "d" / "app.log").rename(tmp_path / "d" / "old.gone")
    tailing.write("app.log", "3\n")
    assert sorted(tailing.bodies()) == ["2", "3"]


def test_what_was_truncated_is_read_from_its_copy_and_the_copy_is_not_read_again(tmp_path: Path) -> None:
    tailing = Tailing(tmp_path / "d", r"app\.log(\.\d)?")
    tailing.write("app.log", "1\n2\n3\n")
    assert tailing.bodies(1) == ["1"]
    with (tmp_path / "d" / "app.log").open("a") as file:
        file.write("4\n")  # not seen before the copy is made
    shutil.copyfile(tmp_path / "d" / "app.log", tmp_path / "d" / "app.log.1")
    os.truncate(tmp_path / "d" / "app.log", 0)
    tailing.write("app.log", "5\n")
    assert sorted(tailing.bodies()) == ["2", "3", "4", "5"]
    tailing.now += 100
    tailing.scan()
    tailing = tailing.restarted(r"app\.log(\.\d)?")
    assert tailing.bodies() == []


def test_a_copy_that_is_seen_before_the_truncation_is_waited_for(tmp_path: Path) -> None:
    tailing = Tailing(tmp_path / "d", r"app\.log(\.\d)?")
    tailing.write("app.log", "1\n2\n3\n")
    shutil.copyfile(tmp_path / "d" / "app.log", tmp_path / "d" / "app.log.1")
    tailing.scan()
    assert tailing.bodies() == ["1", "2", "3"]
    os.truncate(tmp_path / "d" / "app.log", 0)
    tailing.write("app.log", "a longer line than before\n")
    assert tailing.bodies() == ["a longer line than before"]


def test_two_files_that_begin_alike_are_both_read(tmp_path: Path) -> None:
    tailing = Tailing(tmp_path / "d")
    tailing.write("a", "start\n")
    tailing.write("b", "start\n")
    first = tailing.bodies()
    tailing.now += 6
    tailing.scan()
    assert first + tailing.bodies() == ["start", "start"]


def test_what_is_truncated_without_a_copy_is_told_with_its_size(tmp_path: Path) -> None:
    tailing = Tailing(tmp_path / "d")
    tailing.write("f", "1\n2\n3\n")
    assert tailing.bodies(1) == ["1"]
    os.truncate(tmp_path / "d" / "f", 0)
    tailing.write("f", "4\n")
    with pytest.raises(RangeLost, match="TRUNCATED: 4 bytes"):
        tailing.bodies()
    ((_, file),) = tailing.tail.files().items()
    assert (file.start(), file.end) == (6, 8)


def test_an_inode_that_is_used_again_goes_on_behind_the_old_file(tmp_path: Path) -> None:
    tailing = Tailing(tmp_path / "d")
    tailing.write("old", "1\n2\n")
    tailing.bodies()
    ((_, inode),) = tailing.tail.files()
    path = tmp_path / "d" / "old"
    path.write_text("x\ny\nz\n")  # the same inode, another content that is longer than the old one
    path.rename(tmp_path / "d" / "new")
    tailing.scan()
    assert tailing.bodies() == ["x", "y", "z"]
    assert tailing.position == {("g", inode): 10}


def test_a_line_that_is_too_long_is_a_problem_and_multi_byte_lines_are_whole(tmp_path: Path) -> None:
    tailing = Tailing(tmp_path / "d", byte="at")
    tailing.write("f", "žluťoučký\n" + "x" * 3_000_000 + "\nkůň\n")
    first, long, last = tailing.rows()
    assert (first["value"].decode(), last["value"].decode()) == ("žluťoučký", "kůň")
    assert long["problem"] == "The line has 3000000 bytes; 100 are allowed."
    assert len(long["value"]) == 100
    assert [row["headers"][0]["value"] for row in (first, long, last)] == [b"0", b"14", b"3000015"]


def test_a_range_reads_the_same_after_a_restart(tmp_path: Path) -> None:
    tailing = Tailing(tmp_path / "d")
    tailing.write("f", "".join(f"{n}\n" for n in range(100)))
    start = dict(tailing.position)
    once = tailing.bodies(30)
    again = tailing.restarted()
    again.position, end = start, tailing.position
    found = [row["value"] for part in slices(start, end) for b in again.reader.batches(part) for row in b.to_pylist()]
    assert [value.decode() for value in found] == once == [str(n) for n in range(30)]


def test_delivered_files_are_renamed_and_a_taken_name_gets_a_number(tmp_path: Path) -> None:
    spooling = Spooling(tmp_path / "s")
    for text in ("1\n", "2\n"):
        spooling.drop("f", text)
        assert spooling.bodies() == [text.strip()]
        spooling.spool.complete(spooling.spool.end)
    assert sorted(path.name for path in (tmp_path / "s").iterdir()) == ["f.COMPLETED", "f.COMPLETED.1"]
    assert Spooling(tmp_path / "s").spool.pending == []


def test_a_kept_file_is_read_once_and_a_changed_one_is_told(tmp_path: Path) -> None:
    spooling = Spooling(tmp_path / "s", completed="keep")
    path = spooling.drop("f", "1\n")
    spooling.bodies()
    spooling.spool.complete(spooling.spool.end)
    spooling.spool.scan()
    assert spooling.bodies() == []
    waiting = spooling.drop("g", "2\n")
    waiting.write_text("3 and more\n")
    with pytest.raises(FileChanged, match="FILE_CHANGED"):
        spooling.spool.scan()
    with pytest.raises(RangeLost, match="FILE_CHANGED"):
        spooling.bodies()
    assert path.exists()
