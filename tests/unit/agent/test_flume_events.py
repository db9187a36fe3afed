"""Headers of Flume's Avro events, and of the Kafka records that carry them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from workers.agent.base import flume_avro

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def text(value: bytes) -> bytes:
    return bytes([2 * len(value)]) + value


def event(body: bytes, *headers: tuple[str, bytes]) -> bytes:
    """An AvroFlumeEvent with short texts."""
    entries = b"".join(text(name.encode()) + text(value) for name, value in headers)
    block = bytes([2 * len(headers)]) + entries if headers else b""
    return block + b"\0" + text(body)


def parsed(value: bytes, carried: list[tuple[str, bytes]] | None, set_by_source: frozenset[str]) -> dict[str, Any]:
    pairs = None if carried is None else [{"key": name, "value": header} for name, header in carried]
    columns: Mapping[str, pa.Array] = {
        "key": pa.array([b"k"]),
        "value": pa.array([value]),
        "headers": pa.array([pairs], HEADERS),
        "topic": pa.array(["t"]),
        "partition": pa.array([0], pa.int32()),
        "offset": pa.array([7]),
        "timestamp": pa.array([datetime(2026, 1, 1, tzinfo=UTC)]),
    }
    (found,) = flume_avro._parse(set_by_source, iter([pa.RecordBatch.from_pydict(columns)]))
    (row,) = found.to_pylist()
    return {**row, "headers": [(pair["key"], pair["value"]) for pair in row["headers"]]}


@pytest.mark.parametrize(
    ("own", "carried", "headers"),
    [
        ([("a", b"avro")], [("a", b"kafka")], [("a", b"avro")]),
        ([("a", b"avro")], [("a", b"1"), ("b", b"2"), ("a", b"3")], [("a", b"avro"), ("b", b"2")]),
        ([("a", b"avro")], [("A", b"kafka")], [("a", b"avro"), ("A", b"kafka")]),
        ([("a", b"")], [("a", b"kafka")], [("a", b"")]),
        ([("a", b"first"), ("a", b"last")], None, [("a", b"last")]),
        ([], [("b", b"2"), ("b", b"3")], [("b", b"2"), ("b", b"3")]),
        ([], None, []),
    ],
)
def test_headers_of_the_event_win_over_those_of_the_record(
    own: list[tuple[str, bytes]], carried: list[tuple[str, bytes]] | None, headers: list[tuple[str, bytes]]
) -> None:
    row = parsed(event(b"body", *own), carried, frozenset())
    assert (row["value"], row["headers"], row["undecodable"]) == (b"body", headers, None)


def test_what_the_source_sets_wins_over_the_record_and_not_over_the_event() -> None:
    row = parsed(
        event(b"", ("topic", b"avro")), [("topic", b"kafka"), ("offset", b"9")], frozenset({"topic", "offset"})
    )
    assert row["headers"] == [("topic", b"avro")]


def test_what_is_no_event_keeps_its_bytes_and_its_headers() -> None:
    row = parsed(b"\x03not avro", [("a", b"kafka")], frozenset())
    assert (row["value"], row["headers"]) == (b"\x03not avro", [("a", b"kafka")])
    assert "not a Flume event" in row["undecodable"]
