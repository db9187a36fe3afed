"""Sends single events through interceptors and selectors in a local session, as a query of an agent does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import types as t

from pipelines.domain import registry
from pipelines.domain.component import Kind
from workers.agent.compile import intercept
from workers.agent.component import Place, builder
from workers.agent.event import Event

PATH = "sources.s.interceptors[0]"
SCHEMA = t.StructType(
    [
        t.StructField("key", t.BinaryType()),
        t.StructField("body", t.BinaryType()),
        t.StructField(
            "headers",
            t.ArrayType(t.StructType([t.StructField("key", t.StringType()), t.StructField("value", t.BinaryType())])),
        ),
        t.StructField("topic", t.StringType()),
        t.StructField("partition", t.IntegerType()),
        t.StructField("offset", t.LongType()),
    ]
)


@dataclass(frozen=True)
class In:
    """An event to send."""

    body: bytes | None = b""
    headers: Sequence[tuple[str, bytes]] | None = ()
    offset: int = 0
    partition: int = 0
    topic: str = "t"
    key: bytes | None = None

    def row(self) -> tuple[Any, ...]:
        return (self.key, self.body, self.headers, self.topic, self.partition, self.offset)


@dataclass(frozen=True)
class Out:
    """What came out."""

    body: bytes | None
    headers: dict[str, str]
    kept: bool
    problem: tuple[str, str] | None
    targets: list[str] | None
    offset: int
    copy: int


def made(kind: Kind = "interceptor", place: Place | None = None, **spec: Any) -> Any:
    """The builder of a specification."""
    model = registry.get(kind, spec["type"]).model_validate(spec)
    return builder(model, place or Place("p", 1, PATH, channels=("ch1", "ch2", "ch3", "ch4")))


def sent(
    session: SparkSession, events: Sequence[In], *specs: dict[str, Any], selector: dict[str, Any] | None = None
) -> list[Out]:
    """What interceptors and a selector make of events."""
    builders = [made(**spec) for spec in specs]
    return sent_to(session, events, builders, made("selector", **selector) if selector else None)


def sent_to(session: SparkSession, events: Sequence[In], builders: Sequence[Any], selector: Any = None) -> list[Out]:
    """What builders make of events."""
    for part in builders:
        part.initialise(session)
    frame = session.createDataFrame([event.row() for event in events], SCHEMA).coalesce(1)
    event = Event(key=frame["key"], body=frame["body"], carried=frame["headers"])
    rows = intercept(frame, event, list(builders), selector).collect()
    return [_out(row.asDict()) for row in rows]


def _out(row: dict[str, Any]) -> Out:
    problem = row.get("problem")
    return Out(
        body=None if row["body"] is None else bytes(row["body"]),
        headers={pair["key"]: bytes(pair["value"]).decode("utf-8", "surrogateescape") for pair in row["headers"]},
        kept=row.get("kept", True),
        problem=(problem["component"], problem["cause"]) if problem else None,
        targets=row.get("targets"),
        offset=row["offset"],
        copy=row.get("copy") or 0,
    )
