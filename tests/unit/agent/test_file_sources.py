"""Growing and finished files are read as Flume reads them, and nothing is lost where Flume loses it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.vectors import Vector, drives, vector
from workers.agent.base.batch_limits import BatchLimits
from workers.agent.files import tail
from workers.agent.files.spool import FileChanged, Rules, Spool, SpoolReader
from workers.agent.files.tail import Group, Tail, listing
from workers.agent.files.tail_reader import TailReader
from workers.agent.positions.checkpoint import Offsets
from workers.agent.ranges.ranges import Pace, RangeLost, RangeReader, slices


class Cursor:
    """What one query does: plans a batch, reads it, and goes on from there."""

    def __init__(self, reader: RangeReader) -> None:
        self.reader = reader
        self.position: Offsets = {}

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        end = Pace(self.reader, BatchLimits(most)).advance(self.position, most)
        parts = slices(self.position, end, self.reader.rank)
        batches = [batch for part in parts for batch in self.reader.batches(part)]
        found = [row for batch in batches for row in batch.to_pylist()]
        self.position = end
        return found

    def bodies(self, most: int | None = None) -> list[str]:
        return [row["value"].decode() for row in self.rows(most)]


class Tailing(Cursor):
    """One directory that is followed, with a clock that stands still unless it is moved."""

    def __init__(self, directory: Path, *patterns: str, idle: float = 0.0, share: int = 0, **labels: str) -> None:
        self.directory = directory
        self.now = 0.0
        directory.mkdir(exist_ok=True)
        self.registry = directory.parent / "registry.json"
        groups = {
            f"g{number or ''}": Group(str(directory), pattern, idle, lambda: self.now)
            for number, pattern in enumerate(patterns or (".*",))
        }
        self.tail = Tail(groups, self.registry)
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


@pytest.fixture
def tailing(tmp_path: Path) -> Tailing:
    return Tailing(tmp_path / "d", idle=10.0)


def quoted(step: str) -> str:
    """The text that a step has in quotes, with its escapes."""
    return step.partition("'")[2].rpartition("'")[0].replace("\\n", "\n").replace("\\r", "\r")


@drives("TR-003")
def test_a_file_that_appears_is_read_once(vector: Vector, tailing: Tailing) -> None:
    sizes = []
    for step in vector.steps:
        if step == "create file1 with 2 lines":
            tailing.write("file1", "file1line1\nfile1line2\n")
        else:
            tailing.scan()
            sizes.append(len(tailing.bodies()))
    assert sizes == vector.expected["sizes"]


@drives("TR-006")
def test_empty_files_are_passed_over(vector: Vector, tailing: Tailing) -> None:
    assert vector.steps == ["file1 two lines, file2 empty"]
    tailing.write("file2", "")
    tailing.write("file1", "1\n2\n")
    assert len(tailing.bodies()) == vector.expected["events"]
    assert next(iter(tailing.bodies()), None) == vector.expected["then"]


def to_partial_line(tailing: Tailing, step: str) -> list[str]:
    tailing.write("f", quoted(step.partition("(")[0]))
    return tailing.bodies(5)


def to_joined_halves(tailing: Tailing, step: str) -> list[str]:
    to_partial_line(tailing, vector("TR-007").steps[0])
    tailing.write("f", quoted(step))
    return tailing.bodies()


def to_idle_end(tailing: Tailing, _: str) -> list[str]:
    to_joined_halves(tailing, vector("TR-008").steps[0])
    tailing.now = 11.0
    tailing.scan()
    return tailing.bodies()


PARTIAL = {"file": to_partial_line, "as TR-007,": to_joined_halves, "as TR-008,": to_idle_end}


@drives("TR-007", "TR-008", "TR-009")
def test_a_partial_line_waits_for_its_end_or_for_the_file_to_rest(vector: Vector, tailing: Tailing) -> None:
    step = vector.steps[0]
    (act,) = [act for start_at, act in PARTIAL.items() if step.startswith(f"{start_at} ")]
    assert act(tailing, step) == vector.expected["bodies"]


@drives("TR-015")
def test_a_line_ends_with_a_line_feed_or_a_carriage_return_before_one(vector: Vector, tailing: Tailing) -> None:
    tailing.write("f", quoted(vector.steps[0]))
    assert tailing.bodies() == vector.expected["bodies"]


@drives("TR-016")
def test_a_truncated_file_is_read_from_its_new_beginning(vector: Vector, tailing: Tailing) -> None:
    assert vector.steps == ["file truncated below the saved position", "rescan"]
    tailing.write("f", "1\n2\n3\n")
    tailing.bodies()
    os.truncate(tailing.directory / "f", 0)
    tailing.write("f", "4\n5\n")
    claims = {"all lines of the new content": ["4", "5"]}
    assert tailing.bodies() == claims[vector.expected["events"]]


@drives("TR-020")
def test_the_size_decides_where_the_time_is_the_same(vector: Vector, tailing: Tailing) -> None:
    assert vector.steps == ["read line1, commit", "append line2 within the same mtime tick", "rescan"]
    tailing.write("f", "line1\n")
    assert tailing.bodies() == ["line1"]
    stat = (tailing.directory / "f").stat()
    with (tailing.directory / "f").open("a") as file:
        file.write("line2\n")
    os.utime(tailing.directory / "f", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    tailing.scan()
    assert (tailing.bodies() == ["line2"]) is vector.expected["needs_tail"]


def write_each(tailing: Tailing, names: str) -> None:
    for name in names.split(","):
        tailing.write(name, f"{name}\n")


@drives("TM-002")
def test_files_come_and_go(vector: Vector, tmp_path: Path) -> None:
    tailing = Tailing(tmp_path / "d", vector.config["pattern"].removeprefix("<dir>/"))
    counts = []
    for step in vector.steps:
        match step.split():
            case [names, "exist"]:
                write_each(tailing, names)
            case ["append" | "create", names]:
                write_each(tailing, names)
            case ["delete", name]:
                (tailing.directory / name).unlink()
                tailing.scan()
        present = [file for file in tailing.tail.files().values() if file.present]
        counts.append(len(present))
    assert counts == vector.expected["counts"]
    assert (not any(file.path.endswith("file0") for file in present)) is vector.expected["file0_gone"]


@drives("TM-007")
def test_patterns_match_whole_names(vector: Vector, tmp_path: Path) -> None:
    tailing = Tailing(tmp_path / "d", vector.config["pattern"].removeprefix("<dir>/"))
    write_each(tailing, vector.steps[0].replace(" ", ","))
    assert sorted(tailing.bodies()) == vector.expected["files"]


@drives("TS-001")
def test_file_groups_have_patterns_of_their_own(vector: Vector, tmp_path: Path) -> None:
    assert vector.steps == ["five files one line each"]
    groups = [
        vector.config[f"filegroups.{name}"].removeprefix("<dir>/") for name in vector.config["filegroups"].split()
    ]
    tailing = Tailing(tmp_path / "d", *groups)
    write_each(tailing, ",".join(["a.log.1", *vector.expected["bodies_set"]]))
    assert sorted(tailing.bodies()) == vector.expected["bodies_set"]


@drives("TS-009")
def test_busy_files_do_not_starve_others(vector: Vector, tmp_path: Path) -> None:
    config, (files, process) = vector.config, vector.input_events
    assert files == {"op": "two files x 4 lines"}
    share = config["batchSize"] * config["maxBatchCount"]
    tailing = Tailing(tmp_path / "d", share=share)
    for name in "AB":
        tailing.write(name, "".join(f"{name}{number}\n" for number in range(1, 5)))
    order = [body for _ in range(process["times"]) for body in tailing.bodies(2 * share)]
    if order[0] == "B1":
        order = [body.translate(str.maketrans("AB", "BA")) for body in order]
    assert " ".join(order) == vector.expected["order"].partition(" (")[0]


@drives("TS-011")
def test_a_failed_batch_of_one_file_stays_its_own(vector: Vector, tailing: Tailing) -> None:
    assert vector.config == {"files": "A and B"}
    failed = "interceptor raises a non-channel error on a batch of A"
    assert vector.steps == [failed, "B gets new lines and is scanned before A", "interceptor healthy again"]
    tailing.write("A", "a1\n")
    before = dict(tailing.position)
    assert tailing.bodies() == ["a1"]
    tailing.position = before  # the batch failed, and comes again
    tailing.write("B", "b1\n")
    claims = {"per-file uncommitted state; no line lost": ["a1", "b1"]}
    assert sorted(tailing.bodies()) == claims[vector.expected["ours_must"]]


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


def spooling_as(vector: Vector, tmp_path: Path) -> Spooling:
    """The directory of a vector, with Flume's keys."""
    config = vector.config
    labels = {"path": config.get("fileHeaderKey", "file")} if config.get("fileHeader") else {}
    labels |= {"name": config["basenameHeaderKey"]} if config.get("basenameHeader") else {}
    return Spooling(tmp_path / "s", recursive=config.get("recursiveDirectorySearch", False), **labels)


