"""Run directories on the local disk. A file that has not changed since it was read is not read again."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Collection
from pathlib import Path
from typing import TypeVar

from pipelines.domain.base import files
from pipelines.domain.base.positions import PartitionPosition
from pipelines.domain.hosts.disk import DiskSpace, scarcest
from pipelines.domain.runs import protocol
from pipelines.domain.runs.protocol import (
    Control,
    Document,
    DumpOrder,
    Dumps,
    ExitRecord,
    Identity,
    Launch,
    Promotion,
    Status,
)
from workers.adapters.isolation import handing_over
from workers.ports import JournalChunk

_PRIVATE = 0o700
_YOUNG_NS = 50_000_000
"""A file that changed so shortly before it was read may change again without another time: the kernel's is coarse."""

_SHARED_FOR = 0.05
"""Seconds for which the space for checkpoints, which all runs have in common, is not asked for again."""

_NO_JOURNAL = b"another kind of file is in the place of the journal\n"
"""Corruption, to whoever reads it."""
_MOST_TRACES = 1000
_LARGEST_TRACE = 64 * 1024

D = TypeVar("D", bound=Document)
Stamp = tuple[int, int, int]
"""Inode, time of change, size. Files are replaced by renaming, so another content is another inode."""


class LocalRunDirs:
    """`workers.ports.RunDirs` below a state directory. Directories are readable by their owner alone."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir
        self._runs, self._checkpoints = state_dir / "runs", state_dir / "checkpoints"
        self._of_checkpoints: tuple[float, DiskSpace | None] = (0.0, None)
        self._known: dict[str, dict[str, tuple[Stamp, Document | None]]] = {}

    def path(self, pipeline: str, run: int) -> Path:
        return protocol.run_dir(self._state_dir, pipeline, run)

    def last_number(self, pipeline: str) -> int:
        parent = self.path(pipeline, 0).parent
        names = [entry.name for entry in parent.iterdir()] if parent.is_dir() else []
        numbers = [int(name) for name in names if name.isdigit()]
        return max([_last_epoch(parent / protocol.ACTIVE_LOCK), *numbers])

    def prepare(self, run_dir: Path, launch: Launch, control: Control) -> None:
        run_dir.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        if launch.user is not None:
            handing_over.prepare(self._state_dir, run_dir, launch, launch.user)
        if not (run_dir / protocol.LAUNCH).exists():
            launch.store(run_dir / protocol.LAUNCH)
        elif (found := self.launch(run_dir)) is not None and found.token != launch.token:
            raise FileExistsError(f"{run_dir} belongs to another run, which is not in the database")
        control.store(run_dir / protocol.CONTROL)

    def exists(self, run_dir: Path) -> bool:
        return os.path.exists(f"{run_dir}/{protocol.LAUNCH}")  # noqa: PTH110 - a thousand of them in a tick

    def keep(self, run_dirs: Collection[str]) -> None:
        if len(self._known) > len(run_dirs):
            self._known = {name: known for name, known in self._known.items() if name in run_dirs}

    def launch(self, run_dir: Path) -> Launch | None:
        return Launch.load(run_dir / protocol.LAUNCH)

    def identity(self, run_dir: Path) -> Identity | None:
        return self._document(run_dir, protocol.IDENTITY, Identity)

    def control(self, run_dir: Path) -> Control | None:
        return self._document(run_dir, protocol.CONTROL, Control)

    def status(self, run_dir: Path) -> Status | None:
        return self._document(run_dir, protocol.STATUS, Status)

    def exit_record(self, run_dir: Path) -> ExitRecord | None:
        return self._document(run_dir, protocol.EXIT, ExitRecord)

    def dumps(self, run_dir: Path) -> Dumps | None:
        return self._document(run_dir, protocol.DUMPS, Dumps)

    def ask_for_dump(self, run_dir: Path, order: DumpOrder) -> None:
        order.store(run_dir / protocol.DUMP_ORDER)

    def promotion(self, run_dir: Path) -> Promotion | None:
        return self._document(run_dir, protocol.PROMOTE, Promotion)

    def promote(self, run_dir: Path, promotion: Promotion) -> None:
        launch = self.launch(run_dir)
        if launch is not None and launch.user is not None:
            handing_over.give_checkpoints(self._state_dir, Path(promotion.checkpoint_root), launch.user)
        promotion.store(run_dir / protocol.PROMOTE)

    def traced(self, run_dir: Path) -> list[PartitionPosition]:
        traces = run_dir / protocol.TRACES
        found = [] if traces.is_symlink() else sorted(traces.glob("*"))[:_MOST_TRACES]
        return [record for file in found if (record := _record(file)) is not None]

    def write_control(self, run_dir: Path, control: Control) -> None:
        _make_again(run_dir)
        control.store(run_dir / protocol.CONTROL)

    def revoke(self, run_dir: Path, record: ExitRecord) -> None:
        run_dir.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        record.store(run_dir / protocol.EXIT)

    def journal(self, run_dir: Path, offset: int, limit: int) -> JournalChunk:
        path = f"{run_dir}/{protocol.JOURNAL}"
        try:
            if os.lstat(path).st_size == offset:
                return JournalChunk(offset=offset, data=b"", size=offset)
            with os.fdopen(files.open_regular(path), "rb") as file:
                size = file.seek(0, 2)
                file.seek(min(offset, size))
                return JournalChunk(offset=offset, data=file.read(limit), size=size)
        except FileNotFoundError:
            return JournalChunk(offset=offset, data=b"", size=0)
        except files.NotOurs:
            return JournalChunk(offset=offset, data=_NO_JOURNAL, size=offset + len(_NO_JOURNAL))

    def space(self, run_dir: Path | None = None) -> DiskSpace | None:
        until, checkpoints = self._of_checkpoints
        if (now := time.monotonic()) >= until:
            checkpoints = DiskSpace.of(self._checkpoints)
            self._of_checkpoints = (now + _SHARED_FOR, checkpoints)
        return scarcest([_nearest(run_dir or self._runs), checkpoints])

    def found_full(self, run_dir: Path) -> bool:
        try:
            return os.lstat(f"{run_dir}/{protocol.RESERVE}").st_size == 0
        except OSError:
            return False

    def _document(self, run_dir: Path, name: str, kind: type[D]) -> D | None:
        directory = str(run_dir)
        known, path = self._known.setdefault(directory, {}), f"{directory}/{name}"
        try:
            seen = os.lstat(path)
        except OSError:
            known.pop(name, None)
            return None
        stamp = (seen.st_ino, seen.st_mtime_ns, seen.st_size)
        before = known.get(name)
        if before is not None and before[0] == stamp:
            return before[1] if isinstance(before[1], kind) else None
        found = kind.load(path)
        if time.time_ns() - seen.st_mtime_ns > _YOUNG_NS:
            known[name] = (stamp, found)
        return found


def _make_again(run_dir: Path) -> None:
    """Where the directory of a living run was removed: for the pipeline's user as well, which its parent names."""
    try:
        run_dir.mkdir(mode=_PRIVATE, parents=True)
    except FileExistsError:
        return
    above = run_dir.parent.stat()
    if above.st_mode & stat.S_IXGRP:
        files.share(run_dir, above.st_gid)


def _nearest(path: Path) -> DiskSpace | None:
    """The file system of a directory that need not be there yet."""
    return DiskSpace.of(path) or next((space for each in path.parents if (space := DiskSpace.of(each))), None)


def _last_epoch(lock: Path) -> int:
    """The epoch that the lock of a pipeline names; 0 where it names none."""
    try:
        text = lock.read_text()
    except OSError:
        return 0
    return int(text) if text.isdigit() else 0


def _record(file: Path) -> PartitionPosition | None:
    """What one process was at; None where it was between two records, or the file is torn."""
    try:
        return PartitionPosition.model_validate_json(files.read(file, _LARGEST_TRACE))
    except (OSError, ValueError):
        return None
