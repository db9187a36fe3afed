"""What hosts have room for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery

from pipelines.domain.access.teams import EVERYTHING, Access
from pipelines.domain.base.states import FORWARD_STAGES, WAITING_STAGES, DesiredState, Phase, RunRole, RunState
from pipelines.domain.definitions.checks.validate import validate_data
from pipelines.domain.definitions.document.spec import ANY_HOST
from pipelines.domain.hosts.capacity import Room, agent_bytes
from pipelines.domain.hosts.moving import ties
from pipelines.foundation import clock
from pipelines.foundation.errors import NotFound
from pipelines.models import Evacuation, Host, Migration, Pipeline, Position, Run
from pipelines.selectors.base.visible import visible
from pipelines.selectors.governance.rules import load
from pipelines.selectors.hosts.hosts import LOST_AFTER, expected, host_rows, host_schema, seen_within, supervised
from pipelines.selectors.hosts.schemas import GuestSchema, HostDetailSchema, HostMetricsSchema, HostSchema
from pipelines.selectors.runs import runs as run_selectors

CONNECTED = "HEALTHY"
"""The state of a broker connection that receives messages."""
GOVERNED = "approvals or a freeze govern its changes; a migration moves it"
_FORWARD = [stage.value for stage in FORWARD_STAGES]


def takers(present: str | None = None) -> QuerySet[Host]:
    """Hosts that take new agents: seen of late, neither being drained nor emptied. `present`: one that may be emptied,
    and nevertheless takes what has its place there."""
    seen = Host.objects.filter(seen_at__gte=clock.now() - LOST_AFTER, drained_at=None)
    return seen.filter(Q(name=present) | not_evacuating())


def not_evacuating() -> Q:
    """Of hosts: nobody moves their pipelines elsewhere."""
    return ~Q(Exists(Evacuation.objects.filter(host=OuterRef("pk"), ended_at=None)))


def is_to_be_moved(pipeline: Pipeline) -> bool:
    """Whether an evacuation of its host will move it, by a migration that was not begun yet."""
    row = Evacuation.objects.filter(host=pipeline.host_id, ended_at=None).only("names").first()
    if row is None:
        return False
    stages = [stage.value for stage in WAITING_STAGES]
    waiting = Migration.objects.filter(pipeline=pipeline, evacuation=row, stage__in=stages)
    return pipeline.name in row.names or waiting.exists()


def promised() -> QuerySet[Pipeline]:
    """Pipelines that have a place on their host: with one to come without a person, or with a living run, which is
    looked for where that is not known without."""
    living = run_selectors.living_runs().filter(pipeline=OuterRef("pk"))
    waiting = Q(phase__in=[Phase.BLOCKED, Phase.FAILED], generation=F("observed_generation"))
    coming = ~Q(desired_state=DesiredState.STOPPED) & ~waiting
    return Pipeline.objects.filter(archived_at=None, host__isnull=False).filter(coming | Q(Exists(living)))


def hosts(access: Access) -> list[HostSchema]:
    """Every host that is expected, in four queries; what it has promised is counted of what a user may see."""
    rows = list(host_rows(access))
    return [host_schema(host, room) for host, room in zip(rows, rooms(rows, access=access), strict=True)]


def host_metrics() -> list[HostMetricsSchema]:
    """What metrics show of every host that is expected, in four queries."""
    rows = list(expected().order_by("name"))
    return [
        HostMetricsSchema(
            name=row.name,
            supervised=supervised(row),
            seen_at=row.seen_at,
            tick_seconds=None if row.tick_ms is None else row.tick_ms / 1000,
            slots=row.slots,
            slots_used=room.agents,
            connected=_connected(row),
            spans_exported=row.spans_exported,
            spans_dropped=row.spans_dropped,
        )
        for row, room in zip(rows, rooms(rows), strict=True)
    ]


def _connected(host: Host) -> bool | None:
    """Whether messages reach its worker; None before its first report, and where the last one is old."""
    known = host.messages and seen_within(host.seen_at, LOST_AFTER)
    return host.messages.get("state") == CONNECTED if known else None


def host(name: str, access: Access) -> HostDetailSchema:
    """One host with the pipelines there that a user may see. Raises NotFound."""
    row = host_rows(access).filter(name=name).first()
    if row is None:
        raise NotFound(f"There is no host {name!r}.", code="host_not_found", hint="GET /api/v1/hosts lists them.")
    (room,) = rooms([row], access=access)
    return HostDetailSchema(**host_schema(row, room).model_dump(), pipelines=_guests(name, access))


def _guests(name: str, access: Access) -> list[GuestSchema]:
    living = run_selectors.living_runs().filter(pipeline=OuterRef("pk")).values("number")[:1]
    read = Exists(Position.objects.filter(pipeline=OuterRef("pk")))
    placed = visible(promised(), access).filter(host=name)
    rows = placed.select_related("current_revision").annotate(live=Subquery(living), read=read)
    rules = load()
    return [
        GuestSchema(
            name=row.name,
            phase=Phase(row.phase),
            desired_state=DesiredState(row.desired_state),
            live_run=row.live,
            tied=[*_tied(row, row.read), *([GOVERNED] if rules.govern(row) else [])],
        )
        for row in rows.order_by("name")
    ]


def wanted_host(pipeline: Pipeline) -> str:
    """The host that the definition names, or `any`."""
    return str(definition_of(pipeline).get("placement", {}).get("host", ANY_HOST))


def need_of(pipeline: Pipeline) -> int:
    """Bytes that an agent of it takes."""
    return need_by(definition_of(pipeline))


def need_by(definition: dict[str, Any]) -> int:
    """Bytes that an agent with this definition takes."""
    return agent_bytes(definition.get("placement", {}).get("launcher", {}).get("driver_memory"))


def tied(pipeline: Pipeline) -> list[str]:
    """Why it is not moved from its host, in words; empty where it can be, and before it has read anything."""
    return _tied(pipeline, Position.objects.filter(pipeline=pipeline).exists())


def _tied(pipeline: Pipeline, read: bool) -> list[str]:
    if not read and wanted_host(pipeline) == ANY_HOST:
        return []
    definition = validate_data(definition_of(pipeline)).definition
    return ["its definition is no longer valid"] if definition is None else ties(definition)


def definition_of(pipeline: Pipeline) -> dict[str, Any]:
    """The present definition, as it is stored; empty without a revision."""
    return pipeline.current_revision.definition if pipeline.current_revision else {}


def rooms(
    hosts: Iterable[Host], beside: Pipeline | None = None, *, ahead: bool = True, access: Access = EVERYTHING
) -> list[Room]:
    """The rooms of hosts, with what a user may see in them, in three queries; what `beside` takes itself is not
    counted, its standby is, unless it is one that gives way (`warm`, discarded). `ahead`: with standbys that migrations
    were begun with and have not asked for yet."""
    found = list(hosts)
    names = [host.name for host in found]
    others = visible(promised(), access).filter(host__in=names)
    if beside is not None:
        others = others.exclude(id=beside.id)
    standbys = visible(Run.objects.all(), access, "pipeline__team").filter(
        role=RunRole.STANDBY, host__in=names, discarded_at=None
    )
    standbys = standbys.exclude(state=RunState.ENDED).exclude(pipeline=beside, warm=True)
    rows = [
        *_counted(others, "host_id", "current_revision__driver_memory"),
        *_counted(standbys, "host_id", "revision__driver_memory"),
        *(_ahead(names, access) if ahead else ()),
    ]
    agents, taken = Counter[str](), Counter[str]()
    for name, heap, count in rows:
        agents[name] += count
        taken[name] += count * agent_bytes(heap)
    return [
        Room(
            host=host.name,
            cores=host.cores,
            installed=host.memory_bytes,
            slots=host.slots,
            memory=host.memory_limit,
            agents=agents[host.name],
            taken=taken[host.name],
        )
        for host in found
    ]


def _counted(rows: QuerySet[Any], host: str, heap: str) -> Iterable[tuple[str, str | None, int]]:
    """How many of these there are of each host and heap: a fleet has few of both."""
    counted: Iterable[tuple[str, str | None, int]] = rows.order_by().values_list(host, heap).annotate(count=Count("pk"))
    return counted


def _ahead(names: Collection[str], access: Access) -> Iterable[tuple[str, str | None, int]]:
    """Of standbys that migrations were begun with and have not asked for yet."""
    started = visible(Migration.objects.all(), access, "pipeline__team").filter(
        stage__in=_FORWARD, new_run=None, new_host__in=names
    )
    return _counted(started, "new_host_id", "new_revision__driver_memory")