@drives("SP-003", "SP-004")
def test_a_header_has_the_path_or_the_name_of_the_file(vector: Vector, tmp_path: Path) -> None:
    assert vector.steps == ["file of 8 lines"]
    spooling = spooling_as(vector, tmp_path)
    path = spooling.drop("f", EIGHT)
    rows = spooling.rows()
    ((key, meaning),) = vector.expected["header"].items()
    value = {"<absolute path>": str(path), "<file name>": path.name}[meaning]
    assert all(row["headers"] == [{"key": key, "value": value.encode()}] for row in rows)
    assert len(rows) == vector.expected.get("events", 8)


@drives("SP-005", "SP-006")
def test_directories_below_are_read_where_that_is_asked_for(vector: Vector, tmp_path: Path) -> None:
    below = {"file three directories deep": "one/two/three/f", "file in a sub directory": "one/f"}
    spooling = spooling_as(vector, tmp_path)
    spooling.drop(below[vector.steps[0]], EIGHT)
    expected = vector.expected["events"]
    assert len(spooling.bodies()) == {"all lines": 8}.get(expected, expected)


@drives("SP-008")
def test_an_empty_file_is_an_event(vector: Vector, tmp_path: Path) -> None:
    assert vector.steps == ["1 line file, then 3 empty files"]
    spooling = spooling_as(vector, tmp_path)
    spooling.drop("a", "1 line\n")
    for name in "bcd":
        spooling.drop(name, "")
    rows = spooling.rows()
    assert [row["value"] for row in rows] == [b"1 line", b"", b"", b""]
    assert len(rows) == vector.expected["accepted"]
    assert any(row["problem"] for row in rows) is vector.expected["fatal"]


