"""Reading Spark's checkpoint of one query: offset log, commit log and initial offsets.

Every file of both logs is looked at, since Spark itself stumbles over some of them only while it runs. Nothing is
written here but a repair: the newest entry, torn by a crash, is made good from the ledger.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipelines.domain.base.positions import PartitionPosition, PartitionRange, TopicPartition

Offsets = dict[TopicPartition, int]

_OFFSETS, _COMMITS = "offsets", "commits"


class CheckpointDamaged(Exception):
    """A file of the checkpoint cannot be read, or is missing between others."""


@dataclass(frozen=True)
class Repair:
    """What makes a torn newest entry good again: `content` None removes it, so that Spark writes it anew."""

    path: Path
    batch: int
    action: str
    content: str | None = None

    def carry_out(self) -> None:
        """Replace or remove the file, with the checksum that some file systems keep beside it."""
        self.path.with_name(f".{self.path.name}.crc").unlink(missing_ok=True)
        if self.content is None:
            self.path.unlink(missing_ok=True)
            return
        temporary = self.path.with_name(f".{self.path.name}.repair")
        temporary.write_text(self.content)
        temporary.replace(self.path)


@dataclass(frozen=True)
class CheckpointState:
    """What a checkpoint says: newest planned batch, newest committed one, and where each known batch ends.

    `repairs` have been thought away: the view is that of the checkpoint once they are carried out.
    """

    planned: int | None = None
    committed: int | None = None
    initial: Offsets | None = None
    ends: Mapping[int, Offsets] | None = None
    repairs: Sequence[Repair] = ()

    @property
    def used(self) -> bool:
        """Whether a query ever began a batch in it."""
        return self.planned is not None or self.committed is not None

    @property
    def position(self) -> Offsets:
        """Where the next batch begins that is not committed."""
        if self.committed is None:
            return self.initial or {}
        return (self.ends or {}).get(self.committed, {})


@dataclass(frozen=True)
class LedgerBatchEnd:
    """What the ledger tells of a batch: its number, and where it ends."""

    batch: int
    ends: Offsets


_NOTHING = LedgerBatchEnd(-1, {})


class Checkpoint:
    """The checkpoint directory of one query with one source."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def state(self, done: LedgerBatchEnd = _NOTHING, plan: LedgerBatchEnd = _NOTHING) -> CheckpointState:
        """Read what the guard compares. `done`, `plan`: the batches that the ledger finished last and has open.

        Raises CheckpointDamaged where more than the newest entry of a log is torn, or where the ledger cannot mend it.
        """
        planned, committed = self._batches(_OFFSETS), self._batches(_COMMITS)
        torn = [*self._torn_plan(planned, committed, (done, plan)), *self._torn_commit(committed, done)]
        ends = {batch: self.ends(batch) for batch in planned[-3:] if not _is_torn(torn, _OFFSETS, batch)}
        for repair in torn:
            log = planned if repair.path.parent.name == _OFFSETS else committed
            if repair.content is None:
                log.remove(repair.batch)
            else:
                ends[repair.batch] = _offsets(repair.content.splitlines()[2])
        torn += self._torn_initial(used=bool(planned or committed))
        newest = _last(planned)
        kept = {batch: at for batch, at in ends.items() if newest is not None and batch >= newest - 1}
        initial = None if any(repair.path == self._initial_path for repair in torn) else self._initial()
        return CheckpointState(newest, _last(committed), initial, kept, tuple(torn))

    def ends(self, batch: int) -> Offsets:
        """End offsets of a batch in the offset log. Raises CheckpointDamaged."""
        path = self._log(_OFFSETS, batch)
        try:
            return _offsets(_plan_lines(path)[2])
        except (OSError, ValueError, IndexError, TypeError, AttributeError) as error:
            raise CheckpointDamaged(f"{path}: {error}") from error

    def is_committed(self, batch: int) -> bool:
        """Whether Spark's commit of the batch is on disk; only then is the batch over."""
        return self._log(_COMMITS, batch).exists()

    def _torn_plan(self, planned: list[int], committed: list[int], reported: Sequence[LedgerBatchEnd]) -> list[Repair]:
        """The newest entry of the offset log, where it alone is damaged."""
        damaged = [batch for batch in planned if not self._readable(batch)]
        if not damaged:
            return []
        newest, path = planned[-1], self._log(_OFFSETS, planned[-1])
        if damaged != [newest]:
            self.ends(damaged[0])
        if known := next((each for each in reported if each.batch == newest), None):
            content = self._plan(newest, known.ends)
            return [Repair(path, newest, "written again with the ends from the ledger", content)]
        if newest in committed:
            raise CheckpointDamaged(f"{path}: it is torn, and the ledger does not have the batch")
        return [Repair(path, newest, "removed; the sink has nothing of the batch, and it is planned again")]

    def _torn_commit(self, committed: list[int], done: LedgerBatchEnd) -> list[Repair]:
        """The newest entry of the commit log, where it alone is damaged: its batch comes again and is not written."""
        damaged = [batch for batch in committed if not self._is_commit(batch)]
        if not damaged:
            return []
        if damaged != committed[-1:] or done.batch != damaged[0]:
            raise CheckpointDamaged(f"{self._log(_COMMITS, damaged[0])}: not a commit")
        action = "removed; its batch is done in the ledger and is not written again"
        return [Repair(self._log(_COMMITS, damaged[0]), damaged[0], action)]

    def _readable(self, batch: int) -> bool:
        try:
            self.ends(batch)
        except CheckpointDamaged:
            return False
        return True

    def _is_commit(self, batch: int) -> bool:
        try:
            lines = self._log(_COMMITS, batch).read_text().splitlines()
            return lines[0].startswith("v") and isinstance(json.loads(lines[1]), dict)
        except (OSError, ValueError, IndexError):
            return False

    def _plan(self, batch: int, ends: Offsets) -> str:
        """An offset log as Spark writes it; its settings are those of the batch before."""
        try:
            settings = _plan_lines(self._log(_OFFSETS, batch - 1))[1]
        except (OSError, ValueError, IndexError):
            settings = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": round(time.time() * 1000), "conf": {}})
        return "\n".join(["v1", settings, json.dumps(dump(ends))])

    def _torn_initial(self, *, used: bool) -> list[Repair]:
        """The files that are written before the first batch; Spark writes them anew as long as there was none."""
        torn = []
        for path, probe in ((self.path / "metadata", self._metadata), (self._initial_path, self._initial)):
            try:
                probe()
            except CheckpointDamaged:
                if used:
                    raise
                torn.append(Repair(path, 0, "removed; no batch has started, and it is written again"))
        return torn

    def _metadata(self) -> None:
        path = self.path / "metadata"
        try:
            if path.exists() and not json.loads(path.read_text())["id"]:
                raise ValueError("it has no id")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CheckpointDamaged(f"{path}: {error}") from error

    @property
    def _initial_path(self) -> Path:
        return self.path / "sources" / "0" / "0"

    def _initial(self) -> Offsets | None:
        path = self._initial_path
        try:
            text = path.read_text()
            return _offsets(text[text.index("{") :])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise CheckpointDamaged(f"{path}: {error}") from error

    def _batches(self, log: str) -> list[int]:
        """The batches of a log. Raises CheckpointDamaged where one is missing between others."""
        directory = self.path / log
        if not directory.is_dir():
            return []
        found = sorted(int(path.name) for path in directory.iterdir() if path.name.isdigit())
        for before, after in itertools.pairwise(found):
            if after != before + 1:
                raise CheckpointDamaged(f"{directory}: batch {before + 1} is missing")
        return found

    def _log(self, log: str, batch: int) -> Path:
        return self.path / log / str(batch)


