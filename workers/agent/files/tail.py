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
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO

from pipelines.domain.base.files import write_atomically
from pipelines.domain.base.positions import TopicPartition
from workers.agent.files import heads, lines
from workers.agent.files.heads import Heads
from workers.agent.files.registry import of_type, reading
from workers.agent.files.tracked import Print, Span, Tracked, tracked
from workers.agent.positions.checkpoint import Offsets

_HEAD = heads.SIZE
_TAIL = 256
_COPY_PATIENCE = 5.0
"""How long a new file that begins like another one may be the copy that comes before a truncation, in seconds."""
_KEPT_SPANS = 16


@dataclass(frozen=True)
class Found:
    """A file as a directory shows it now."""

    inode: int
    path: str
    size: int
    changed_ns: int


def age(each: Found | Tracked) -> tuple[int, str]:
    """By which files are sorted: the oldest comes first."""
    return each.changed_ns, each.path


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


class Strangers:
    """Files that are not followed, found by their first bytes. Each is opened once, when the first copy is wanted."""

    def __init__(self, found: Sequence[Found]) -> None:
        self._found = found
        self._by_crc: dict[int, dict[int, list[Found]]] = {}

    @cached_property
    def _heads(self) -> list[tuple[bytes, Found]]:
        return [(head, each) for each in self._found if (head := _head_of(each))]

    def beginning(self, head: Print) -> Sequence[Found]:
        """Those that have these bytes."""
        if head.size not in self._by_crc:
            known = self._by_crc[head.size] = defaultdict(list)
            for each, stranger in self._heads:
                known[zlib.crc32(each[: head.size])].append(stranger)
        return self._by_crc[head.size].get(head.crc, [])


