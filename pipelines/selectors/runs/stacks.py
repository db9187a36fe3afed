"""Dumps of a run's stacks: those that the run's own directory on this host has, or what is recorded of them."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from pipelines.domain.base.files import open_regular
from pipelines.domain.runs.protocol import DUMPS, STACKS, Dump, Dumps
from pipelines.models import Run
from pipelines.selectors.runs.schemas import DumpSchema, StackFileSchema, StacksSchema

MAX_BYTES = 2 * 1024 * 1024
"""Of all texts of an answer together."""


def stacks(run: Run, *, host: str, state_dir: Path, asked: str | None = None, texts: bool = True) -> StacksSchema:
    """The dumps of a run, newest first; of `asked` only where that is given, without texts unless they are wanted."""
    here = is_here(run, host=host, state_dir=state_dir)
    directory = Path(run.run_dir)
    found = Dumps.load(directory / DUMPS) if here else None
    taken = found.taken if found else [Dump.model_validate(dump) for dump in run.dumps]
    wanted = [dump for dump in reversed(taken) if asked is None or dump.asked == asked]
    reader = _Reader(_real(directory / STACKS) if here and texts else None)
    return StacksSchema(
        run=run.pk,
        dumps=[_view(dump, reader) for dump in wanted],
        elsewhere="" if here else f"{run.host_id}:{run.run_dir}/{STACKS}",
    )


def _real(directory: Path) -> Path | None:
    """The directory, unless it is a link."""
    return None if directory.is_symlink() else directory


def is_here(run: Run, *, host: str, state_dir: Path) -> bool:
    """Whether the run's directory is one of this host."""
    runs = (state_dir / "runs").resolve()
    return run.host_id == host and Path(run.run_dir).resolve().is_relative_to(runs)


def _view(dump: Dump, reader: _Reader) -> DumpSchema:
    return DumpSchema(
        stop_stage=dump.stop_stage,
        number=dump.number,
        asked=dump.asked,
        at=datetime.fromtimestamp(dump.at, UTC),
        stuck=dump.stuck,
        silent=dump.silent,
        files=[
            StackFileSchema(name=name, process=name.rpartition("-")[2].removesuffix(".txt"), text=reader.read(name))
            for name in dump.files
        ],
    )


class _Reader:
    """Reads texts as long as there is room; nothing without a directory."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._left = MAX_BYTES

    def read(self, name: str) -> str:
        """A file of the directory itself; empty where there is none."""
        if self._directory is None or Path(name).name != name or not self._left:
            return ""
        try:
            with os.fdopen(open_regular(self._directory / name), "rb") as file:
                data = file.read(self._left)
        except OSError:
            return ""
        self._left -= len(data)
        return data.decode("utf-8", errors="replace")
