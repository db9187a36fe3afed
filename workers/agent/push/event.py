"""Events as a program hands them to an ingest buffer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from workers.agent.push import frames


@dataclass(frozen=True)
class Event:
    """Headers and a body; either may be missing. `problem`: why it cannot be used, as the source saw it."""

    body: bytes | None
    headers: Mapping[str, str | bytes | None] = field(default_factory=dict)
    problem: str | None = None


def record_batch(items: Sequence[Event]) -> pa.RecordBatch:
    """Events as a log keeps them."""
    columns = [
        pa.nulls(len(items), pa.binary()),
        pa.array([item.body for item in items], pa.binary()),
        pa.array(
            [[(name, _bytes(value)) for name, value in item.headers.items()] for item in items],
            frames.SCHEMA.field("headers").type,
        ),
        pa.array([item.problem for item in items], pa.string()),
    ]
    return pa.record_batch(columns, schema=frames.SCHEMA)


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
