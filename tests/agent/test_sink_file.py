"""Formats, partitions and sizes of the file sink, locally and through Hadoop's file systems."""

from __future__ import annotations

import csv
import gzip
import json
import math
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

from tests.agent.sinks import Given, numbered, planned, sink
from workers.agent.base.event import HEADERS_TYPE
from workers.agent.base.findings import Refused
from workers.agent.graph.batch import Batch, Classifier
from workers.agent.graph.kept import Events


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


def test_a_batch_becomes_one_file_for_each_directory_and_each_time_that_it_is_full(
    session: SparkSession, tmp_path: Path
) -> None:
    keys: dict[str, Any] = {"path": str(tmp_path / "few"), "format": "text"}
    made = sink(session, "file", partition_by=[{"header": "country"}], **keys)
    made.write([Given(b"%04d" % n, {"country": ("CZ", "US")[n % 2]}) for n in range(400)])
    few = visible(tmp_path / "few")
    assert sorted(path.parent.name for path in few) == ["country=CZ", "country=US"]
    assert few[0].read_text().split() == [f"{n:04d}" for n in range(0, 400, 2)], "in the order of the source"

    made = sink(session, "file", roll={"size": 500}, **{**keys, "path": str(tmp_path / "many")})
    for batch in range(2):  # the first is sampled, the second measured by the first
        made.write([Given(b"%09d" % (1000 * batch + n)) for n in range(200)], batch=batch)
        own = [path for path in visible(tmp_path / "many") if f"-{batch:09d}-" in path.name]
        assert [path.stat().st_size for path in own] == [500] * 4
    assert len(lines(tmp_path / "many")) == len(set(lines(tmp_path / "many"))) == 400
    assert made.builder.resolve(planned(1, 200)).committed


def test_events_of_very_different_sizes_make_files_of_about_the_size(session: SparkSession, tmp_path: Path) -> None:
    made = sink(session, "file", path=str(tmp_path), roll={"size": 100_000})
    made.write([Given(b"x" * (10 if n % 3 else 2000)) for n in range(1000)])
    sizes = [path.stat().st_size for path in visible(tmp_path)]
    assert len(sizes) <= math.ceil(sum(sizes) / 100_000) + 2
    assert max(sizes) < 130_000


def test_row_groups_of_parquet_are_read_back_and_large_enough_to_skip_by(session: SparkSession, tmp_path: Path) -> None:
    made = sink(session, "file", path=str(tmp_path), format="parquet")
    pieces = ", ".join(f"sha2(concat(id, '-{number}'), 512)" for number in range(16))
    columns = "null key", f"cast(concat({pieces}) as binary) body", "array() headers", "'in' topic", "0 partition"
    rows = session.range(0, 50_000, 1, 2).selectExpr(*columns, "id offset")
    rows = rows.withColumn("key", rows["key"].cast("binary")).withColumn("headers", rows["headers"].cast(HEADERS_TYPE))
    batch = Batch(Events(rows), planned(0, 50_000), Classifier("lake", "sources.shop.selector", keeps_bad=True))
    assert made.builder.write(batch.attempt()).delivered == 50_000
    (path,) = visible(tmp_path)
    with pyarrow.parquet.ParquetFile(path) as file:
        groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
        assert sum(group.num_rows for group in groups) == 50_000
        assert 2 <= len(groups) <= 5
        assert all(16 << 20 < group.total_byte_size < 48 << 20 for group in groups[:-1])
    assert sorted(pyarrow.parquet.read_table(path)["offset"].to_pylist()) == list(range(50_000))


def test_a_file_system_of_hadoop_is_written_exactly_once_too(session: SparkSession, tmp_path: Path) -> None:
    made = sink(session, "file", path=str(tmp_path), uri=f"file://{tmp_path}/out", partition_by=[{"header": "country"}])
    counts = made.write(numbered(50))
    assert made.write(numbered(50)) == counts
    bodies = [json.loads(json.loads(line)["body"])["n"] for line in lines(tmp_path / "out")]
    assert Counter(bodies) == Counter(range(50))
    assert made.builder.resolve(planned(0, 50)).committed
    assert not made.builder.resolve(planned(1, 50)).committed


def test_a_directory_that_cannot_be_made_is_a_finding(session: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused) as refused:
        sink(session, "file", path=str(tmp_path), uri=f"file://{tmp_path}/file/out")
    assert refused.value.findings[0].code == "DIRECTORY_UNWRITABLE"
