"""Simulated hosts with real supervisors over one real database, and the one clock of them all."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.db import connection

from pipelines.domain.access.reach import AllowedNetwork, ReachPolicy
from pipelines.domain.base.states import Phase
from pipelines.domain.definitions.checks.validate import validate_data
from pipelines.foundation import clock
from pipelines.models import DEFAULT_TEAM, Pipeline, Revision, Team
from workers.simulated.agents import Agents
from workers.simulated.host import SimulatedHost
from workers.simulated.supervisor import supervisor

SERVERS = "127.0.0.1:9092"
_REACH = ReachPolicy(networks=(AllowedNetwork(target="127.0.0.1"),))
_BOOTED = 1000.0
"""Seconds; each host has another boot clock."""
_ANY = "any-pipeline"
_AT_ONCE = 500
LEASE = DEADLINE = 30
"""Seconds."""


@dataclass(frozen=True)
class Tick:
    """One tick of one host: milliseconds, and queries."""

    ms: float
    queries: int


@dataclass
class Site:
    """One host. `lost`: the machine is gone, with its worker and its agents."""

    name: str
    host: SimulatedHost
    rest: int
    lost: bool = False

    def __post_init__(self) -> None:
        self.agents = Agents(self.host, rest=self.rest)
        self._supervisor = supervisor(self.host, [], self.name, reach=lambda _: _REACH)

    def lose(self) -> None:
        """Switch the machine off."""
        self.host.reboot()
        self.lost = True

    def live(self) -> Tick | None:
        """One second of its agents, then one tick; None where the machine is gone."""
        self.host.advance(1.0)
        if self.lost:
            return None
        self.agents.step()
        queries = 0

        def counted(execute: Callable[..., Any], *arguments: Any) -> Any:
            nonlocal queries
            queries += 1
            return execute(*arguments)

        started = time.perf_counter()
        with connection.execute_wrapper(counted):
            self._supervisor.tick()
        return Tick((time.perf_counter() - started) * 1000, queries)


@dataclass
class Fleet:
    """All hosts. `rest`: seconds for which an agent rests between two batches of ten records; `second`: how many have
    been lived."""

    hosts: int
    rest: int
    second: int = 0
    sites: list[Site] = field(default_factory=list)

    def __post_init__(self) -> None:
        begun = datetime.now(UTC)
        clock.follow(lambda: begun + timedelta(seconds=self.second))
        for number in range(1, self.hosts + 1):
            name = f"host-{number:02}"
            boot = _BOOTED * number
            host = SimulatedHost(Path("/simulated") / name, boottime=boot, boot_id=f"boot-{number}", wall=begun)
            self.sites.append(Site(name, host, self.rest))

    def live(self) -> list[Tick]:
        """A second of everybody."""
        self.second += 1
        return [tick for site in self.sites if (tick := site.live())]

    def agents_of(self) -> Counter[str]:
        """How many living agents each pipeline has."""
        return Counter(agent.launch.pipeline for site in self.sites for agent in site.agents.living)


def define(count: int) -> None:
    """So many stopped pipelines of the default team, each of which moves to another host soon after its own is lost."""
    team, now = Team.objects.get(name=DEFAULT_TEAM), clock.now()
    names = [f"pipeline-{number:05}" for number in range(count)]
    pipelines = [Pipeline(name=name, team=team, phase=Phase.STOPPED, phase_since=now) for name in names]
    Pipeline.objects.bulk_create(pipelines, batch_size=_AT_ONCE)
    lifecycle = {"on_supervisor_loss": "fence", "lease": LEASE}
    publish(pipelines, "simulation", {"write_deadline": DEADLINE}, lifecycle=lifecycle)


def publish(pipelines: Sequence[Pipeline], author: str, sink: Mapping[str, Any] | None = None, **more: Any) -> None:
    """The first revision of each: Kafka to Kafka, by the defaults but for these keys of the sink and of the whole."""
    text = json.dumps(_definition(_ANY, sink or {}, more))
    revisions = [
        Revision(
            pipeline=each,
            number=1,
            digest="0" * 64,
            created_by=author,
            definition=json.loads(text.replace(_ANY, each.name)),
        )
        for each in pipelines
    ]
    Revision.objects.bulk_create(revisions, batch_size=_AT_ONCE)
    for pipeline, revision in zip(pipelines, revisions, strict=True):
        pipeline.current_revision = revision
    Pipeline.objects.bulk_update(pipelines, ["current_revision"], batch_size=_AT_ONCE)


def _definition(name: str, sink: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    topic = {"type": "kafka", "channel": "main", "bootstrap_servers": SERVERS, "topic": f"{name}-out"}
    wanted = {
        "api_version": "headgate/v1",
        "name": name,
        "sources": {
            "shop": {
                "type": "kafka",
                "bootstrap_servers": SERVERS,
                "topics": [f"{name}-in"],
                "group_id": f"headgate.{name}",
                "start_from": "earliest",
            }
        },
        "channels": {"main": {"type": "direct"}},
        "sinks": {"out": {**topic, **sink}},
        **more,
    }
    found = validate_data(wanted).definition
    if found is None:
        raise ValueError("the definition of the simulated pipelines is not valid")
    return found.plain()
