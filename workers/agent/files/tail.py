"""Growing files: which there are, what is in them, and what became of them (Flume's ReliableTaildirEventReader).

A partition is (group, inode). Its offsets are bytes of everything that ever stood in that inode, one content after the
other, so that they never go back: a file that is truncated, or an inode that is used again, begins a new content where
the old one ended. The old one is looked for in a copy (copy-and-truncate); where there is none it is gone.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.runs.protocol import write_atomically
from workers.agent.files import lines
from workers.agent.positions.checkpoint import Offsets

_HEAD = 1024
_TAIL = 256
_COPY_PATIENCE = 5.0
"""How long a new file that begins like another one may be the copy that comes before a truncation, in seconds."""
_KEPT_SPANS = 16


@dataclass(frozen=True)
class Print:
    """A few bytes that tell one content from another: the CRC-32 of [at, at + size)."""

    at: int = 0
    size: int = 0
    crc: int = 0

    @classmethod
    def of(cls, descriptor: int, at: int, size: int) -> Print:
        """Of an open file."""
        return cls(at, size, zlib.crc32(os.pread(descriptor, size, at)))

    def fits(self, descriptor: int) -> bool:
        """Whether the file has the same bytes there."""
        return Print.of(descriptor, self.at, self.size) == self


@dataclass
class Span:
    """Offsets [begin, end) of an earlier content, which stands in the file `inode` from its first byte; 0: it is gone,
    and `cause` says how."""

    start_at: int
    end: int
    inode: int
    path: str
    cause: str = ""


@dataclass
class Tracked:
    """A file: its present content begins at offset `base`, has whole lines up to offset `end`, and `size` bytes."""

    path: str
    base: int = 0
    end: int = 0
    size: int = -1
    changed_ns: int = 0
    head: Print = field(default_factory=Print)
    tail: Print = field(default_factory=Print)
    past: list[Span] = field(default_factory=list)
    present: bool = True

    @property
    def whole(self) -> int:
        """Bytes in whole lines."""
        return self.end - self.base

    def start(self) -> int:
        """The lowest offset from which everything up to the end can be read."""
        if not self.present:
            return self.end
        gone = [span.end for span in self.past if not span.inode]
        return max(gone, default=self.past[0].start_at if self.past else self.base)


@dataclass(frozen=True)
class Found:
    """A file as a directory shows it now."""

    inode: int
    path: str
    size: int
    changed_ns: int


@contextmanager
def opened(found: Found) -> Iterator[BinaryIO]:
    """A file that a directory has shown, for reading. Raises OSError where it has another name by now: log files are
    rotated while they are looked at, and the next look finds them."""
    with Path(found.path).open("rb") as file:
        if os.fstat(file.fileno()).st_ino != found.inode:
            raise FileNotFoundError(found.path)
        yield file


def listing(directory: str) -> dict[int, Found]:
    """The regular files of a directory by inode; none where it does not exist yet."""
    found: dict[int, Found] = {}
    try:
        entries = list(os.scandir(directory))
    except FileNotFoundError:
        return found
    for entry in entries:
        try:
            stat = entry.stat()
        except FileNotFoundError:
            continue
        if S_ISREG(stat.st_mode):
            found[stat.st_ino] = Found(stat.st_ino, entry.path, stat.st_size, stat.st_mtime_ns)
    return found


class Group:
    """The files of one group."""

    def __init__(self, directory: str, pattern: str, idle_timeout: float, now: Callable[[], float]) -> None:
        self.directory = directory
        self.files: dict[int, Tracked] = {}
        self.copies: dict[int, Print] = {}
        self.paths: dict[int, str] = {}
        self._pattern = re.compile(pattern)
        self._idle_timeout = idle_timeout
        self._now = now
        self._suspects: dict[int, tuple[int, float]] = {}
        self._grew: dict[int, float] = {}

    def scan(self) -> bool:
        """Look once. True where something else than growth happened."""
        found = listing(self.directory)
        paths = {inode: each.path for inode, each in found.items()}
        structural = paths != self.paths
        self.paths = paths
        for inode, file in self.files.items():
            structural |= self._check_file(file, found.get(inode), found)
        for inode, each in found.items():
            if inode not in self.files and self._is_new(each):
                self.files[inode] = Tracked(each.path)
                self._grow(self.files[inode], each)
                structural = True
        return structural

    def _check_file(self, file: Tracked, now: Found | None, found: Mapping[int, Found]) -> bool:
        was_present, file.present = file.present, now is not None
        if now is None:
            return was_present
        if (now.size, now.changed_ns) == (file.size, file.changed_ns):
            return self._flush_idle(file, now)
        if self._is_same(file, now):
            self._grow(file, now)
            return False
        self._replace(file, now, found)
        self._grow(file, now)
        return True

    @staticmethod
    def _is_same(file: Tracked, now: Found) -> bool:
        if now.size < file.whole:
            return False
        try:
            with opened(now) as content:
                return file.head.fits(content.fileno()) and file.tail.fits(content.fileno())
        except OSError:
            return True

    def _grow(self, file: Tracked, now: Found) -> None:
        try:
            with opened(now) as content:
                file.end = file.base + lines.last_end(content, file.whole, now.size)
                self._remember(file, content.fileno())
        except OSError:
            return
        file.size, file.changed_ns = now.size, now.changed_ns
        self._grew[now.inode] = self._now()

    @staticmethod
    def _remember(file: Tracked, descriptor: int) -> None:
        if file.head.size < _HEAD:
            file.head = Print.of(descriptor, 0, min(_HEAD, file.whole))
        tail = min(_TAIL, file.whole)
        file.tail = Print.of(descriptor, file.whole - tail, tail)

    def _flush_idle(self, file: Tracked, now: Found) -> bool:
        """A last line without an end is taken as it stands once the file has not grown for long enough."""
        idle = self._now() - self._grew.setdefault(now.inode, self._now())
        if not self._idle_timeout or idle < self._idle_timeout or file.whole == now.size:
            return False
        try:
            with opened(now) as content:
                file.end = file.base + now.size
                self._remember(file, content.fileno())
        except OSError:
            return False
        return True

    def _replace(self, file: Tracked, now: Found, found: Mapping[int, Found]) -> None:
        # The names were listed before the files were looked at one by one: a copy may have come in between.
        copy = self._copy_of(file, found) or self._copy_of(file, listing(self.directory))
        if copy is None:
            cause = "TRUNCATED" if now.path == file.path else "INODE_REPLACED"
            span = Span(file.base, file.base + max(file.size, file.whole), 0, file.path, cause)
        else:
            span = Span(file.base, file.base + copy.size, copy.inode, file.path)
            with opened(copy) as content:
                self.copies[copy.inode] = Print.of(content.fileno(), 0, min(_HEAD, copy.size))
        if span.end > span.start_at:
            file.past = [*file.past, span][-_KEPT_SPANS:]
        file.path, file.base, file.end, file.size = now.path, span.end, span.end, -1
        file.head = file.tail = Print()

    def _copy_of(self, file: Tracked, found: Mapping[int, Found]) -> Found | None:
        return next((each for each in found.values() if self._is_copy_of(each, file)), None)

    def _is_copy_of(self, each: Found, file: Tracked) -> bool:
        if each.inode in self.files or each.inode in self.copies or not file.whole or each.size < file.whole:
            return False
        try:
            with opened(each) as content:
                return file.head.fits(content.fileno()) and file.tail.fits(content.fileno())
        except OSError:
            return False

    def _is_new(self, each: Found) -> bool:
        if not self._pattern.fullmatch(Path(each.path).name) or self._is_known_copy(each):
            return False
        if not each.size:
            return False  # it may be a copy in the making; there is nothing in it yet
        if not any(self._starts_like(each, inode, file) for inode, file in self.files.items()):
            self._suspects.pop(each.inode, None)
            return True
        size, since = self._suspects.get(each.inode, (-1, 0.0))
        if size != each.size:
            self._suspects[each.inode] = each.size, self._now()
            return False
        return self._now() - since > _COPY_PATIENCE

    def _is_known_copy(self, each: Found) -> bool:
        known = self.copies.get(each.inode)
        if known is None:
            return False
        try:
            with opened(each) as content:
                fits = known.fits(content.fileno())
        except OSError:
            return True
        if not fits:
            del self.copies[each.inode]
        return fits

    def _starts_like(self, each: Found, inode: int, file: Tracked) -> bool:
        """Whether it may be a copy of the file, whole or still in the making."""
        size = min(each.size, file.whole)
        path = self.paths.get(inode)
        if not size or path is None:
            return False
        try:
            with opened(each) as one, opened(Found(inode, path, file.size, file.changed_ns)) as other:
                first, last = (0, min(size, _HEAD)), (max(0, size - _TAIL), min(size, _TAIL))
                return all(Print.of(one.fileno(), *p) == Print.of(other.fileno(), *p) for p in (first, last))
        except FileNotFoundError:
            return True  # it has another name by now: the next look tells
        except OSError:
            return False


class Tail:
    """All groups of one source, and the file that remembers them; every other process only reads that file."""

    def __init__(
        self, groups: Mapping[str, Group], registry: Path, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.groups = dict(groups)
        self.registry = registry
        self._sleep = sleep
        self._lock = threading.Lock()
        self._written = ""
        self._load()

    def _load(self) -> None:
        if not self.registry.exists():
            return
        for name, written in json.loads(self.registry.read_bytes()).items():
            if name in self.groups:
                group = self.groups[name]
                group.files = {int(inode): tracked(each) for inode, each in written["files"].items()}
                group.copies = {int(inode): Print(**each) for inode, each in written["copies"].items()}
                group.paths = {int(inode): path for inode, path in written["paths"].items()}

    def scan(self) -> None:
        """Look at every directory once, and remember what was seen before anybody is told of it."""
        with self._lock:
            structural = max([group.scan() for group in self.groups.values()], default=False)
            self._store(durable=structural)

    def _store(self, *, durable: bool) -> None:
        text = json.dumps({name: _written(group) for name, group in self.groups.items()})
        if text == self._written:
            return
        self.registry.parent.mkdir(parents=True, exist_ok=True)
        if durable:
            write_atomically(self.registry, text.encode())
        else:
            temporary = self.registry.with_suffix(".new")
            temporary.write_text(text)
            temporary.replace(self.registry)
        self._written = text

    def files(self) -> dict[TopicPartition, Tracked]:
        """Every file by partition."""
        with self._lock:
            return {
                TopicPartition(name, inode): file
                for name, group in self.groups.items()
                for inode, file in group.files.items()
            }

    def ends(self) -> Offsets:
        """Where the whole lines of each partition end."""
        return {key: file.end for key, file in self.files().items()}


def _written(group: Group) -> dict[str, object]:
    return {
        "directory": group.directory,
        "files": {str(inode): asdict(file) for inode, file in group.files.items()},
        "copies": {str(inode): asdict(each) for inode, each in group.copies.items()},
        "paths": {str(inode): path for inode, path in group.paths.items() if _is_needed(group, inode)},
    }


def _is_needed(group: Group, inode: int) -> bool:
    return inode in group.files or inode in group.copies


def tracked(written: dict[str, object]) -> Tracked:
    """A file out of the JSON that the registry keeps."""
    fields = {**written, "head": Print(**written["head"]), "tail": Print(**written["tail"])}  # type: ignore[arg-type]
    fields["past"] = [Span(**span) for span in written["past"]]  # type: ignore[attr-defined]
    return Tracked(**fields)  # type: ignore[arg-type]
