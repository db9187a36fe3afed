"""What the API answers about secrets and the audit trail."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from pipelines.domain.access.secret_bindings import Purpose
from pipelines.selectors.base.schemas import Schema


class SecretSchema(Schema):
    """A secret without its value. `readable`: a key of this server decrypts it; null while the store has no key."""

    name: str
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
    """A Spark cluster, with its secret as the reference that it is."""

    name: str
    spec: dict[str, Any]
    version: int
    created_at: datetime
    created_by: str
    updated_at: datetime
    updated_by: str
    used_by: list[str] = Field(description="Pipelines whose current revision or run is placed on it.")
    pending: list[str] = Field(description="Pipelines that run on an earlier version of it until their next start.")