def _plan_lines(path: Path) -> list[str]:
    lines = path.read_text().splitlines()
    if lines[0] != "v1" or len(lines) != 3:
        raise ValueError("not an offset log with one source")
    json.loads(lines[1])
    return lines


def _is_torn(torn: Sequence[Repair], log: str, batch: int) -> bool:
    return any(repair.batch == batch and repair.path.parent.name == log for repair in torn)


def _last(batches: list[int]) -> int | None:
    return batches[-1] if batches else None


def _offsets(text: str) -> Offsets:
    topics = json.loads(text)
    found = {
        TopicPartition(topic, int(number)): offset
        for topic, numbers in topics.items()
        for number, offset in numbers.items()
    }
    if any(type(offset) is not int or offset < 0 for offset in found.values()):
        raise ValueError("an offset is not a position")
    return found


def dump(offsets: Offsets) -> dict[str, dict[str, int]]:
    """Offsets as Spark's offset log keeps them: `{"topic": {"partition": offset}}`, in one order."""
    found: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(partition)] = offset
    return found


def ranges(starts: Offsets, ends: Offsets) -> list[PartitionRange]:
    """What a batch reads: partitions that move. One that was not known before starts at 0, as Spark demands."""
    return [
        PartitionRange(topic=key.topic, partition=key.partition, start=starts.get(key, 0), end=end)
        for key, end in sorted(ends.items())
        if end != starts.get(key, 0)
    ]


def positions(offsets: Offsets) -> list[PartitionPosition]:
    """The same offsets as positions, sorted."""
    return [
        PartitionPosition(topic=topic, partition=number, offset=at) for (topic, number), at in sorted(offsets.items())
    ]


def as_offsets(items: list[PartitionPosition]) -> Offsets:
    """Positions by (topic, partition)."""
    return {item.key: item.offset for item in items}
