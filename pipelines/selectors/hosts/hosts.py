"""Reading hosts."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Count, Q, QuerySet

from pipelines.domain.access.teams import Access
from pipelines.domain.base.states import RunState
from pipelines.domain.hosts.capacity import Room
from pipelines.domain.lifecycle.operations import OnTimeout
from pipelines.foundation import clock
from pipelines.models import Host
from pipelines.selectors.hosts.schemas import DiskSchema, HostSchema, HostState, IsolationSchema, MessagesSchema

SUPERVISED_WITHIN = timedelta(seconds=5)
LOST_AFTER = timedelta(seconds=30)


def seen_within(seen_at: datetime | None, limit: timedelta) -> bool:
    """Whether a host was seen within `limit`."""
    return seen_at is not None and clock.now() - seen_at <= limit


def supervised(host: Host | None) -> bool:
    """Whether the supervisor of a pipeline's host is heard; without a host there is nothing to supervise."""
    return host is None or seen_within(host.seen_at, SUPERVISED_WITHIN)


def expected() -> QuerySet[Host]:
    """Every host that ever reported and was not removed since."""
    return Host.objects.filter(removed_at=None)


def is_removed(name: str) -> bool:
    """Whether nobody expects a host any longer."""
    return Host.objects.filter(name=name, removed_at__isnull=False).exists()


def host_rows(access: Access) -> QuerySet[Host]:
    """The same with the number of their living agents that a user may see."""
    living = ~Q(runs__state=RunState.ENDED)
    if (teams := access.visible) is not None:
        living &= Q(runs__pipeline__team__in=teams)
    return expected().annotate(agents=Count("runs", filter=living)).order_by("name")


def host_schema(host: Host, room: Room) -> HostSchema:
    """One host as the API shows it."""
    return HostSchema(
        name=host.name,
        state=HostState.UP if seen_within(host.seen_at, LOST_AFTER) else HostState.LOST,
        seen_at=host.seen_at,
        supervised=seen_within(host.seen_at, SUPERVISED_WITHIN),
        agents=host.agents,  # type: ignore[attr-defined]
        cores=host.cores,
        memory_bytes=host.memory_bytes,
        state_dir=host.state_dir,
        version=host.version,
        messages=MessagesSchema.model_validate(host.messages) if host.messages else None,
        disk=DiskSchema.model_validate(host.disk) if host.disk else None,
        isolation=IsolationSchema.model_validate(host.isolation) if host.isolation else None,
        lease_epoch=host.lease_epoch,
        slots=host.slots,
        memory_limit=host.memory_limit,
        promised=room.agents,
        memory_promised=room.taken,
        drained_at=host.drained_at,
        drained_by=host.drained_by,
        on_timeout=OnTimeout(host.on_timeout),
    )
