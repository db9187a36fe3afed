"""Removes what nobody needs any more from a host's disk, in a background loop whose passes are far apart."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipelines.selectors.runs import files
from pipelines.services.base import events
from pipelines.services.runs import standby
from workers.ports import Clock, Exclusive, HostStorage, RunDir
from workers.supervisor.background.loop import BackgroundLoop
from workers.supervisor.background.pruning import (
    Known,
    KnownRun,
    Limits,
    expendable_checkpoints,
    expendable_dumps,
    expendable_runs,
)

FIRST_AFTER = 60.0
INTERVAL = 300.0


@dataclass
class _Removed:
    """What a pass has removed."""

    paths: int = 0
    size: int = 0


def _known(host: str) -> Known:
    """What the database says of the runs of a host."""
    runs = {
        (run.pipeline_name, run.number): KnownRun(
            name=run.pipeline_name,
            number=run.number,
            lineage=run.lineage,
            over=files.over(run),
            ended_at=run.ended_at,
            taken_in=run.journal_offset,
            archived=run.pipeline.archived_at is not None,
            epoch=run.epoch or 0,
        )
        for run in files.runs_of(host)
    }
    purged: dict[str, int] = {}
    for each in files.purged():
        purged[each.name] = max(each.last_run, purged.get(each.name, 0))
    return Known(runs, files.open_lineages(host), purged)


class Janitor:
    """Prunes one host. `notice` is called with the host in each pass, to look for what only its disk remembers."""

    def __init__(
        self,
        host: str,
        host_storage: HostStorage,
        limits: Limits,
        clock: Clock,
        notice: Callable[[str], None] = lambda _host: None,
    ) -> None:
        self._host = host
        self._host_storage = host_storage
        self._limits = limits
        self._clock = clock
        self._notice = notice
        self._stopping = threading.Event()

    def loop(self, lock: Exclusive) -> BackgroundLoop:
        """`lock`: one janitor per state directory, however many workers it has."""
        return BackgroundLoop(
            "janitor", self.turn, pause=INTERVAL, first_after=FIRST_AFTER, lock=lock, stopping=self._stopping
        )

    def turn(self) -> float:
        """One pass, and the seconds until the next."""
        self.prune()
        return INTERVAL

    def prune(self) -> int:
        """One pass; returns how many files and directories are gone. The disk is looked at before the database, so
        that a run which begins meanwhile is not taken for one that nobody knows."""
        removed, now = _Removed(), self._clock.now().wall
        runs = self._host_storage.runs()
        storages = files.storages(self._host)
        checkpoints = self._host_storage.checkpoints(storages)
        known = _known(self._host)
        for path in expendable_runs(runs, known, self._limits, now):
            self._remove(path, storages, removed)
        for path in expendable_checkpoints(checkpoints, known, self._limits, now):
            self._remove(path, storages, removed)
        for run in runs:
            over = (found := known.runs.get((run.name, run.number))) is not None and found.over
            self._tidy(run, over, removed)
        for purged in files.purged():
            for path in self._host_storage.stores(purged.name, purged.pipeline_id, purged.storages):
                self._remove(path, purged.storages, removed)
        self._notify(removed)
        self._notice(self._host)
        standby.discard_orphans(host=self._host)
        return removed.paths

    def _tidy(self, run: RunDir, over: bool, removed: _Removed) -> None:
        """In a run directory that stays: dumps beyond the newest, and what a killed keeper left of Spark's files."""
        for path in expendable_dumps(self._host_storage.dumps(run), self._clock.now().wall):
            self._remove(path, (), removed)
        for path in self._host_storage.leftovers(run) if over else ():
            self._remove(path, (), removed)

    def _remove(self, path: Path, storages: Sequence[str], removed: _Removed) -> None:
        if self._stopping.is_set():
            return
        removed.size += self._host_storage.remove(path, storages)
        removed.paths += 1

    def _notify(self, removed: _Removed) -> None:
        if removed.paths:
            message = f"{removed.paths} expired files and directories were removed from {self._host}."
            data = {"host": self._host, "paths": removed.paths, "bytes": removed.size}
            events.record(kind="host.pruned", message=message, data=data)
