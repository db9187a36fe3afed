"""promote.json: makes a standby the ACTIVE run of its pipeline."""

from __future__ import annotations

from pathlib import Path

from workers.keeper.escalation import WatchedFile


class PromotionFile:
    """Looks for the promotion of the run with this token; a damaged file, or one of another run, is none."""

    def __init__(self, path: Path, token: str) -> None:
        self._file = WatchedFile(path)
        self._token = token
        self._epoch: int | None = None

    def epoch(self) -> int | None:
        """The epoch that was granted; None as long as none was."""
        if self._file.changed():
            document = self._file.read() or {}
            epoch = document.get("epoch")
            if document.get("token") == self._token and type(epoch) is int and epoch > 0:
                self._epoch = epoch
        return self._epoch
