"""Finished files, one after the other (Flume's ReliableSpoolingFileEventReader).

All files of a directory are one partition: each new file is added to the end, and takes one offset more than it has
bytes, so that an empty file, which is one event with an empty body, has one, too.
"""

from __future__ import annotations

import json
import os
import random
import re
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO

import pyarrow as pa

from pipelines.domain.access.reach import ReachPolicy
from pipelines.domain.base.files import write_atomically
from pipelines.domain.base.positions import TopicPartition
from workers.agent.base import reach
from workers.agent.files import lines
from workers.agent.files.lines import Labels, Lines
from workers.agent.files.registry import of_type, reading
from workers.agent.positions.checkpoint import Offsets
from workers.agent.ranges.ranges import RangeLost, RangeReader, Slice, waiting


class FileChanged(RuntimeError):
    """A file is not what it was when it was taken."""


@dataclass(frozen=True)
class Taken:
    """A file that was taken: its offsets begin at `base`."""

    path: str
    inode: int
    size: int
    changed_ns: int
    base: int

    @property
    def end(self) -> int:
        """The offset after it."""
        return self.base + self.size + 1

    def problem(self) -> tuple[str, str] | None:
        """Code and words where it is not there any more as it was."""
        try:
            stat = Path(self.path).stat()
        except OSError as error:
            return "FILE_GONE", f"{self.path} was assigned and can no longer be read: {error.strerror}."
        if (stat.st_ino, stat.st_size, stat.st_mtime_ns) != (self.inode, self.size, self.changed_ns):
            message = f"{self.path} was changed after it was assigned: {self.size} bytes then, {stat.st_size} now."
            return "FILE_CHANGED", message
        return None


@dataclass(frozen=True)
class Rules:
    """Which files are taken, in which order, and what becomes of them (keys of the definition). `again`: those that
    were renamed once they had been delivered are taken, too."""

    directory: str
    include: str
    ignore: str
    recursive: bool
    order: str
    completed: str
    suffix: str
    reach: ReachPolicy | None = None
    again: bool = False


class Spool:
    """The files of one directory, and the file that remembers them."""

    def __init__(self, rules: Rules, registry: Path) -> None:
        self.registry = registry
        self.pending: list[Taken] = []
        self.end = 0
        self._rules = rules
        self._include, self._ignore = re.compile(rules.include), re.compile(rules.ignore)
        self._kept: set[tuple[int, int, int]] = set()
        self._lock = threading.Lock()
        self._load()

    def _load(self) -> None:
        if not self.registry.exists():
            return
        with reading(self.registry):
            written = json.loads(self.registry.read_bytes())
            self.pending = [Taken(**of_type(Taken, each)) for each in written["pending"]]
            self.end = int(written["end"])
            self._kept = {(int(inode), int(size), int(changed)) for inode, size, changed in written["kept"]}
            if self.pending and self.pending[-1].end > self.end:
                raise ValueError(f"{self.pending[-1].path} ends after the end of all files")

    def _store(self) -> None:
        pending = [asdict(each) for each in self.pending]
        document = {"end": self.end, "pending": pending, "kept": sorted(self._kept)}
        self.registry.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self.registry, json.dumps(document).encode())

    @property
    def start_at(self) -> int:
        """The lowest offset that can be read."""
        with self._lock:
            return self.pending[0].base if self.pending else self.end

    def scan(self) -> None:
        """Take what is new. Raises FileChanged where a file changed that was taken before."""
        with self._lock:
            known = {each.inode for each in self.pending}
            waiting = [each for each in self._found() if each[1].st_ino not in known and not self._was_kept(each[1])]
            for path, stat in self._ordered(waiting):
                taken = Taken(path, stat.st_ino, stat.st_size, stat.st_mtime_ns, self.end)
                self.pending.append(taken)
                self.end = taken.end
            if waiting or not self.registry.exists():
                self._store()
            problem = next((found for each in self.pending if (found := each.problem())), None)
        if problem:
            raise FileChanged(": ".join(problem))

    def _was_kept(self, stat: os.stat_result) -> bool:
        return (stat.st_ino, stat.st_size, stat.st_mtime_ns) in self._kept

    def _found(self) -> Iterator[tuple[str, os.stat_result]]:
        for directory, below, names in os.walk(self._rules.directory):
            for name in names:
                path = os.path.join(directory, name)  # noqa: PTH118 - many of them
                if self._is_wanted(name) and (stat := _regular(path)) is not None:
                    yield path, stat
            below[:] = sorted(name for name in below if not name.startswith(".")) if self._rules.recursive else []

    def _is_wanted(self, name: str) -> bool:
        if self._rules.completed == "rename" and self._rules.suffix in name:
            if not self._rules.again:
                return False
            name = name.rpartition(self._rules.suffix)[0]
        return bool(self._include.fullmatch(name)) and not self._ignore.fullmatch(name)

    def _ordered(self, waiting: list[tuple[str, os.stat_result]]) -> list[tuple[str, os.stat_result]]:
        if self._rules.order == "random":
            random.shuffle(waiting)
            return waiting
        youngest = self._rules.order == "youngest"
        return sorted(waiting, key=lambda each: (-each[1].st_mtime_ns if youngest else each[1].st_mtime_ns, each[0]))

    def since(self, seconds: float) -> int:
        """The offset of the first file that was changed at this time or later; files are in the order of that."""
        with self._lock:
            return next((each.base for each in self.pending if each.changed_ns >= seconds * 1e9), self.end)

    def complete(self, reached: int) -> None:
        """Let go of the files before an offset: rename, delete or keep them."""
        with self._lock:
            done = [each for each in self.pending if each.end <= reached]
            for each in done:
                self._let_go(each)
            if done:
                self.pending = [each for each in self.pending if each.end > reached]
                self._store()

    def _let_go(self, taken: Taken) -> None:
        if self._rules.completed == "keep":
            self._kept.add((taken.inode, taken.size, taken.changed_ns))
            return
        if taken.problem() is not None:
            return  # renamed or deleted by somebody else, or by a run that was killed before it could write it down
        if self._rules.completed == "delete":
            reach.unlink(taken.path, self._rules.reach)
        else:
            reach.rename(taken.path, _free(taken.path + self._rules.suffix), self._rules.reach)


