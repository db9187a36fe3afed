"""The directories of runs, checkpoints and stores of a host, as they lie on its disk."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from pipelines.domain.runs.protocol import JOURNAL, RESERVE, STACKS
from workers.ports import CheckpointDir, RunDir

_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - only directories that agents of ours have made there


class LocalHostStorage:
    """`workers.ports.HostStorage` below a state directory. Symbolic links are not followed, and nothing that is not
    below one of its roots is removed."""

    def __init__(self, state_dir: Path, shared_memory: Path = _SHARED_MEMORY) -> None:
        self._state = state_dir
        self._shared_memory = shared_memory

    def runs(self) -> list[RunDir]:
        return [
            RunDir(path, name, number, _size(path), _bytes(path / JOURNAL), _changed(path))
            for path, name, number in _numbered(self._state / "runs")
        ]

    def checkpoints(self, storages: Sequence[str] = ()) -> list[CheckpointDir]:
        return [
            CheckpointDir(path, name, number, _changed(path))
            for root in self._roots(storages)
            for path, name, number in _numbered(root / "checkpoints")
        ]

    def dumps(self, run: RunDir) -> list[tuple[Path, int, datetime]]:
        with suppress(OSError):
            files = [entry for entry in (run.path / STACKS).iterdir() if entry.is_file() and not entry.is_symlink()]
            return [(file, _bytes(file), _changed(file)) for file in files]
        return []

    def leftovers(self, run: RunDir) -> list[Path]:
        tmp, reserve = run.path / "tmp", run.path / RESERVE
        found = [tmp] if tmp.is_dir() and not tmp.is_symlink() else []
        return [*found, *([reserve] if reserve.is_file() and not reserve.is_symlink() else [])]

    def stores(self, name: str, pipeline_id: UUID, storages: Sequence[str] = ()) -> list[Path]:
        """What agents keep of one pipeline beside its runs and checkpoints."""
        below = [root / "data" / name / str(pipeline_id) for root in self._roots(storages)]
        owners = [hashlib.sha256(str(path).encode()).hexdigest()[:16] for path in below]
        shared = (each / owner for each in self._in_shared_memory() for owner in owners)
        return [path for path in [*below, *shared] if path.is_dir() and not path.is_symlink()]

    def _in_shared_memory(self) -> list[Path]:
        """Directories that agents have made there, each named by its user, who owns it."""
        found = self._shared_memory.glob("headgate-*")
        return [path for path in found if not path.is_symlink() and path.name == f"headgate-{_owner(path)}"]

    def remove(self, path: Path, storages: Sequence[str] = ()) -> int:
        """Remove a file, or a directory with all in it; returns the bytes. What cannot be removed now stays."""
        ours = any(_below(path, root) for root in self._roots(storages)) or path.parent in self._in_shared_memory()
        if not ours:
            raise ValueError(f"{path} is not Headgate's to remove")
        size = _size(path)
        if path.is_dir() and not path.is_symlink():
            with suppress(RecursionError):  # an agent may nest directories deeper than anybody needs
                shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink()
        return 0 if path.exists() else size

    def _roots(self, storages: Sequence[str]) -> list[Path]:
        return [self._state, *(Path(each) for each in storages if each.startswith("/"))]


def _below(path: Path, root: Path) -> bool:
    """Whether a path lies in a directory of a root; the directories themselves are not to be removed."""
    return path.parent.resolve().is_relative_to(root.resolve()) and path.parent.resolve() != root.resolve()


def _numbered(top: Path) -> Iterator[tuple[Path, str, int]]:
    """Directories `<top>/<name>/<number>`."""
    for name in _directories(top):
        for path in _directories(name):
            if path.name.isdigit():
                yield path, name.name, int(path.name)


def _directories(top: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(entry for entry in top.iterdir() if entry.is_dir() and not entry.is_symlink())
    return []


def _size(path: Path) -> int:
    files = (Path(directory, name) for directory, _, names in os.walk(path) for name in names)
    with suppress(RecursionError):
        return sum(map(_bytes, files)) if path.is_dir() else _bytes(path)
    return 0


def _owner(path: Path) -> int:
    with suppress(OSError):
        return path.lstat().st_uid
    return -1


def _bytes(path: Path) -> int:
    with suppress(OSError):
        return path.lstat().st_size
    return 0


def _changed(path: Path) -> datetime:
    with suppress(OSError):
        return datetime.fromtimestamp(path.lstat().st_mtime, UTC)
    return datetime.now(UTC)
