"""When Flume closes a file is when the file sink ends one, or a finding says what differs."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.domain.flume.importing.importer import Imported
from pipelines.domain.imports.report import ImportFinding
from tests.unit.flume.agents import below
from tests.unit.flume.agents import imported as import_agent


def hdfs(properties: dict[str, Any], others: dict[str, Any] | None = None) -> Imported:
    """An agent with an HDFS sink."""
    own = {"type": "hdfs", "hdfs.path": "/lake", "hdfs.fileType": "DataStream"}
    return import_agent(below("a.sinks.k", own | properties) | (others or {}))


def found(imported: Imported, code: str) -> list[ImportFinding]:
    return [finding for finding in imported.findings if finding.code == code]


@pytest.mark.parametrize(
    ("properties", "roll", "codes"),
    [
        (
            {"hdfs.rollInterval": 600, "hdfs.rollSize": 134217728, "hdfs.rollCount": 0},
            {"interval": 600, "size": 134217728},
            set(),
        ),
        ({}, None, {"roll_default"}),
        ({"hdfs.rollInterval": 60}, {"interval": 60}, {"roll_default"}),
        ({"hdfs.rollInterval": 0, "hdfs.rollSize": 1024}, {"interval": 3600, "size": 1024}, {"roll_never"}),
        (
            {"hdfs.rollInterval": 0, "hdfs.rollSize": 0, "hdfs.idleTimeout": 90},
            {"interval": 90},
            {"roll_never"},
        ),
        ({"hdfs.rollInterval": 60, "hdfs.idleTimeout": 90}, {"interval": 60}, {"no_equivalent"}),
        ({"hdfs.rollInterval": 100_000}, {"interval": 86_400}, {"roll_limited"}),
        ({"hdfs.rollInterval": -1, "hdfs.rollCount": 500}, {"interval": 3600}, {"roll_never", "roll_count"}),
    ],
)
def test_the_criteria_of_an_hdfs_file(properties: dict[str, Any], roll: dict[str, Any] | None, codes: set[str]) -> None:
    made = hdfs(properties)
    assert made.valid, made.findings
    assert made.definition["sinks"]["k"].get("roll") == roll
    assert codes <= {finding.code for finding in made.findings}


@pytest.mark.parametrize(("seconds", "roll"), [(None, None), (10, {"interval": 10}), (0, {"interval": 3600})])
def test_the_interval_of_a_local_file(seconds: int | None, roll: dict[str, Any] | None) -> None:
    sink = {"type": "file_roll", "sink.directory": "/data", "sink.rollInterval": seconds}
    made = import_agent(below("a.sinks.k", sink))
    assert made.valid, made.findings
    assert made.definition["sinks"]["k"].get("roll") == roll
    assert bool(found(made, "roll_never")) == (seconds == 0)


def test_small_transactions_of_a_channel_do_not_make_small_files() -> None:
    small = {"a.channels.c.capacity": 1000, "a.channels.c.transactionCapacity": 100}
    made = hdfs({}, small)
    assert made.definition["channels"]["c"] == {"type": "memory"}
    (finding,) = found(made, "batch_widened")
    assert "100 events" in finding.message
    other = import_agent(small)
    assert other.definition["channels"]["c"]["transaction_capacity"] == 100


def test_a_file_channel_keeps_its_capacity() -> None:
    small = {"type": "file", "capacity": 2000, "transactionCapacity": 100}
    made = hdfs({}, below("a.channels.c", small))
    assert made.valid, made.findings
    assert made.definition["channels"]["c"] == {"type": "file", "capacity": 2000, "transaction_capacity": 2000}
