"""Orders to replay ranges: handed to agents as files, and what came of them taken into the ledger.

An order is withdrawn by removing its file. Its directory goes when its journal has a last word, or when no run is left
that could write one.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog

from pipelines.domain.journal import Entry, EntryKind, JournalCorrupt, read_entries
from pipelines.domain.range_replay import ORDER, place
from pipelines.models import Operation
from pipelines.selectors.range_replays import lately_ended, open_replays, under_way
from pipelines.services import range_replays
from pipelines.services.range_replays import data_of, order_of

_OVER = "over"
"""Everything that the journals of an order hold is in the ledger, and nobody writes there any more."""

log = structlog.get_logger(__name__)


@dataclass
class ReplayWatch:
    """The replays of a host's pipelines."""

    host: str
    state_dir: Path

    def turn(self) -> None:
        """Hand out what is new, take in what was done, withdraw and clear away what is over."""
        for operation in open_replays(self.host):
            try:
                self._attend(operation)
            except (OSError, JournalCorrupt) as error:
                log.warning("replay_unreadable", operation=str(operation.id), cause=str(error))
        for operation in lately_ended(self.host):
            self._clear_safely(place(data_of(operation.pipeline, self.state_dir), operation.id))

    def sweep(self) -> None:
        """Clear away what was not cleared when it ended."""
        for directory in self.state_dir.glob("data/*/*/replays/*"):
            self._clear_safely(directory)

    def _clear_safely(self, directory: Path) -> None:
        try:
            if directory.is_dir():
                self._clear(directory)
        except (OSError, JournalCorrupt) as error:
            log.warning("replay_unreadable", operation=directory.name, cause=str(error))

    def _attend(self, operation: Operation) -> None:
        directory = place(data_of(operation.pipeline, self.state_dir), operation.id)
        directory.mkdir(parents=True, exist_ok=True)
        if not (directory / ORDER).exists():
            order_of(operation).store(directory / ORDER)
        if journals := _journals(directory):
            range_replays.take_in(operation=operation, journals=journals)

    def _clear(self, directory: Path) -> None:
        """Withdraw an order whose operation is over, and remove it once nobody writes there."""
        operation, living = under_way(directory.name)
        if operation is not None and operation.ended_at is None:
            return
        (directory / ORDER).unlink(missing_ok=True)
        if operation is not None and not (directory / _OVER).exists():
            self._take_last(operation, directory)
        if operation is None or not living:
            shutil.rmtree(directory, ignore_errors=True)

    def _take_last(self, operation: Operation, directory: Path) -> None:
        """A batch that was in hand when the replay was cancelled is in the ledger, too."""
        journals = _journals(directory)
        if journals:
            range_replays.take_in(operation=operation, journals=journals)
        if any(entry.kind is EntryKind.EXIT for _, entries in journals for entry in entries):
            (directory / _OVER).touch()


def _journals(directory: Path) -> Sequence[tuple[int, Sequence[Entry]]]:
    """The entries of every run that took part, oldest first. Raises JournalCorrupt."""
    numbered = sorted((int(path.stem.partition("-")[2]), path) for path in directory.glob("journal-*.jsonl"))
    return [(number, read_entries(path.read_bytes(), 0)[0]) for number, path in numbered]
