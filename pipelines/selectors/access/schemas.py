"""What the API answers about secrets and the audit trail."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from pipelines.domain.access.secret_bindings import Purpose
from pipelines.domain.hosts.connection_tests import ConnectionState, ServerContact, StandaloneCluster
from pipelines.selectors.base.schemas import Schema


class SecretSchema(Schema):
    """A secret without its value. `team` null: it is of the installation. `readable`: a key of this server decrypts it;
    null while the store has no key, and of what is kept elsewhere. `version`: 0 where the backend counts none, and
    while none was read."""

    name: str
    team: str | None
    backend: Literal["store", "vault", "env", "file"] = Field(description="Where the value is kept.")
    purpose: Purpose = Field(description="Who uses it; names are of a purpose.")
    pipelines: list[str] = Field(
        description="Pipelines that may use it: names with * and ?, label:key=value, consumer-groups/NAME."
    )
    destinations: list[str] = Field(description="Where it may go: HOST:PORT, and types of components.")
    unencrypted: list[str] = Field(
        description="Where it went without encryption before bindings came to be, and goes until it is bound anew."
    )
    version: int
    created_at: datetime
    created_by: str
    updated_at: datetime
    updated_by: str
    readable: bool | None
    last_used_at: datetime | None = Field(description="When a run was last given its value.")
    last_used_by: str = Field(description="That run, as PIPELINE/NUMBER.")
    used_by: list[str] = Field(
        description="Pipelines whose current revision refers to it, consumer groups and clusters that do."
    )
    receivers: list[int] = Field(description="Receivers that use it.")
    outdated: list[str] = Field(description="Pipelines that run with an earlier version of it until their next start.")


class OutdatedSecretSchema(Schema):
    """A secret that a run was given in an earlier version than is stored now."""

    name: str
    running: int = Field(description="The version that the run was given.")
    current: int = Field(description="The version that its next start is given.")


class RotationSchema(Schema):
    """How many secrets are under the current key now, and those that no key decrypts."""

    rotated: int
    unreadable: list[str]


class ClusterSchema(Schema):
    """A Spark cluster, with its secret as the reference that it is. `team` null: it is for pipelines of every team."""

    name: str
    team: str | None
    spec: dict[str, Any]
    version: int
    created_at: datetime
    created_by: str
    updated_at: datetime
    updated_by: str
    used_by: list[str] = Field(description="Pipelines whose current revision or run is placed on it.")
    pending: list[str] = Field(description="Pipelines that run on an earlier version of it until their next start.")


class HostConnectionSchema(Schema):
    """The connection from one host to a Spark cluster, as its last test has found it. Everything is empty or null where
    `state` is NOT_CHECKED: no test of the present version was made lately, or its kind of cluster has no address."""

    host: str
    state: ConnectionState
    message: str = Field(description="Why it cannot be used, or was not checked.")
    code: str
    hint: str
    requested_by: str | None
    requested_at: datetime | None
    checked_at: datetime | None
    servers: list[ServerContact]
    standalone: StandaloneCluster | None
    unchecked: list[str] = Field(description="What the test leaves open.")


class ClusterTestSchema(Schema):
    """The connection from every host to a Spark cluster. `checking`: whether a host has still to answer."""

    cluster: str
    version: int
    checking: bool
    hosts: list[HostConnectionSchema]


class AuditHeadSchema(Schema):
    """The signed end of the audit's chain: keep it elsewhere, and compare by `headgate audit verify --head`."""

    sequence: int
    digest: str
    at: datetime
    key: str = Field(description="The id of the key that signed.")
    signature: str


class AuditCheckSchema(Schema):
    """What the last walk over the whole chain found."""

    at: datetime
    sequence: int = Field(description="The last row up to which the chain holds.")
    holds: bool
    problem: str = Field(description="The first thing that does not hold; empty where all does.")


class AuditForwardingSchema(Schema):
    """How far the audit was forwarded to one destination."""

    destination: str = Field(examples=["syslog", "otlp"])
    address: str
    sequence: int = Field(description="The last row that has arrived.")
    behind: int = Field(description="Sealed rows that have not arrived yet.")
    behind_since: datetime | None = Field(description="When the oldest of them was recorded.")
    forwarded_at: datetime | None
    failing_since: datetime | None
    error: str = Field(description="Why the last attempt failed; empty where it did not.")


class AuditMetricsSchema(Schema):
    """What metrics show of the audit. `behind`: rows that have not arrived, by destination."""

    unsealed: int
    holds: bool | None
    behind: dict[str, int]


class AuditChainSchema(Schema):
    """How far the audit is sealed, and how far that was verified. `check` is null until a worker has walked over the
    chain, and where the key of this installation has not signed what it found."""

    head: AuditHeadSchema | None
    unsealed: int = Field(description="Rows that wait to be sealed.")
    oldest_unsealed_at: datetime | None
    check: AuditCheckSchema | None
    check_requested_at: datetime | None = Field(description="Since when a user waits for a walk; null if none does.")
    forwarding: list[AuditForwardingSchema]
