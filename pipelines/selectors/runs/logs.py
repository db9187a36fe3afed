"""Reading an agent's log, from the run's own directory on this host and from nowhere else.

It is read line by line, and never more of it than the limits below, whatever is looked for.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from pipelines.domain.base.files import open_regular
from pipelines.domain.base.states import RunState
from pipelines.domain.hosts.disk import ADVICE, DiskSpace
from pipelines.domain.runs.log_lines import LogFilter, Record, address_of, records
from pipelines.domain.runs.protocol import LOG
from pipelines.foundation.errors import Conflict, NotFound
from pipelines.models import Run
from pipelines.selectors.runs.schemas import LogSchema

MAX_BYTES = 1024 * 1024
"""Of an answer, and of what is read for one without a filter."""
SEARCHED_BYTES = 16 * 1024 * 1024
"""Of what is read for an answer with a filter: the end of the log."""
LONGEST_LINE = 64 * 1024
"""A longer one counts as several."""
MOST_FILES = 10
MOST_COMPONENTS = 50
HEAD_BYTES = 64 * 1024
"""How far before an offset the line is looked for that the following ones belong to."""


@dataclass(frozen=True)
class LogRequest:
    """The last `tail` lines of the records that are wanted, or those that follow byte `offset`, or those around the
    record at an address."""

    tail: int
    offset: int | None = None
    at: str | None = None
    wanted: LogFilter = field(default_factory=LogFilter)


def read_log(run: Run, request: LogRequest, *, host: str, state_dir: Path) -> LogSchema:
    """What is requested, of 1 MiB at most.

    Raises Conflict where the run is another host's, NotFound where there is no log yet or no longer, or no record at
    the address.
    """
    if run.host_id != host:
        raise Conflict(
            f"The log of this run is on the host {run.host_id}; this server runs on {host}.",
            code="log_on_other_host",
            hint=f"On {run.host_id}: tail -f {run.run_dir}/{LOG}",
        )
    path = Path(run.run_dir) / LOG
    if not path.resolve().is_relative_to((state_dir / "runs").resolve()):
        raise _missing(run)
    with ExitStack() as opened:
        files = _Files(run, path, opened)
        if request.at is not None:
            return _around(run, files, request.at, request.tail)
        if request.offset is not None:
            return _following(files, request.offset, request.wanted)
        return _end(files, request.tail, request.wanted)


class _Files:
    """The files of a log, the oldest first; the last one is written to."""

    def __init__(self, run: Run, path: Path, opened: ExitStack) -> None:
        self.ended = run.state == RunState.ENDED
        older = (path.with_name(f"{path.name}.{number}") for number in range(1, MOST_FILES))
        found = [file for file in map(_open, [path, *older]) if file is not None]
        for file in found:
            opened.enter_context(file)
        if not found or not _is(found[0], path):
            raise _missing(run)
        self.files = found[::-1]
        self.sizes = [os.fstat(file.fileno()).st_size for file in self.files]
        self.read_to = 0

    @property
    def size(self) -> int:
        """Bytes of the file that is written to."""
        return self.sizes[-1]

    @property
    def total(self) -> int:
        """Bytes of all of them."""
        return sum(self.sizes)

    def lines(self, window: int) -> Iterator[tuple[int, str]]:
        """Whole lines of the last `window` bytes, with where they end in their file."""
        left = max(0, self.total - window)
        for file, size in zip(self.files, self.sizes, strict=True):
            start, left = min(left, size), max(0, left - size)
            whole = file is not self.files[-1] or self.ended
            yield from self._of(file, _next_line(file, start), size, whole=whole)

    def following(self, start: int, end: int, *, context: int = 0) -> Iterator[tuple[int, str]]:
        """Whole lines of a part of the file that is written to, and those in so many bytes before it."""
        file = self.files[-1]
        first = _next_line(file, max(0, start - context)) if context else start
        yield from self._of(file, min(first, start), end, whole=self.ended and end == self.size)

    def _of(self, file: BinaryIO, start: int, end: int, *, whole: bool) -> Iterator[tuple[int, str]]:
        """Lines between two places; the last one without a line feed where it is `whole`."""
        file.seek(start)
        self.read_to = start
        while start < end and (data := file.readline(min(LONGEST_LINE, end - start))):
            if not (data.endswith(b"\n") or whole or len(data) == LONGEST_LINE):
                break
            start += len(data)
            self.read_to = start
            yield start, data.decode("utf-8", errors="replace")


def _open(path: Path) -> BinaryIO | None:
    try:
        return os.fdopen(open_regular(path), "rb")
    except OSError:
        return None


def _next_line(file: BinaryIO, place: int) -> int:
    """Where the first line begins that does not begin before a place."""
    if not place:
        return 0
    file.seek(place - 1)
    return place - 1 + len(file.readline(LONGEST_LINE))


def _is(file: BinaryIO, path: Path) -> bool:
    """Whether it is this file, and not an older one that was found in its place."""
    return os.path.samestat(os.fstat(file.fileno()), path.stat()) if path.exists() else False


class _Components:
    """The components that lines name, of which there are few."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def note(self, record: Record) -> None:
        if record.head and len(self.names) < MOST_COMPONENTS:
            self.names.add(record.head.component)


