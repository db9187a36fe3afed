"""Interceptors as column expressions, with the semantics of Flume 1.11."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as f

from pipelines.domain.definitions.parts import registry
from workers.agent.base.event import HEADERS_TYPE, Event
from workers.agent.base.findings import Refused
from workers.agent.graph.compile import intercept
from workers.agent.graph.component import Place, builder

Through = Callable[..., tuple[dict[str, str], bool]]


def made(**spec: Any) -> Any:
    kind = registry.get("interceptor", spec["type"])
    return builder(kind.model_validate(spec), Place("p", 1, "sources.s.interceptors[0]"))


def _pair(name: str, value: str) -> Column:
    return f.struct(f.lit(name).alias("key"), f.lit(value.encode()).alias("value"))


@pytest.fixture
def through(session: SparkSession) -> Through:
    """Send one event through interceptors; returns its headers and whether it was kept."""

    def send(
        *specs: dict[str, Any], body: bytes | None = b"", headers: dict[str, str] | None = None
    ) -> tuple[dict[str, str], bool]:
        read = f.lit(None) if headers is None else f.array(*(_pair(name, value) for name, value in headers.items()))
        frame = session.range(1).select(
            f.lit(None).cast("binary").alias("key"),
            f.lit(body).cast("binary").alias("body"),
            read.cast(HEADERS_TYPE).alias("headers"),
            f.lit("t").alias("topic"),
            f.lit(0).alias("partition"),
            f.lit(0).alias("offset"),
        )
        event = Event(key=f.col("key"), body=f.col("body"), carried=f.col("headers"))
        (row,) = intercept(frame, event, [made(**s) for s in specs], None).collect()
        assert row["body"] == body
        return {pair["key"]: bytes(pair["value"]).decode() for pair in row["headers"]}, row.asDict().get(
            "filtered_by"
        ) is None

    return send


STATIC = {"type": "static", "key": "myKey", "value": "myVal"}
INFO = {"type": "regex_filter", "regex": "(INFO.*)|(WARNING.*)"}


def test_an_event_without_interceptors_keeps_its_headers_and_loses_only_an_earlier_origin(through: Through) -> None:
    assert through(headers={"a": "1", "headgate.origin": "old"}) == ({"a": "1"}, True)
    assert through(headers=None) == ({}, True)


def test_timestamp_replaces_the_header_unless_told_to_keep_it(through: Through) -> None:
    before = int(time.time() * 1000)
    headers, _ = through({"type": "timestamp"}, headers={"timestamp": "1"})
    assert before <= int(headers["timestamp"]) <= int(time.time() * 1000)
    kept, _ = through({"type": "timestamp", "preserve_existing": True}, headers={"timestamp": "1"})
    assert kept == {"timestamp": "1"}
    other, _ = through({"type": "timestamp", "header_name": "timestampHeader"}, headers={"timestamp": "1"})
    assert other["timestamp"] == "1"
    assert int(other["timestampHeader"]) >= before


def test_static_keeps_an_existing_header_unless_told_to_replace_it(through: Through) -> None:
    assert through(STATIC)[0] == {"myKey": "myVal"}
    assert through(STATIC, headers={"myKey": "old", "b": "2"})[0] == {"myKey": "old", "b": "2"}
    assert through({**STATIC, "preserve_existing": False}, headers={"myKey": "old"})[0] == {"myKey": "myVal"}


def test_interceptors_see_what_earlier_ones_set(through: Through) -> None:
    second = {**STATIC, "value": "second"}
    assert through(STATIC, second)[0] == {"myKey": "myVal"}
    assert through(STATIC, {**second, "preserve_existing": False})[0] == {"myKey": "second"}
    assert through({**STATIC, "preserve_existing": False}, second, headers={"myKey": "old"})[0] == {"myKey": "myVal"}
    assert through(STATIC, second, headers={"myKey": "old"})[0] == {"myKey": "old"}


@pytest.mark.parametrize(
    ("spec", "body", "kept"),
    [
        (INFO, b"WARNING: some message", True),
        (INFO, b"DEBUG: some message", False),
        ({"type": "regex_filter", "regex": ".*DEBUG.*", "exclude_events": True}, b"WARNING: some message", True),
        ({"type": "regex_filter", "regex": ".*DEBUG.*", "exclude_events": True}, b"DEBUG: some message", False),
        ({"type": "regex_filter", "regex": "WARN"}, b"xx WARN yy", True),
        ({"type": "regex_filter", "regex": "^\\{"}, b"\n{", False),
        ({"type": "regex_filter", "regex": "(?m)^\\{"}, b"\n{", True),
        ({"type": "regex_filter", "regex": "é"}, "café".encode(), True),
        ({"type": "regex_filter", "regex": "ok"}, b"\xff\xfe ok", True),
        ({"type": "regex_filter", "regex": "\ufffd"}, b"\xff", True),
        ({"type": "regex_filter", "regex": "a"}, None, False),
        ({"type": "regex_filter", "regex": "a", "exclude_events": True}, None, True),
        ({"type": "regex_filter", "regex": "^$"}, b"", True),
    ],
)
def test_regex_filter_searches_the_body_as_java_does(
    through: Through, spec: dict[str, Any], body: bytes | None, kept: bool
) -> None:
    assert through(spec, body=body)[1] is kept


def test_an_event_that_one_filter_drops_stays_dropped(through: Through) -> None:
    assert (
        through({"type": "regex_filter", "regex": "a"}, {"type": "regex_filter", "regex": "b"}, body=b"b")[1] is False
    )


def test_java_is_asked_before_the_first_record_whether_it_takes_a_pattern(session: SparkSession) -> None:
    made(type="regex_filter", regex="a+").initialise(session)
    refused = made(type="regex_filter", regex="a")
    refused.spec = refused.spec.model_copy(update={"regex": "("})
    with pytest.raises(Refused, match="Java rejects"):
        refused.initialise(session)
