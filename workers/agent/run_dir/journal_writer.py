"""The journal's writer: `planned` before the sink is touched, `done` after its acknowledgement, on disk at once."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from pipelines.domain.base.positions import Frozen
from pipelines.domain.ledger import journal
from workers.agent.base import masking

_KINDS = {payload: kind for kind, payload in journal.PAYLOADS.items()}
_DURABLE = {
    journal.EntryKind.PLANNED,
    journal.EntryKind.DONE,
    journal.EntryKind.RESOLVED,
    journal.EntryKind.POSITIONS,
    journal.EntryKind.IDENTIFIED,
}


class JournalUnwritable(Exception):
    """An entry could not be written whole; nothing of it is left in the file."""


class NotGranted(Exception):
    """A standby, which has no epoch, would have written to the pipeline's ledger."""


class Journal:
    """journal.jsonl of one run; safe to use from several threads. `epoch` 0 is that of a standby, which tells of its
    own life alone until one is granted.

    An entry that could not be written whole is cut off again, so that the next one does not continue a torn line.
    """

    def __init__(self, path: Path, epoch: int) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._epoch = epoch
        self._number = 0
        self._size = os.fstat(self._file).st_size
        self._lock = threading.Lock()

    def append(self, payload: Frozen) -> None:
        """Write one entry; what recovery depends on is on disk when this returns.

        Raises JournalUnwritable, or NotGranted where a standby writes of records.
        """
        kind = _KINDS[type(payload)]
        with self._lock:
            if not self._epoch and kind not in journal.OWN_LIFE:
                raise NotGranted(f"a standby must not record {kind}")
            entry = journal.Entry(
                n=self._number + 1,
                epoch=self._epoch,
                at=time.time(),
                kind=kind,
                data=masking.prose(payload.model_dump(mode="json")),
            )
            self._write(journal.encode(entry), durable=kind in _DURABLE)
            self._number += 1

    def grant(self, epoch: int) -> None:
        """The run is ACTIVE now; entries are of this epoch from here on."""
        with self._lock:
            self._epoch = epoch

    def close(self) -> None:
        """Let the file go; nothing may be appended any more."""
        os.close(self._file)

    def _write(self, line: bytes, *, durable: bool) -> None:
        try:
            if os.write(self._file, line) != len(line):
                raise OSError("the disk is full")
            if durable:
                os.fdatasync(self._file)
        except OSError as error:
            os.ftruncate(self._file, self._size)
            raise JournalUnwritable(f"the journal cannot be written: {error}") from error
        self._size += len(line)
