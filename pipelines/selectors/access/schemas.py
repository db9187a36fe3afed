"""What the API answers about secrets and the audit trail."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from pipelines.selectors.base.schemas import Schema


class SecretSchema(Schema):
    """A secret without its value. `readable`: a key of this server decrypts it; null while the store has no key."""

    name: str
    version: int
    created_at: datetime
    created_by: str
    updated_at: datetime
    updated_by: str
    readable: bool | None
    used_by: list[str] = Field(description="Pipelines whose current revision refers to it.")
    receivers: list[int] = Field(description="Receivers that use it.")


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
