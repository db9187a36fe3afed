"""Reading an agent's log, from the run's own directory on this host and from nowhere else."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from pipelines.domain.base.states import RunState
from pipelines.domain.runs.protocol import LOG
from pipelines.foundation.errors import Conflict, NotFound
from pipelines.models import Run
from pipelines.selectors.runs.schemas import LogSchema

MAX_BYTES = 1024 * 1024


def read_log(run: Run, *, host: str, state_dir: Path, tail: int, offset: int | None) -> LogSchema:
    """The last `tail` lines, or the whole lines that follow byte `offset`; 1 MiB at most.

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
        raise _missing()
    size, start, data = _read(path, offset)
    text, end = _lines(data, ended=run.state == RunState.ENDED)
    if offset is None:
        text = "".join(text.splitlines(keepends=True)[-tail:])
    rotated = path.with_name(f"{LOG}.1").exists() if offset is None else offset > size
    return LogSchema(text=text, offset=start + end, size=size, rotated=rotated)


def _read(path: Path, offset: int | None) -> tuple[int, int, bytes]:
    """Size of the file, where the bytes begin, and the bytes; a file rotated meanwhile is read from its start."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        raise _missing() from None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise _missing()
        size = status.st_size
        start = max(0, size - MAX_BYTES) if offset is None else (offset if offset <= size else 0)
        file.seek(start)
        return size, start, file.read(min(MAX_BYTES, size - start))


def _lines(data: bytes, *, ended: bool) -> tuple[str, int]:
    """Text of the whole lines and their length in bytes; the last line of an ended run is whole without a line feed."""
    end = data.rfind(b"\n") + 1
    if ended or (end == 0 and len(data) == MAX_BYTES):
        end = len(data)
    return data[:end].decode("utf-8", errors="replace"), end


def _missing() -> NotFound:
    return NotFound(
        "This run has no log here: it has not started yet, or its directory was removed.",
        code="log_not_found",
        hint="A log appears when the agent's process starts; GET /api/v1/runs/{id} shows when that was.",
    )
