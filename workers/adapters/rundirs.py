"""Run directories on the local disk."""

from __future__ import annotations

from pathlib import Path

from pipelines.domain import protocol
from pipelines.domain.protocol import Control, ExitRecord, Identity, Launch, Status
from workers.ports import JournalChunk

_PRIVATE = 0o700


class LocalRunDirs:
    """`workers.ports.RunDirs` below a state directory. Directories are readable by their owner alone."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir

    def path(self, pipeline: str, run: int) -> Path:
        return protocol.run_dir(self._state_dir, pipeline, run)

    def last_number(self, pipeline: str) -> int:
        parent = self.path(pipeline, 0).parent
        names = [entry.name for entry in parent.iterdir()] if parent.is_dir() else []
        return max((int(name) for name in names if name.isdigit()), default=0)

    def prepare(self, run_dir: Path, launch: Launch, control: Control) -> None:
        run_dir.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        if not (run_dir / protocol.LAUNCH).exists():
            launch.store(run_dir / protocol.LAUNCH)
        control.store(run_dir / protocol.CONTROL)

    def launch(self, run_dir: Path) -> Launch | None:
        return Launch.load(run_dir / protocol.LAUNCH)

    def identity(self, run_dir: Path) -> Identity | None:
        return Identity.load(run_dir / protocol.IDENTITY)

    def control(self, run_dir: Path) -> Control | None:
        return Control.load(run_dir / protocol.CONTROL)

    def status(self, run_dir: Path) -> Status | None:
        return Status.load(run_dir / protocol.STATUS)

    def exit_record(self, run_dir: Path) -> ExitRecord | None:
        return ExitRecord.load(run_dir / protocol.EXIT)

    def write_control(self, run_dir: Path, control: Control) -> None:
        control.store(run_dir / protocol.CONTROL)

    def journal(self, run_dir: Path, offset: int, limit: int) -> JournalChunk:
        try:
            with (run_dir / protocol.JOURNAL).open("rb") as file:
                size = file.seek(0, 2)
                file.seek(min(offset, size))
                return JournalChunk(offset=offset, data=file.read(limit), size=size)
        except FileNotFoundError:
            return JournalChunk(offset=offset, data=b"", size=0)
