"""What a simulation goes through: every pipeline is started, all of them rest, a host is evacuated, hosts are lost.

Each phase ends when what it is about is so, or fails at its bound; what must hold at its end is checked then.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from django.apps import apps
from django.db import connection

from controlplane.simulation.fleet import Fleet, Tick, define
from pipelines.domain.base.states import OperationKind, Phase
from pipelines.domain.migration.observation import ObservationRules
from pipelines.models import Evacuation, Event, LedgerBatch, Migration, Pipeline
from pipelines.services.base.audit import Actor
from pipelines.services.hosts import evacuations
from pipelines.services.lifecycle import lifecycle

LONGEST = 3600
"""Simulated seconds of one phase."""
_ACTOR = Actor("simulation")
_SAID_EVERY = 5.0
Say = Callable[[str], None]


class SimulationFailed(Exception):
    """A phase did not come to its end, or something does not hold that must."""


@dataclass(frozen=True)
class Plan:
    """How much is simulated. `rest`: seconds between two batches of an agent; `at_once`: migrations of the evacuation;
    `window`: seconds for which each of them is observed."""

    hosts: int = 20
    pipelines: int = 10_000
    lose: int = 3
    quiet: int = 30
    rest: int = 60
    at_once: int = 50
    window: int = 10


@dataclass
class Measured:
    """One phase: its simulated and real seconds, its ticks, how many rows of each table and bytes the database has
    gained, and what else there is to say."""

    name: str
    simulated: int = 0
    real: float = 0.0
    ticks: list[Tick] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    size: int = 0
    said: dict[str, str] = field(default_factory=dict)


class Simulation:
    """Runs a plan in the empty database that the environment names."""

    def __init__(self, plan: Plan, say: Say) -> None:
        self._plan = plan
        self._say = say
        self._fleet = Fleet(plan.hosts, plan.rest)
        self.measured: list[Measured] = []

    def run(self) -> list[Measured]:
        """All phases. Raises SimulationFailed."""
        self._phase("start", self._start)
        self._phase("rest", self._rest)
        self._phase("evacuation", self._evacuate)
        self._phase("loss", self._lose)
        return self.measured

    def _phase(self, name: str, run: Callable[[Measured], None]) -> None:
        before, size, started = _rows(), _size(), time.monotonic()
        found = Measured(name)
        self._say(f"{name}: begins")
        run(found)
        found.real = time.monotonic() - started
        found.rows = {table: gained for table, count in _rows().items() if (gained := count - before.get(table, 0))}
        found.size = _size() - size
        self.measured.append(found)
        self._check(name)
        self._say(f"{name}: {found.simulated} simulated seconds in {found.real:.0f} s")

    def _until(self, found: Measured, done: Callable[[], bool], progress: Callable[[], str]) -> None:
        said = time.monotonic()
        while not done():
            if found.simulated >= LONGEST:
                raise SimulationFailed(f"{found.name} did not end within {LONGEST} simulated seconds: {progress()}")
            found.ticks += self._fleet.live()
            found.simulated += 1
            if time.monotonic() - said > _SAID_EVERY:
                said = time.monotonic()
                self._say(f"{found.name}: {found.simulated} simulated seconds, {progress()}")

    def _start(self, found: Measured) -> None:
        self._fleet.live()
        define(self._plan.pipelines)
        started = time.monotonic()
        for pipeline in Pipeline.objects.order_by("name").iterator():
            lifecycle.request(pipeline=pipeline, action=OperationKind.START, actor=_ACTOR)
        spent = time.monotonic() - started
        found.said["milliseconds of a request to start"] = f"{1000 * spent / self._plan.pipelines:.1f}"
        self._until(found, self._all_run, self._running)
        placed = [_on(site.name) for site in self._fleet.sites]
        found.said["pipelines of a host"] = f"{min(placed):,} to {max(placed):,}"

    def _rest(self, found: Measured) -> None:
        end = self._plan.quiet
        self._until(found, lambda: found.simulated >= end, self._running)

    def _evacuate(self, found: Measured) -> None:
        name = self._fleet.sites[0].name
        count = _on(name)
        rules = ObservationRules(window=self._plan.window)
        row = evacuations.start(
            host=name, at_once=self._plan.at_once, go_on=True, reason="simulation", actor=_ACTOR, rules=rules
        )
        left = Migration.objects.filter(evacuation=row).exclude(stage="COMMITTED")
        over = Evacuation.objects.filter(pk=row.pk, ended_at__isnull=False)
        self._until(found, over.exists, lambda: f"{_on(name):,} of {count:,} pipelines are left")
        row.refresh_from_db()
        if row.left or left.exists() or _on(name):
            raise SimulationFailed(f"{len(row.left)} pipelines were not evacuated: {dict(list(row.left.items())[:3])}")
        found.said["pipelines evacuated"] = f"{count:,}"
        self._until(found, self._all_run, self._running)

    def _lose(self, found: Measured) -> None:
        lost = self._fleet.sites[1 : self._plan.lose + 1]
        names = [site.name for site in lost]
        count = _on(*names)
        for site in lost:
            site.lose()
        self._until(
            found,
            lambda: not _on(*names) and self._all_run(),
            lambda: f"{_on(*names):,} of {count:,} pipelines are on lost hosts",
        )
        found.said["pipelines that moved"] = f"{count:,}"

    def _all_run(self) -> bool:
        return not Pipeline.objects.exclude(phase=Phase.RUNNING).exists()

    def _running(self) -> str:
        return f"{Pipeline.objects.filter(phase=Phase.RUNNING).count():,} of {self._plan.pipelines:,} pipelines run"

    def _check(self, name: str) -> None:
        """Each pipeline has one agent, its ledger has neither gap nor overlap, and no supervisor met an error."""
        agents = self._fleet.agents_of()
        wrong = {pipeline: count for pipeline, count in agents.items() if count != 1}
        if wrong or len(agents) != self._plan.pipelines:
            raise SimulationFailed(f"after {name}, {len(agents):,} pipelines have an agent, and these not one: {wrong}")
        if (unlike := LedgerBatch.objects.filter(gaps__gt=0) | LedgerBatch.objects.filter(overlaps__gt=0)).exists():
            raise SimulationFailed(f"after {name}, {unlike.count()} batches have gaps or overlaps")
        if (error := Event.objects.filter(kind__in=["supervisor.error", "journal.damaged"]).first()) is not None:
            raise SimulationFailed(f"in {name}, a supervisor met an error: {error.message}")


def _on(*hosts: str) -> int:
    """How many pipelines are assigned to these hosts."""
    return Pipeline.objects.filter(host__in=hosts).count()


def _rows() -> dict[str, int]:
    return {
        model._meta.db_table: model._default_manager.count() for model in apps.get_app_config("pipelines").get_models()
    }


def _size() -> int:
    """Bytes of the database's pages."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_database_size(current_database())")
            return int(cursor.fetchone()[0])
        pages, size = (cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
        return int(pages) * int(size)
