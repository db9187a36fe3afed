"""What pipelines may reach, as the environment and administrators say it together."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db.models import QuerySet

from pipelines.domain.access.reach import AllowedNetwork, AllowedRoot, ReachPolicy
from pipelines.domain.access.reach_settings import networks_of, roots_of
from pipelines.models import AllowedNetwork as NetworkRow
from pipelines.models import AllowedRoot as RootRow
from pipelines.selectors.base.schemas import Schema


class AllowedRootSchema(Schema):
    """A directory that pipelines may read, or read and write."""

    id: int
    path: str
    mode: str
    note: str
    created_at: datetime
    created_by: str


class AllowedNetworkSchema(Schema):
    """A network, an address or a host that pipelines may connect to."""

    id: int
    target: str
    ports: str
    note: str
    created_at: datetime
    created_by: str


def policy() -> ReachPolicy:
    """The rules as they are now; paths and servers of this process' installation are never reached."""
    environment = settings.HEADGATE
    roots = [AllowedRoot(path=path, mode=mode) for path, mode in RootRow.objects.values_list("path", "mode")]
    networks = [
        AllowedNetwork(target=target, ports=ports)
        for target, ports in NetworkRow.objects.values_list("target", "ports")
    ]
    return ReachPolicy(
        roots=(*roots_of(environment.allowed_roots), *roots),
        networks=(*networks_of(environment.allowed_networks), *networks),
        listed_only=environment.reach == "listed",
        never=tuple(environment.never_reached),
        own=tuple(environment.own_servers),
    )


def allowed_roots() -> QuerySet[RootRow]:
    """Every directory that administrators allow."""
    return RootRow.objects.all()


def allowed_networks() -> QuerySet[NetworkRow]:
    """Every network and host that administrators allow."""
    return NetworkRow.objects.all()


def root_schema(row: RootRow) -> AllowedRootSchema:
    """A directory as the API answers it."""
    names = AllowedRootSchema.model_fields
    return AllowedRootSchema(**{name: getattr(row, name) for name in names})


def network_schema(row: NetworkRow) -> AllowedNetworkSchema:
    """A network as the API answers it."""
    names = AllowedNetworkSchema.model_fields
    return AllowedNetworkSchema(**{name: getattr(row, name) for name in names})
