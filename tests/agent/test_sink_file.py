"""Formats, partitions and rolling of the file sink, locally and through Hadoop's file systems."""

from __future__ import annotations

import csv
import gzip
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

from tests.agent.sinks import Given, numbered, planned, sink
from workers.agent.base.findings import Refused


def visible(directory: Path) -> list[Path]:
    """Files that a reader sees."""
    found = (Path(top, name) for top, _, names in os.walk(directory) for name in names)
    return sorted(path for path in found if ".headgate" not in path.parts)


def lines(directory: Path) -> list[str]:
    return [line for path in visible(directory) for line in path.read_text().splitlines()]


def test_each_format_holds_every_event_once(session: SparkSession, tmp_path: Path) -> None:
    events = [*numbered(20), Given(b'{"n": 20, "name": "a \\"b\\",\\nc"}', {"country": "CZ"}, b"k")]
    columns = {"n": "body.n", "name": "body.name", "country": "header.country", "at": "origin.offset"}

    sink(session, "file", path=str(tmp_path / "json")).write(events)
    found = [json.loads(line) for line in lines(tmp_path / "json")]
    assert Counter(json.loads(each["body"])["n"] for each in found) == Counter(range(21))
    last = next(each for each in found if each["origin"]["offset"] == 20)
    assert (last["headers"], last["key"]) == ({"country": "CZ"}, "k")

    sink(session, "file", path=str(tmp_path / "text"), format="text", compression="gzip").write(events)
    packed = visible(tmp_path / "text")
    assert all(path.name.endswith(".txt.gz") for path in packed)
    bodies = [line for path in packed for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
    assert sorted(bodies) == sorted(event.body.decode() for event in events if event.body)

    sink(session, "file", path=str(tmp_path / "csv"), format="csv", columns=columns, header_line=True).write(events)
    rows = [row for path in visible(tmp_path / "csv") for row in csv.DictReader(path.open(newline=""))]
    assert Counter(int(row["n"]) for row in rows) == Counter(range(21))
    assert next(row for row in rows if row["n"] == "20") == {
        "n": "20",
        "name": 'a "b",\nc',
        "country": "CZ",
        "at": "20",
    }

    sink(session, "file", path=str(tmp_path / "parquet"), format="parquet").write(events)
    tables = [pyarrow.parquet.read_table(path) for path in visible(tmp_path / "parquet")]
    assert sorted(at for table in tables for at in table["offset"].to_pylist()) == list(range(21))


def test_directories_by_time_and_header_take_missing_and_dangerous_values(
    session: SparkSession, tmp_path: Path
) -> None:
    made = sink(
        session,
        "file",
        path=str(tmp_path),
        format="text",
        partition_by=[{"time": "day", "zone": "Europe/Prague"}, {"header": "country", "missing": "none"}],
    )
    at = {"timestamp": "1769900400000"}  # 2026-01-31T23:00:00Z
    counts = made.write(
        [
            Given(b"0", {**at, "country": "CZ"}),
            Given(b"1", {"timestamp": "x"}),
            Given(b"2", {"country": "../../up"}),
            Given(b"3", {"timestamp": "9223372036854775807", "country": ""}),
            Given(b"4", {"country": "x" * 81}),
        ]
    )
    assert (counts.delivered, counts.dead_lettered) == (4, 1)
    assert list(made.refused()) == [4]
    found = {path.read_text().strip(): str(path.parent.relative_to(tmp_path)) for path in visible(tmp_path)}
    assert found["0"] == "day=2026-02-01/country=CZ"
    assert "day=unknown/country=none" in found.values()
    assert found["2"] == "day=unknown/country=..%2F..%2Fup"


def test_rolled_files_appear_when_they_are_large_and_a_torn_batch_is_cut_off(
    session: SparkSession, tmp_path: Path
) -> None:
    keys: dict[str, Any] = {"path": str(tmp_path), "format": "text", "roll": {"size": 60}}
    made = sink(session, "file", **keys)
    made.write([Given(b"a%03d" % n) for n in range(5)])
    assert visible(tmp_path) == []
    (opened,) = (tmp_path / ".headgate/orders").glob("*.open")
    with opened.open("ab") as file:
        file.write(b"torn, never committed\n")
    again = sink(session, "file", **keys)
    again.write([Given(b"b%03d" % n) for n in range(9)], batch=1)
    assert sorted(lines(tmp_path)) == [f"a{n:03d}" for n in range(5)] + [f"b{n:03d}" for n in range(9)]
    assert len(visible(tmp_path)) == 1

    again.write([Given(b"c")], batch=2)
    assert again.builder.resolve(planned(2, 1)).committed
    later = sink(session, "file", lineage=2, **keys)
    later.write([Given(b"d")])
    assert "c" in lines(tmp_path)
    assert "d" not in lines(tmp_path)


def test_a_file_system_of_hadoop_is_written_exactly_once_too(session: SparkSession, tmp_path: Path) -> None:
    made = sink(session, "file", path=f"file://{tmp_path}/out", partition_by=[{"header": "country"}])
    counts = made.write(numbered(50))
    assert made.write(numbered(50)) == counts
    bodies = [json.loads(json.loads(line)["body"])["n"] for line in lines(tmp_path / "out")]
    assert Counter(bodies) == Counter(range(50))
    assert made.builder.resolve(planned(0, 50)).committed
    assert not made.builder.resolve(planned(1, 50)).committed


def test_a_directory_that_cannot_be_made_is_a_finding(session: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused) as refused:
        sink(session, "file", path=f"file://{tmp_path}/file/out")
    assert refused.value.findings[0].code == "DIRECTORY_UNWRITABLE"