def _head_of(each: Found) -> bytes:
    try:
        with opened(each) as content:
            return os.pread(content.fileno(), _HEAD, 0)
    except OSError:
        return b""


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
        self._heads = Heads()
        self._all_known = True

    def scan(self) -> bool:
        """Look once. True where something else than growth happened."""
        found = listing(self.directory)
        paths = {inode: each.path for inode, each in found.items()}
        structural = paths != self.paths
        self.paths = paths
        replaced: list[tuple[Tracked, Found]] = []
        for inode, file in self.files.items():
            structural |= self._check_file(inode, file, found.get(inode), replaced)
        self._replace_all(replaced, found)
        return self._take(found) or structural or bool(replaced)

    def _take(self, found: Mapping[int, Found]) -> bool:
        """Follow what is new, the oldest first: of a file and its copy, the copy is the younger one."""
        strangers = [each for each in found.values() if each.inode not in self.files and self._matches(each)]
        taken = False
        if not strangers:
            return taken
        self._all_known = self._read_heads()
        for each in sorted(strangers, key=age):
            if self._is_new(each):
                self.files[each.inode] = Tracked(each.path)
                self._grow(self.files[each.inode], each)
                taken = True
        return taken

    def _matches(self, each: Found) -> bool:
        return self._pattern.fullmatch(Path(each.path).name) is not None

    def _read_heads(self) -> bool:
        """Read the first bytes of the files of which only a print was written down. False where one of them has another
        name by now: the next look tells what it is."""
        whole = True
        for inode, file in self.files.items():
            path = self.paths.get(inode)
            if path is None or not file.whole or inode in self._heads:
                continue
            try:
                with opened(Found(inode, path, file.size, file.changed_ns)) as content:
                    self._heads.put(inode, os.pread(content.fileno(), min(_HEAD, file.whole), 0))
            except FileNotFoundError:
                whole = False
            except OSError:
                continue
        return whole

    def _check_file(self, inode: int, file: Tracked, now: Found | None, replaced: list[tuple[Tracked, Found]]) -> bool:
        was_present, file.present = file.present, now is not None
        if now is None:
            self._heads.drop(inode)
            return was_present
        if (now.size, now.changed_ns) == (file.size, file.changed_ns):
            return self._flush_idle(file, now)
        if self._is_same(file, now):
            self._grow(file, now)
        else:
            replaced.append((file, now))
        return False

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
                self._remember(now.inode, file, content.fileno())
        except OSError:
            return
        file.size, file.changed_ns = now.size, now.changed_ns
        self._grew[now.inode] = self._now()

    def _remember(self, inode: int, file: Tracked, descriptor: int) -> None:
        if file.head.size < _HEAD:
            head = os.pread(descriptor, min(_HEAD, file.whole), 0)
            file.head = Print(0, len(head), zlib.crc32(head))
            self._heads.put(inode, head)
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
                self._remember(now.inode, file, content.fileno())
        except OSError:
            return False
        return True

    def _replace_all(self, replaced: Sequence[tuple[Tracked, Found]], found: Mapping[int, Found]) -> None:
        """Names were listed before the files were looked at one by one: a copy may have come in between, so that the
        directory is listed once more for those whose copy is missing."""
        seen, later = Strangers(self._strangers(found)), None
        for file, now in replaced:
            copy = self._copy_of(file, seen)
            if copy is None:
                later = later or Strangers(self._strangers(listing(self.directory)))
                copy = self._copy_of(file, later)
            self._replace(file, now, copy)
            self._grow(file, now)

    def _strangers(self, found: Mapping[int, Found]) -> list[Found]:
        return [each for each in found.values() if each.inode not in self.files]

    def _replace(self, file: Tracked, now: Found, copy: Found | None) -> None:
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
        self._heads.drop(now.inode)

    def _copy_of(self, file: Tracked, strangers: Strangers) -> Found | None:
        if not file.whole:
            return None
        return next((each for each in strangers.beginning(file.head) if self._is_copy_of(each, file)), None)

    def _is_copy_of(self, each: Found, file: Tracked) -> bool:
        if each.inode in self.files or each.inode in self.copies or not file.whole or each.size < file.whole:
            return False
        try:
            with opened(each) as content:
                return file.head.fits(content.fileno()) and file.tail.fits(content.fileno())
        except OSError:
            return False

    def _is_new(self, each: Found) -> bool:
        if self._is_known_copy(each):
            return False
        if not each.size:
            return False  # it may be a copy in the making; there is nothing in it yet
        if not self._may_be_a_copy(each):
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

    def _may_be_a_copy(self, each: Found) -> bool:
        """Whether it begins like another file as far as both go: a copy of it, whole or still in the making."""
        if not self._heads and self._all_known:
            return False
        try:
            with opened(each) as content:
                head = os.pread(content.fileno(), min(_HEAD, each.size), 0)
                alike = self._heads.alike(head)
                return not self._all_known or any(self._goes_on_like(each, content.fileno(), it) for it in alike)
        except FileNotFoundError:
            return True  # it has another name by now: the next look tells
        except OSError:
            return False

    def _goes_on_like(self, each: Found, descriptor: int, inode: int) -> bool:
        """Of two files that begin alike: whether they are alike, too, where the shorter one ends."""
        file = self.files[inode]
        if inode not in self.paths:
            return False
        if file.whole <= each.size:
            return file.tail.fits(descriptor)
        end = min(each.size, _TAIL)
        with opened(Found(inode, self.paths[inode], file.size, file.changed_ns)) as other:
            at = each.size - end
            return Print.of(descriptor, at, end) == Print.of(other.fileno(), at, end)


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
        with reading(self.registry):
            for name, written in json.loads(self.registry.read_bytes()).items():
                files = {int(inode): tracked(each) for inode, each in written["files"].items()}
                copies = {int(inode): Print(**of_type(Print, each)) for inode, each in written["copies"].items()}
                paths = {int(inode): str(path) for inode, path in written["paths"].items()}
                if name in self.groups:
                    group = self.groups[name]
                    group.files, group.copies, group.paths = files, copies, paths

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
