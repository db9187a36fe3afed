"""The journal's writer: `planned` before the sink is touched, `done` after its acknowledgement, on disk at once."""

from __future__ import annotations

import errno
import os
import threading
import time
from pathlib import Path

from pipelines.domain.base.positions import Frozen
from pipelines.domain.hosts.disk import is_disk_full
from pipelines.domain.ledger import journal
from pipelines.domain.runs import protocol
from pipelines.domain.runs.protocol import AgentFinding
from workers.agent.base import masking
from workers.agent.base.findings import Blocked
from workers.agent.run_dir.reserve import Reserve

_KINDS = {payload: kind for kind, payload in journal.PAYLOADS.items()}
_DURABLE = {
    journal.EntryKind.PLANNED,
    journal.EntryKind.DONE,
    journal.EntryKind.RESOLVED,
    journal.EntryKind.POSITIONS,
    journal.EntryKind.IDENTIFIED,
}


_HINT = (
    "Compare the positions (headgate positions show), and plan from which one the pipeline resumes (headgate positions "
    "plan). Keep other processes away from the state directory."
)


class JournalUnwritable(Exception):
    """An entry could not be written whole; nothing of it is left in the file."""


class DiskFull(JournalUnwritable):
    """The run's reserve is released: what is begun can still be written down, and nothing further is begun."""


class JournalDamaged(Blocked):
    """Another process has removed, shortened or changed the file: entries may be missing from the ledger, and no
    further one would be read."""

    def __init__(self, what: str) -> None:
        words = f"The run's journal was {what} by another process while the agent was running."
        super().__init__(
            AgentFinding(path=protocol.JOURNAL, code=journal.JOURNAL_DAMAGED, message=words, suggestion=_HINT)
        )


class NotGranted(Exception):
    """A standby, which has no epoch, would have written to the pipeline's ledger."""


class Journal:
    """journal.jsonl of one run; safe to use from several threads. `epoch` 0 is that of a standby, which tells of its
    own life alone until one is granted.

    An entry that could not be written whole is cut off again, so that the next one does not continue a torn line. On a
    full disk the `reserve` has room for how a batch ended, and how the run did.
    """

    def __init__(self, path: Path, epoch: int, reserve: Reserve | None = None) -> None:
        self._path = path
        self._reserve = reserve
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._epoch = epoch
        self._number = 0
        self._size = os.fstat(self._file).st_size
        self._lock = threading.Lock()

    def append(self, *payloads: Frozen) -> None:
        """Write entries, all of them or none; what recovery depends on is on disk when this returns.

        Raises JournalUnwritable, DiskFull, JournalDamaged, or NotGranted where a standby writes of records.
        """
        kinds = {_KINDS[type(payload)] for payload in payloads}
        with self._lock:
            self._check()
            if not self._epoch and (foreign := kinds - journal.OWN_LIFE):
                raise NotGranted(f"a standby must not record {', '.join(sorted(foreign))}")
            lines = [self._encoded(payload, number) for number, payload in enumerate(payloads, self._number + 1)]
            self._write(b"".join(lines), kinds)
            self._number += len(payloads)

    def _encoded(self, payload: Frozen, number: int) -> bytes:
        entry = journal.Entry(
            n=number,
            epoch=self._epoch,
            at=time.time(),
            kind=_KINDS[type(payload)],
            data=masking.prose(payload.model_dump(mode="json")),
        )
        return journal.encode(entry)

    def check(self) -> None:
        """Raises JournalDamaged where the file is not as it was left. Does not wait: while an entry is being written,
        that one finds out."""
        if self._lock.acquire(blocking=False):
            try:
                self._check()
            finally:
                self._lock.release()

    def _check(self) -> None:
        ours = os.fstat(self._file)
        if ours.st_size != self._size:
            raise JournalDamaged("shortened" if ours.st_size < self._size else "changed")
        try:
            named = self._path.stat()
        except FileNotFoundError:
            raise JournalDamaged("removed") from None
        if (named.st_dev, named.st_ino) != (ours.st_dev, ours.st_ino):
            raise JournalDamaged("replaced")

    def grant(self, epoch: int) -> None:
        """The run is ACTIVE now; entries are of this epoch from here on."""
        with self._lock:
            self._epoch = epoch

    def close(self) -> None:
        """Let the file go; nothing may be appended any more."""
        os.close(self._file)

    def _write(self, lines: bytes, kinds: set[journal.EntryKind]) -> None:
        """What a batch begins with is never written into the reserve."""
        begins, durable = journal.EntryKind.PLANNED in kinds, not kinds.isdisjoint(_DURABLE)
        if begins and self._reserve is not None and self._reserve.released:
            raise DiskFull("the disk of the run directory is full")
        try:
            self._put(lines, durable=durable)
        except OSError as error:
            if self._reserve is None or not is_disk_full(error):
                raise JournalUnwritable(f"the journal cannot be written: {error}") from error
            self._reserve.release()
            if begins:
                raise DiskFull(f"the journal cannot be written: {error}") from error
            self._put_again(lines, durable=durable)
        self._size += len(lines)

    def _put_again(self, lines: bytes, *, durable: bool) -> None:
        try:
            self._put(lines, durable=durable)
        except OSError as error:
            raise JournalUnwritable(f"the journal cannot be written: {error}") from error

    def _put(self, lines: bytes, *, durable: bool) -> None:
        """Write all of it, or leave nothing of it. Raises OSError."""
        try:
            if os.write(self._file, lines) != len(lines):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if durable:
                os.fdatasync(self._file)
        except OSError:
            os.ftruncate(self._file, self._size)
            raise
