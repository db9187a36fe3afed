"""Reading an agent's log, from the run's own directory on this host and from nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

from pipelines.domain.base.files import open_regular
from pipelines.domain.base.states import RunState
from pipelines.domain.hosts.disk import ADVICE, DiskSpace
from pipelines.domain.runs.log_lines import LogLevel, at_least
from pipelines.domain.runs.protocol import LOG
from pipelines.foundation.errors import Conflict, NotFound
from pipelines.models import Run
from pipelines.selectors.runs.schemas import LogSchema

MAX_BYTES = 1024 * 1024


def read_log(
    run: Run, *, host: str, state_dir: Path, tail: int, offset: int | None, level: LogLevel | None = None
) -> LogSchema:
    """The last `tail` lines, or the whole lines that follow byte `offset`; of 1 MiB at most, and of `level` or a more
    important one.

    Raises Conflict where the run is another host's, NotFound where there is no log yet or no longer.
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
    size, start, data = _read(run, path, offset)
    text, end = _lines(data, ended=run.state == RunState.ENDED)
    lines = text.splitlines(keepends=True)
    if level is not None:
        lines = list(at_least(lines, level))
    shown = "".join(lines if offset is not None else lines[-tail:])
    rotated = path.with_name(f"{LOG}.1").exists() if offset is None else offset > size
    return LogSchema(text=shown, offset=start + end, size=size, rotated=rotated)


def _read(run: Run, path: Path, offset: int | None) -> tuple[int, int, bytes]:
    """Size of the file, where the bytes begin, and the bytes; a file rotated meanwhile is read from its start."""
    try:
        descriptor = open_regular(path)
    except OSError:
        raise _missing(run) from None
    with os.fdopen(descriptor, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        start = max(0, size - MAX_BYTES) if offset is None else (offset if offset <= size else 0)
        file.seek(start)
        return size, start, file.read(min(MAX_BYTES, size - start))


def _lines(data: bytes, *, ended: bool) -> tuple[str, int]:
    """Text of the whole lines and their length in bytes; the last line of an ended run is whole without a line feed."""
    end = data.rfind(b"\n") + 1
    if ended or (end == 0 and len(data) == MAX_BYTES):
        end = len(data)
    return data[:end].decode("utf-8", errors="replace"), end


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
