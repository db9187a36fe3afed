"""Sends single events through interceptors and selectors in a local session, as a query of an agent does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession, functions
from pyspark.sql import types as t

from pipelines.domain.definitions.parts import registry
from pipelines.domain.definitions.parts.component import Kind
from workers.agent.base.event import Event
from workers.agent.graph.batch import IS_DELIVERED
from workers.agent.graph.compile import intercept
from workers.agent.graph.component import Place, builder

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


def whole_plan(frame: DataFrame) -> str:
    """The physical plan as text, which an agent's session would cut after 200 characters."""
    conf, limit = frame.sparkSession.conf, "spark.sql.maxPlanStringLength"
    before = conf.get(limit)
    conf.set(limit, "200000")
    try:
        return str(frame._jdf.queryExecution().executedPlan().treeString())
    finally:
        conf.set(limit, str(before))


def delivered(frame: DataFrame) -> list[Row]:
    """The rows of an attempt's columns that its sink takes."""
    return [row for row in frame.collect() if "verdict" not in row or row["verdict"] == IS_DELIVERED]


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

    key: bytes | None
    body: bytes | None
    headers: dict[str, str]
    filtered_by: int | None
    problem: tuple[str, str] | None
    targets: list[str] | None
    required: list[str] | None
    offset: int
    copy: int
    added_by: int | None

    @property
    def kept(self) -> bool:
        """Whether no interceptor has filtered it."""
        return self.filtered_by is None


def made(kind: Kind = "interceptor", place: Place | None = None, number: int = 0, **spec: Any) -> Any:
    """The builder of a specification; `number`: its place among the interceptors."""
    model = registry.get(kind, spec["type"]).model_validate(spec)
    path = PATH.replace("0", str(number))
    return builder(model, place or Place("p", 1, path, channels=("ch1", "ch2", "ch3", "ch4")))


def sent(
    session: SparkSession, events: Sequence[In], *specs: dict[str, Any], selector: dict[str, Any] | None = None
) -> list[Out]:
    """What interceptors and a selector make of events."""
    builders = [made(number=number, **spec) for number, spec in enumerate(specs)]
    return sent_to(session, events, builders, made("selector", **selector) if selector else None)


def sent_to(session: SparkSession, events: Sequence[In], builders: Sequence[Any], selector: Any = None) -> list[Out]:
    """What builders make of events."""
    return [_out(row.asDict()) for row in _rows(session, events, builders, selector).collect()]


def _rows(session: SparkSession, events: Sequence[In], builders: Sequence[Any], selector: Any) -> DataFrame:
    for part in builders:
        part.initialise(session)
    frame = session.createDataFrame([event.row() for event in events], SCHEMA).coalesce(1)
    event = Event(key=frame["key"], body=frame["body"], carried=frame["headers"])
    return intercept(frame, event, list(builders), selector)


class Together:
    """Cases that are sent in one query, since a query costs more than its events."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._frames: list[DataFrame] = []

    def add(
        self, case: str, events: Sequence[In], specs: Sequence[dict[str, Any]], selector: dict[str, Any] | None = None
    ) -> None:
        """Events for interceptors and a selector; these are initialised now."""
        builders = [made(number=number, **spec) for number, spec in enumerate(specs)]
        rows = _rows(self._session, events, builders, made("selector", **selector) if selector else None)
        self._frames.append(rows.withColumn("case", functions.lit(case)))

    def sent(self) -> dict[str, list[Out]]:
        """What came out, by case."""
        outs: defaultdict[str, list[Out]] = defaultdict(list)
        whole = reduce(partial(DataFrame.unionByName, allowMissingColumns=True), self._frames)
        for row in whole.collect():
            outs[row["case"]].append(_out(row.asDict()))
        return outs


def _out(row: dict[str, Any]) -> Out:
    problem = row.get("problem")
    return Out(
        key=None if row["key"] is None else bytes(row["key"]),
        body=None if row["body"] is None else bytes(row["body"]),
        headers={pair["key"]: bytes(pair["value"]).decode("utf-8", "surrogateescape") for pair in row["headers"]},
        filtered_by=row.get("filtered_by"),
        problem=(problem["component"], problem["cause"]) if problem else None,
        targets=row.get("targets"),
        required=row.get("required"),
        offset=row["offset"],
        copy=row.get("copy") or 0,
        added_by=row.get("added_by"),
    )
