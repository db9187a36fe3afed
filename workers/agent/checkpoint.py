"""Reading Spark's checkpoint of one query: offset log, commit log and initial offsets. Never written here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipelines.domain.positions import PartitionPosition, PartitionRange

Key = tuple[str, int]
Offsets = dict[Key, int]


class CheckpointDamaged(Exception):
    """A file of the checkpoint cannot be read."""


@dataclass(frozen=True)
class View:
    """What a checkpoint says: newest planned batch, newest committed one, and where each known batch ends."""

    planned: int | None = None
    committed: int | None = None
    initial: Offsets | None = None
    ends: Mapping[int, Offsets] | None = None

    @property
    def used(self) -> bool:
        """Whether a query ever began a batch in it."""
        return self.planned is not None or self.committed is not None


class Checkpoint:
    """The checkpoint directory of one query with one Kafka source."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def view(self) -> View:
        """Read what the guard compares. Raises CheckpointDamaged."""
        planned, committed = self._newest("offsets"), self._newest("commits")
        known = (
            []
            if planned is None
            else [batch for batch in (planned - 1, planned) if self._log("offsets", batch).exists()]
        )
        return View(planned, committed, self._initial(), {batch: self.ends(batch) for batch in known})

    def ends(self, batch: int) -> Offsets:
        """End offsets of a batch in the offset log. Raises CheckpointDamaged."""
        path = self._log("offsets", batch)
        try:
            lines = path.read_text().splitlines()
            if lines[0] != "v1" or len(lines) != 3:
                raise ValueError("not an offset log with one source")
            return _offsets(lines[2])
        except (OSError, ValueError, IndexError, TypeError, AttributeError) as error:
            raise CheckpointDamaged(f"{path}: {error}") from error

    def is_committed(self, batch: int) -> bool:
        """Whether Spark's commit of the batch is on disk; only then is the batch over."""
        return self._log("commits", batch).exists()

    def _initial(self) -> Offsets | None:
        path = self.path / "sources" / "0" / "0"
        try:
            text = path.read_text()
            return _offsets(text[text.index("{") :])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise CheckpointDamaged(f"{path}: {error}") from error

    def _newest(self, log: str) -> int | None:
        directory = self.path / log
        if not directory.is_dir():
            return None
        return max((int(path.name) for path in directory.iterdir() if path.name.isdigit()), default=None)

    def _log(self, log: str, batch: int) -> Path:
        return self.path / log / str(batch)


def _offsets(text: str) -> Offsets:
    topics = json.loads(text)
    found = {(topic, int(number)): offset for topic, numbers in topics.items() for number, offset in numbers.items()}
    if any(type(offset) is not int or offset < 0 for offset in found.values()):
        raise ValueError("an offset is not a position")
    return found


def ranges(starts: Offsets, ends: Offsets) -> list[PartitionRange]:
    """What a batch reads: partitions that move. One that was not known before starts at 0, as Spark demands."""
    return [
        PartitionRange(topic=topic, partition=number, start=starts.get((topic, number), 0), end=end)
        for (topic, number), end in sorted(ends.items())
        if end != starts.get((topic, number), 0)
    ]


def positions(offsets: Offsets) -> list[PartitionPosition]:
    """The same offsets as positions, sorted."""
    return [
        PartitionPosition(topic=topic, partition=number, offset=at) for (topic, number), at in sorted(offsets.items())
    ]


def as_offsets(items: list[PartitionPosition]) -> Offsets:
    """Positions by (topic, partition)."""
    return {item.key: item.offset for item in items}
