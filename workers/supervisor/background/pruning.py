"""Which files of a host nobody needs any more: a pure choice.

What a position, a decision or a person may still need is never chosen: a run that is not over, the last run of each
name, a journal that was not taken in to its end, the checkpoint of the lineage that goes on or of an open batch, and
whatever the database does not know, for the database may be the one that is too old.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path

from workers.ports import CheckpointDir, RunDir

DUMPS_KEPT = 50
DUMP_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Limits:
    """How long run directories and checkpoints of ended lineages are kept, and how many bytes the former may take."""

    runs: timedelta
    run_bytes: int
    checkpoints: timedelta


@dataclass(frozen=True)
class KnownRun:
    """What the database says of a run. `taken_in`: bytes of its journal. `archived`: its pipeline was deleted.
    `epoch`: 0 of one that never was ACTIVE."""

    name: str
    number: int
    lineage: int
    over: bool
    ended_at: datetime | None
    taken_in: int
    archived: bool = False
    epoch: int = 0


@dataclass(frozen=True)
class Known:
    """All that the database says. `open_lineages`: (name, lineage) with a batch that was begun and not finished;
    `purged`: the last run number of names whose pipelines were purged."""

    runs: Mapping[tuple[str, int], KnownRun]
    open_lineages: frozenset[tuple[str, int]] = frozenset()
    purged: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def newest(self) -> dict[str, KnownRun]:
        """The run of each name that consumed last."""
        found: dict[str, KnownRun] = {}
        for run in self.runs.values():
            if run.name not in found or _order(run) > _order(found[run.name]):
                found[run.name] = run
        return found

    @cached_property
    def highest(self) -> dict[str, int]:
        """The highest run number of each name."""
        found: dict[str, int] = {}
        for run in self.runs.values():
            found[run.name] = max(run.number, found.get(run.name, 0))
        return found

    def forgotten(self, name: str, number: int) -> bool:
        """Whether a run that is not known was known once: it was purged, or later runs of its name are known."""
        return self.gone(name, number) or number < self.highest.get(name, 0)

    def gone(self, name: str, number: int) -> bool:
        """Whether it is not known because its pipeline was purged."""
        return (name, number) not in self.runs and number <= self.purged.get(name, 0)

    @cached_property
    def lineages(self) -> dict[tuple[str, int], list[KnownRun]]:
        """The runs of each (name, lineage)."""
        found: dict[tuple[str, int], list[KnownRun]] = {}
        for run in self.runs.values():
            found.setdefault((run.name, run.lineage), []).append(run)
        return found


def _order(run: KnownRun) -> tuple[int, int]:
    """Runs that consumed by their epochs, after those that never did."""
    return run.epoch, run.number


def expendable_runs(found: Sequence[RunDir], known: Known, limits: Limits, now: datetime) -> list[Path]:
    """Run directories that may go: those that are too old, then the oldest until the rest fits."""
    old: set[Path] = set()
    left: list[tuple[datetime, RunDir]] = []
    for each in found:
        since = _over_since(each, known)
        if since is None:
            continue
        if known.gone(each.name, each.number) or now - since > limits.runs:
            old.add(each.path)
        else:
            left.append((since, each))
    total = sum(each.size for each in found if each.path not in old)
    return [*sorted(old), *_oldest(left, total - limits.run_bytes)]


def _over_since(each: RunDir, known: Known) -> datetime | None:
    """Since when nobody needs the directory; None where somebody may."""
    run = known.runs.get((each.name, each.number))
    if run is None:
        return each.changed if known.forgotten(each.name, each.number) else None
    if not run.over or each.journal > run.taken_in:
        return None
    if run is known.newest[each.name] and not run.archived:
        return None
    return run.ended_at or each.changed


def _oldest(left: Iterable[tuple[datetime, RunDir]], surplus: int) -> Iterator[Path]:
    for _, each in sorted(left, key=lambda pair: pair[0]):
        if surplus <= 0:
            return
        surplus -= each.size
        yield each.path


def expendable_checkpoints(found: Sequence[CheckpointDir], known: Known, limits: Limits, now: datetime) -> list[Path]:
    """Checkpoints of lineages that have ended long enough ago."""
    going_on = {(run.name, run.lineage) for run in known.newest.values() if not run.archived}
    going_on |= {(run.name, run.lineage) for run in known.runs.values() if not run.over}
    going_on |= known.open_lineages
    over = (each for each in found if (each.name, each.lineage) not in going_on)
    return [each.path for each in over if _expired(each, known, limits, now)]


def _expired(each: CheckpointDir, known: Known, limits: Limits, now: datetime) -> bool:
    runs = known.lineages.get((each.name, each.lineage))
    if runs is None:
        aged = now - each.changed > limits.checkpoints
        return known.gone(each.name, each.lineage) or (known.forgotten(each.name, each.lineage) and aged)
    return all(run.ended_at is not None and now - run.ended_at > limits.checkpoints for run in runs)


def expendable_dumps(found: Sequence[tuple[Path, int, datetime]], now: datetime) -> list[Path]:
    """Stack dumps of a run, as (path, bytes, time of change), beyond the newest; what may still be written stays."""
    spent, kept = 0, 0
    gone = []
    for path, size, changed in sorted(found, key=lambda each: each[2], reverse=True):
        kept, spent = kept + 1, spent + size
        if (kept > DUMPS_KEPT or spent > DUMP_BYTES) and now - changed > timedelta(hours=1):
            gone.append(path)
    return gone
