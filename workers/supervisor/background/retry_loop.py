"""Orders to replay ranges: handed to agents as files, and what came of them taken into the ledger.

An order is withdrawn by removing its file. Its directory goes when its journal has a last word, or when no run is left
that could write one. A pipeline that has changed host leaves its journals behind: the host before takes them in and
gives the order back, and the new one goes on behind them. Where the data is on storage that hosts share, the directory
goes along by itself.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog

from pipelines.domain.base.files import make_below, read
from pipelines.domain.ledger.journal import Entry, EntryKind, JournalCorrupt, read_entries
from pipelines.domain.reprocessing.range_replay import ORDER, place
from pipelines.models import Operation
from pipelines.selectors.reprocessing.range_replays import lately_ended, left_behind, open_retries, under_way
from pipelines.services.reprocessing import range_replays
from pipelines.services.reprocessing.range_replays import data_of

_OVER = "over"
"""Everything that the journals of an order hold is in the ledger, and nobody writes there any more."""

_LARGEST_JOURNAL = 256 << 20

log = structlog.get_logger(__name__)


@dataclass
class RetryLoop:
    """The replays of a host's pipelines."""

    host: str
    state_dir: Path

    def turn(self) -> None:
        """Give back what has left, hand out what is new, take in what was done, clear away what is over."""
        for operation in left_behind(self.host):
            self._safely(self._give_back, operation)
        for operation in open_retries(self.host):
            self._safely(self._attend, operation)
        for operation in lately_ended(self.host):
            self._clear_safely(place(data_of(operation.pipeline, self.state_dir), operation.id))

    def sweep(self) -> None:
        """Clear away what was not cleared when it ended."""
        for directory in self.state_dir.glob("data/*/*/replays/*"):
            self._clear_safely(directory)

    @staticmethod
    def _safely(act: Callable[[Operation], None], operation: Operation) -> None:
        try:
            act(operation)
        except (OSError, JournalCorrupt) as error:
            log.warning("replay_unreadable", operation=str(operation.id), cause=str(error))

    def _clear_safely(self, directory: Path) -> None:
        try:
            if directory.is_dir():
                self._clear(directory)
        except (OSError, JournalCorrupt) as error:
            log.warning("replay_unreadable", operation=directory.name, cause=str(error))

    def _attend(self, operation: Operation) -> None:
        directory = place(data_of(operation.pipeline, self.state_dir), operation.id)
        if self._is_new(operation, directory):
            order = range_replays.hold(operation=operation, host=self.host)
            if order is None:
                return
            make_below(directory)
            order.store(directory / ORDER)
        if journals := _journals(directory):
            range_replays.take_in(operation=operation, journals=journals)

    def _is_new(self, operation: Operation, directory: Path) -> bool:
        """Whether the order still has to be given to the agent here."""
        moved = operation.parameters.get("host") != self.host and self._is_own(directory)
        return moved or not (directory / ORDER).exists()

    def _is_own(self, directory: Path) -> bool:
        return directory.is_relative_to(self.state_dir)

    def _give_back(self, operation: Operation) -> None:
        directory = place(data_of(operation.pipeline, self.state_dir), operation.id)
        if not self._is_own(directory):
            return
        range_replays.release(operation=operation, journals=_journals(directory))
        shutil.rmtree(directory, ignore_errors=True)

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
    return [(number, read_entries(read(path, _LARGEST_JOURNAL), 0)[0]) for number, path in numbered]