class _Last:
    """The last lines, of so many bytes at most."""

    def __init__(self, most: int) -> None:
        self.lines: deque[str] = deque(maxlen=most)
        self._bytes = 0

    def add(self, line: str) -> None:
        if not self.lines.maxlen:
            return
        if len(self.lines) == self.lines.maxlen:
            self._bytes -= len(self.lines[0])
        self.lines.append(line)
        self._bytes += len(line)
        while self._bytes > MAX_BYTES:
            self._bytes -= len(self.lines.popleft())


def _end(files: _Files, tail: int, wanted: LogFilter) -> LogSchema:
    window = MAX_BYTES if wanted.is_empty else SEARCHED_BYTES
    last, components = _Last(tail), _Components()
    for record in records(files.lines(window)):
        components.note(record)
        if wanted.takes(record):
            for _, line in record.lines:
                last.add(line)
    return _schema(files, "".join(last.lines), len(files.files) > 1, components, min(window, files.total))


def _following(files: _Files, offset: int, wanted: LogFilter) -> LogSchema:
    """Lines behind an offset; of a file that was rotated meanwhile from its start. The line that they belong to is read
    again where a filter has to know it."""
    start = offset if offset <= files.size else 0
    end = min(files.size, start + MAX_BYTES)
    text, components = list[str](), _Components()
    for record in records(files.following(start, end, context=0 if wanted.is_empty else HEAD_BYTES)):
        components.note(record)
        if wanted.takes(record):
            text += [line for place, line in record.lines if place > start]
    return _schema(files, "".join(text), offset > files.size, components, end - start)


def _around(run: Run, files: _Files, address: str, tail: int) -> LogSchema:
    """The record at an address, with what precedes and follows it."""
    before, stamp = _Last(tail // 2), address.partition("~")[0]
    lines = files.lines(files.total)
    for _, line in lines:
        if line.startswith(stamp) and address_of(line) == address:
            after = [text for _, text in islice(lines, max(1, tail - tail // 2 - 1))]
            files.read_to = files.size
            text = "".join([*before.lines, line, *after])[: 2 * MAX_BYTES]
            return _schema(files, text, False, _Components(), files.total)
        before.add(line)
    raise NotFound(
        f"The line of {stamp} is no longer in the log of run {run.number}.",
        code="log_line_not_found",
        hint="An agent's log keeps its last files; older lines are gone.",
    )


def _schema(files: _Files, text: str, rotated: bool, components: _Components, searched: int) -> LogSchema:
    return LogSchema(
        text=text,
        offset=files.read_to,
        size=files.size,
        rotated=rotated,
        total=files.total,
        searched=searched,
        components=sorted(components.names),
    )


def _missing(run: Run) -> NotFound:
    """There is no log, and why."""
    message, hint = _absence(run, Path(run.run_dir))
    return NotFound(message, code="log_not_found", hint=hint)


def _absence(run: Run, run_dir: Path) -> tuple[str, str]:
    if run_dir.is_dir():
        if run.state == RunState.ENDED:
            return f"Run {run.number} ended before it wrote a log.", "The run's end says why."
        space = DiskSpace.of(run_dir)
        if space is not None and space.full:
            return f"Run {run.number} has no log: the disk of {run_dir} is full.", ADVICE
        return f"Run {run.number} has not written to its log yet.", "The log starts with the agent's process."
    if run.state == RunState.PENDING:
        return f"Run {run.number} has not started yet.", "The log starts with the agent's process."
    if run.state == RunState.ENDED and run.keeper_pid is None:
        return f"Run {run.number} ended before its process started.", "The run's end says why."
    words = f"The directory of run {run.number} was removed, and its log with it."
    return words, "Headgate keeps directories of ended runs for HEADGATE_RUN_DAYS."
