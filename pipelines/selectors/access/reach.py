"""What pipelines may reach, as the environment and administrators say it together."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from pipelines.domain.access.reach import AllowedNetwork, AllowedRoot, ReachPolicy
from pipelines.domain.access.reach_settings import networks_of, roots_of
from pipelines.domain.access.teams import Access
from pipelines.models import AllowedNetwork as NetworkRow
from pipelines.models import AllowedRoot as RootRow
from pipelines.selectors.base.schemas import Schema
from pipelines.selectors.base.visible import usable, visible


class AllowedRootSchema(Schema):
    """A directory that pipelines may read, or read and write: those of `team`, or all where it is null."""

    id: int
    team: str | None
    path: str
    mode: str
    note: str
    created_at: datetime
    created_by: str


class AllowedNetworkSchema(Schema):
    """A network, an address or a host that pipelines may connect to: those of `team`, or all where it is null."""

    id: int
    team: str | None
    target: str
    ports: str
    note: str
    created_at: datetime
    created_by: str


def policy(teams: Collection[int] | None) -> ReachPolicy:
    """The rules as they are now for pipelines of any of these teams, None for those of all; paths and servers of this
    process' installation are never reached."""
    environment = settings.HEADGATE
    roots = [
        AllowedRoot(path=path, mode=mode)
        for path, mode in usable(RootRow.objects.all(), teams).values_list("path", "mode")
    ]
    networks = [
        AllowedNetwork(target=target, ports=ports)
        for target, ports in usable(NetworkRow.objects.all(), teams).values_list("target", "ports")
    ]
    return ReachPolicy(
        roots=(*roots_of(environment.allowed_roots), *roots),
        networks=(*networks_of(environment.allowed_networks), *networks),
        listed_only=environment.reach == "listed",
        never=tuple(environment.never_reached),
        own=tuple(environment.own_servers),
    )


def allowed_roots(access: Access) -> QuerySet[RootRow]:
    """The directories that administrators allow to all pipelines, and to those of a user's teams."""
    return visible(RootRow.objects.select_related("team"), access, shared=True)


def allowed_networks(access: Access) -> QuerySet[NetworkRow]:
    """The networks and hosts that administrators allow to all pipelines, and to those of a user's teams."""
    return visible(NetworkRow.objects.select_related("team"), access, shared=True)


def root_schema(row: RootRow) -> AllowedRootSchema:
    """A directory as the API answers it."""
    return AllowedRootSchema(**_facts(row, AllowedRootSchema))


def network_schema(row: NetworkRow) -> AllowedNetworkSchema:
    """A network as the API answers it."""
    return AllowedNetworkSchema(**_facts(row, AllowedNetworkSchema))


def _facts(row: RootRow | NetworkRow, schema: type[Schema]) -> dict[str, Any]:
    facts = {name: getattr(row, name) for name in schema.model_fields if name != "team"}
    return {**facts, "team": row.team.name if row.team else None}
