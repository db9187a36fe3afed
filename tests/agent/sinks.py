"""One batch of numbered events, given to the builder of a sink as an agent gives it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from pipelines.domain.base.positions import PartitionRange
from pipelines.domain.definitions.parts import registry
from pipelines.domain.ledger.journal import Planned
from pipelines.domain.ledger.ledger import Counts
from workers.agent.graph.batch import Attempt, Batch, Classifier
from workers.agent.graph.component import Place, SinkBuilder, builder
from workers.agent.graph.kept import Events

SCHEMA = (
    "key binary, body binary, headers array<struct<key:string,value:binary>>, topic string, partition int, "
    "offset bigint, copy int"
)


@dataclass(frozen=True)
class Given:
    """An event; its offset is its place in the list. `copy`: made of the record before it, as one of its many."""

    body: bytes | None
    headers: Mapping[str, str] | None = None
    key: bytes | None = None
    copy: int = 0


def numbered(count: int, **more: Any) -> list[Given]:
    """Events whose JSON bodies have `n` from 0 on."""
    return [Given(json.dumps({"n": number, **more}).encode()) for number in range(count)]


def frame(session: SparkSession, events: list[Given]) -> DataFrame:
    """As the interceptors leave them, in two tasks."""
    rows = [
        (
            event.key,
            event.body,
            [(name, value.encode()) for name, value in (event.headers or {}).items()],
            "in",
            (offset - event.copy) % 2,
            offset - event.copy,
            event.copy,
        )
        for offset, event in enumerate(events)
    ]
    made = session.createDataFrame(rows, SCHEMA)
    made = made if any(event.copy for event in events) else made.drop("copy")
    return made.repartitionByRange(2, "partition").sortWithinPartitions("offset")


def planned(batch: int, count: int) -> Planned:
    """A batch's journal entry."""
    ranges = [PartitionRange(topic="in", partition=0, start=batch * count, end=(batch + 1) * count)]
    return Planned(source="shop", channel="lake", batch=batch, ranges=ranges)


@dataclass
class Sink:
    """A sink under test; `last` is the attempt that was made last."""

    session: SparkSession
    builder: SinkBuilder
    last: Attempt | None = None

    def write(self, events: list[Given], batch: int = 0) -> Counts:
        """Deliver one batch."""
        classifier = Classifier("lake", "sources.shop.selector", keeps_bad=True)
        whole = Batch(Events(frame(self.session, events)), planned(batch, len(events)), classifier)
        self.last = whole.attempt(self.builder.place.path, self.builder.refuses())
        return self.builder.write(self.last)

    def refused(self) -> dict[int, str]:
        """Causes by offset of what the last attempt did not deliver: found before the write, or by the sink."""
        assert self.last is not None
        before = self.last.dead()
        found = {row["offset"]: row["cause"] for row in before.collect()} if before is not None else {}
        return found | {refusal.offset: refusal.cause for refusal in self.last.refusals}


def sink_of(session: SparkSession, keys: Mapping[str, Any]) -> Sink:
    """A sink as a definition has it."""
    own = {name: value for name, value in keys.items() if name not in {"type", "channel"}}
    return sink(session, keys["type"], **own)


def sink(session: SparkSession, type_name: str, *, lineage: int = 1, uri: str = "", **keys: Any) -> Sink:
    """Build, probe and initialise a sink. `uri`: a path as Hadoop's local file system takes it, which no definition may
    name, in place of an address of a store."""
    spec = registry.get("sink", type_name).model_validate({"type": type_name, "channel": "lake", **keys})
    if uri:
        spec = spec.model_copy(update={"path": uri})
    made = builder(spec, Place("orders", lineage, "sinks.lake", Path()))
    made.probe()
    made.initialise(session)
    return Sink(session, made)