def _regular(path: str) -> os.stat_result | None:
    try:
        stat = Path(path).stat()
    except OSError:
        return None
    return stat if S_ISREG(stat.st_mode) else None


def _free(path: str) -> str:
    """The path, or one with a number behind it where that is taken."""
    candidate, number = path, 0
    while Path(candidate).exists():
        number += 1
        candidate = f"{path}.{number}"
    return candidate


class SpoolReader(RangeReader):
    """Configuration: `{"registry", "topic", "labels", "longest", "renamed"}`. `renamed`: what another process may have
    added to the names of the files meanwhile."""

    def __init__(self, config: str) -> None:
        options = json.loads(config)
        self._registry = Path(options["registry"])
        self._key = TopicPartition(options["topic"], 0)
        self._labels = Labels(**options["labels"])
        self._longest: int = options["longest"]
        self._reach = reach.of_options(options)
        self._renamed: str = options.get("renamed", "")

    def _check(self) -> tuple[int, list[Taken]]:
        written = json.loads(self._registry.read_bytes())
        return written["end"], [Taken(**each) for each in written["pending"]]

    def ends(self) -> Offsets:
        """The end of the last file that was taken."""
        return {self._key: self._check()[0]}

    def limit(self, start: Offsets, end: Offsets, max_events: int) -> Offsets:
        """File after file."""
        start_at, last, left = start.get(self._key, 0), end[self._key], max_events
        for taken in self._between(start_at, last):
            first = max(start_at, taken.base) - taken.base
            with self._opened(taken) as file:
                at, used = lines.nth_end(file, first, taken.size, left)
            left -= max(used, not taken.size)
            if left <= 0:
                return {self._key: min(last, taken.end if at == taken.size else taken.base + at)}
        return {self._key: last}

    def newest(self, start: int, end: int, most: int) -> int:
        """Where the last `most` lines of [start, end) begin, from the last file on backwards."""
        found, left, room = end, most, lines.MOST_BACK
        for taken in reversed(self._between(start, end)):
            if not left or room <= 0:
                break
            first, at, count = max(start, taken.base) - taken.base, 0, 1
            if taken.size:
                with self._opened(taken) as file:
                    at, count = lines.nth_start(file, first, taken.size, left, room)
            found, left, room = taken.base + at, left - count, room - (taken.size - at)
            if at > first:
                break
        return found

    def is_full(self, start: Offsets, end: Offsets, max_events: int) -> bool:
        """Offsets count bytes, and to count lines would take reading them."""
        return waiting(start, end) >= max_events * lines.TYPICAL_LENGTH

    def _between(self, start: int, end: int) -> list[Taken]:
        found = [taken for taken in self._check()[1] if taken.base < end and taken.end > start]
        if start < end and (not found or found[0].base > start or found[-1].end < end):
            raise RangeLost(f"FILE_GONE: the files with the offsets from {start} to {end} were released already")
        return found

    def batches(self, part: Slice) -> Iterator[pa.RecordBatch]:
        """Line by line, file by file; raises RangeLost where one is not what it was."""
        for taken in self._between(part.start, part.end):
            start_at = max(part.start, taken.base) - taken.base
            end = min(part.end - taken.base, taken.size)
            with self._opened(taken) as file:
                if not taken.size:
                    yield self._events(Lines(0, [0], [b""], [None]), taken)
                for some in lines.read(file, start_at, end, self._longest):
                    yield self._events(some, taken)

    def _events(self, some: Lines, taken: Taken) -> pa.RecordBatch:
        return lines.events(some, self._key, taken.base, taken.path, self._labels, {})

    def _opened(self, taken: Taken) -> BinaryIO:
        problem = taken.problem()
        if problem and self._renamed:
            taken = replace(taken, path=taken.path + self._renamed)
            problem = taken.problem() and problem
        if problem:
            raise RangeLost(": ".join(problem))
        return reach.opened_for_reading(taken.path, self._reach)