@drives("SP-009")
def test_ten_empty_files_are_ten_events(vector: Vector, tmp_path: Path) -> None:
    spooling = spooling_as(vector, tmp_path)
    for number in range(int(vector.steps[0].split()[0])):
        spooling.drop(str(number), "")
    bodies = [body for _ in range(4) for body in spooling.bodies(3)]
    assert len(bodies) == vector.expected["events"]
    assert {{"": "empty"}[body] for body in bodies} == {vector.expected["bodies"]}


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


@pytest.mark.parametrize("instant", ["before the look", "after the look at names"])
def test_a_file_that_is_rotated_while_it_is_looked_at_is_not_taken_for_truncated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, instant: str
) -> None:
    """The name that a look has found belongs to another file by the time that it is opened."""
    tailing = Tailing(tmp_path / "d")
    tailing.write("app.log", "one\ntwo\n")
    with (tailing.directory / "app.log").open("a") as file:
        file.write("three\n")

    def rotate() -> None:
        (tailing.directory / "app.log").rename(tailing.directory / "app.log.1")
        (tailing.directory / "app.log").write_text("four, of another length\n")

    def rotated(directory: str) -> dict[int, tail.Found]:
        found = listing(directory)
        rotate()
        return found

    if instant == "before the look":
        rotate()
    else:
        monkeypatch.setattr(tail, "listing", rotated)
    tailing.scan()
    monkeypatch.undo()
    tailing.scan()
    assert sorted(tailing.bodies()) == ["four, of another length", "one", "three", "two"]
    assert [span for file in tailing.tail.files().values() for span in file.past] == []


def test_a_copy_that_is_made_while_a_look_goes_on_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The names are listed, the file is copied and truncated, and then its size is looked at."""
    tailing = Tailing(tmp_path / "d")
    tailing.write("app.log", "one\ntwo\n")

    def copied_in_between(directory: str) -> dict[int, tail.Found]:
        names = set(listing(directory))
        shutil.copyfile(tailing.directory / "app.log", tailing.directory / "app.log.1")
        (tailing.directory / "app.log").write_text("3\n")
        monkeypatch.undo()
        return {inode: each for inode, each in listing(directory).items() if inode in names}

    monkeypatch.setattr(tail, "listing", copied_in_between)
    tailing.scan()
    tailing.scan()
    assert tailing.bodies() == ["one", "two", "3"]


@pytest.mark.parametrize("renamed", ["app.log", "app.log.1"])
def test_a_copy_is_no_file_of_its_own_where_names_change_while_it_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renamed: str
) -> None:
    """One of the two names belongs to a third file by the time that it is opened."""
    tailing = Tailing(tmp_path / "d")
    tailing.write("app.log", "one\ntwo\n")
    shutil.copyfile(tailing.directory / "app.log", tailing.directory / "app.log.1")

    def renamed_in_between(directory: str) -> dict[int, tail.Found]:
        found = listing(directory)
        (tailing.directory / renamed).rename(tailing.directory / "app.log.2")
        (tailing.directory / renamed).write_text("of another kind\n")
        monkeypatch.undo()
        return found

    monkeypatch.setattr(tail, "listing", renamed_in_between)
    tailing.scan()
    (tailing.directory / ("app.log.2" if renamed == "app.log" else "app.log")).write_text("3\n")
    tailing.scan()
    assert sorted(tailing.bodies()) == ["3", "of another kind", "one", "two"]


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
