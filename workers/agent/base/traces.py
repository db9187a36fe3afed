"""Which record an interceptor is looking at, kept in a file that outlives its process.

A run that follows a crash makes the directory; each Python worker writes the record down before it hands it over. What
is left in a file when its process has ended is what the process was at.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipelines.domain.runs.protocol import TRACES


class Trace:
    """The file of this process."""

    def __init__(self, directory: Path) -> None:
        self._file = os.open(directory / str(os.getpid()), os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)

    @contextmanager
    def at(self, topic: str | None, partition: int | None, offset: int | None) -> Iterator[None]:
        """While the record is being looked at. Events that an interceptor made itself have no record."""
        record = json.dumps({"topic": topic, "partition": partition, "offset": offset})
        os.pwrite(self._file, record.encode(), 0)
        try:
            yield
        finally:
            os.ftruncate(self._file, 0)

    def close(self) -> None:
        """Nothing more is written down."""
        os.close(self._file)


def trace(control: Path) -> Trace | None:
    """The trace of a run, by the path of its control.json; None where it is not traced, or is on another machine."""
    directory = control.with_name(TRACES)
    return Trace(directory) if directory.is_dir() else None
