"""Values that Flume cannot read, defaults that nobody writes, and the order in which findings are told."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.domain.flume.importing.importer import Imported
from pipelines.domain.flume.importing.numbers import suggested
from pipelines.domain.imports.report import ImportFinding
from tests.unit.flume.agents import below, intercepted, kafka_source
from tests.unit.flume.agents import imported as import_agent


def found(imported: Imported, code: str) -> list[ImportFinding]:
    return [finding for finding in imported.findings if finding.code == code]


@pytest.mark.parametrize(
    "properties",
    [
        {"a.sources.s.batchSize": "10k"},
        {"a.channels.c.capacity": "abc"},
        {"a.channels.c.transactionCapacity": "1,000"},
        {"a.sinks.k.batchSize": "1e3"},
        {"a.channels.c.type": "file", "a.channels.c.keep-alive": "3s"},
        {"a.sources.s.type": "http", "a.sources.s.port": "5140", "a.sources.s.batchSize": "ten"},
        {"a.sinks.k.type": "hdfs", "a.sinks.k.hdfs.path": "/l", "a.sinks.k.hdfs.rollSize": "128MB"},
        {"a.sinks.k.type": "hdfs", "a.sinks.k.hdfs.path": "/l", "a.sinks.k.hdfs.idleTimeout": "0.5"},
        {"a.sinks.k.type": "file_roll", "a.sinks.k.sink.directory": "/l", "a.sinks.k.sink.rollInterval": "5m"},
        {"a.sources.s.totalEvents": "1_000"},
        {"a.sinks.k.type": "hdfs", "a.sinks.k.hdfs.path": "/l", "a.sinks.k.hdfs.rollSize": "${env:SIZE}"},
    ],
)
def test_a_number_that_flume_cannot_read_is_an_error_with_its_line(properties: dict[str, Any]) -> None:
    made = import_agent(properties)
    (finding,) = found(made, "bad_number")
    *_, (key, value) = properties.items()
    assert (finding.key, finding.severity) == (key, "error")
    assert finding.line
    assert finding.suggestion
    assert value in finding.message
    assert not made.valid
    assert made.findings[0].is_error


@pytest.mark.parametrize(
    ("name", "value", "suggestion"),
    [
        ("batchSize", "10k", "Write 10000."),
        ("batchSize", "1,000", "Write 1000."),
        ("batchSize", "2M", "Write 2000000."),
        ("hdfs.rollSize", "128MB", "Write 134217728."),
        ("hdfs.rollSize", "128 m", "Write 134217728."),
        ("capacity", "abc", "Write a whole number without a unit."),
        ("keep-alive", "3s", "Write a whole number without a unit."),
        ("capacity", "", "Write a whole number without a unit."),
    ],
)
def test_what_was_probably_meant_is_suggested(name: str, value: str, suggestion: str) -> None:
    assert suggested(name, value) == suggestion


def test_a_setting_of_the_kafka_client_that_is_no_number_is_told() -> None:
    made = kafka_source({"kafka.topics": "t", "kafka.consumer.max.poll.records": "1k"})
    assert [finding.key for finding in found(made, "bad_number")] == ["a.sources.s.kafka.consumer.max.poll.records"]
    assert "options" not in made.definition["sources"]["s"]


@pytest.mark.parametrize("written", ["+5", "-1", "0", "007"])
def test_whole_numbers_are_numbers(written: str) -> None:
    assert not found(import_agent({"a.sources.s.batchSize": written}), "bad_number")


def test_what_is_not_true_is_false_as_in_flume_and_told() -> None:
    static = {"key": "k", "value": "v", "preserveExisting": "yes"}
    made = intercepted("static", static)
    assert made.valid
    assert made.definition["sources"]["s"]["interceptors"][0]["preserve_existing"] is False
    assert [finding.severity for finding in found(made, "bad_value")] == ["warning"]


TAILDIR = {"type": "taildir", "filegroups": "f", "filegroups.f": "/var/log/app.log"}


@pytest.mark.parametrize(("written", "expected"), [(None, "120000ms"), (5000, "5000ms"), (0, "0ms")])
def test_the_idle_timeout_of_taildir_is_flumes(written: int | None, expected: str) -> None:
    made = import_agent(below("a.sources.s", TAILDIR | {"idleTimeout": written}))
    assert made.valid, made.findings
    assert made.definition["sources"]["s"]["idle_timeout"] == expected
    assert bool(found(made, "default_written_out")) == (written is None)


@pytest.mark.parametrize(
    ("listing", "separator", "expected"),
    [
        ("a, b ,c", None, ["a", "b", "c"]),
        ("a;b;;c", ";", ["a", "b", "c"]),
        ("a|b", r"\|", ["a", "b"]),
        ("a:b-c", "[:-]", ["a", "b", "c"]),
        ("a b\tc", r"\s+", ["a", "b", "c"]),
        ("a,b", ";", ["a,b"]),
        ("ab", "|", ["a", "b"]),
        ("a; b", ";", ["a", "b"]),
    ],
)
def test_the_separator_of_a_list_is_a_regular_expression(
    listing: str, separator: str | None, expected: list[str]
) -> None:
    made = intercepted("remove_header", {"fromList": listing, "fromListSeparator": separator})
    assert made.definition["sources"]["s"]["interceptors"] == [{"type": "remove_header", "from_list": expected}]
    told = [finding.code for finding in made.findings if finding.key.endswith("fromListSeparator")]
    assert told == (["list_separator"] if (listing, separator) in (("ab", "|"), ("a; b", ";")) else [])


@pytest.mark.parametrize("separator", ["(", "(a+)+b", "["])
def test_a_separator_that_cannot_be_used_is_an_error(separator: str) -> None:
    made = intercepted("remove_header", {"fromList": "a,b", "fromListSeparator": separator})
    assert found(made, "bad_value")[0].is_error
    assert not made.valid


def test_a_separator_without_a_list_is_told() -> None:
    made = intercepted("remove_header", {"withName": "a", "fromListSeparator": ";"})
    assert made.valid
    assert [finding.key.rpartition(".")[2] for finding in found(made, "no_equivalent")] == ["fromListSeparator"]


def test_errors_come_first_and_what_has_no_equivalent_last_each_in_the_order_of_the_file() -> None:
    made = import_agent(
        {
            "a.sources.s.batchSize": "5",
            "a.sources.s.unknown": "x",
            "a.sinks.k.batchSize": "ten",
            "a.channels.c.capacity": "10k",
            "a.channels.c.other": "y",
            "a.sinks.k.last": "z",
        }
    )
    kinds = [0 if one.is_error else 2 if one.code == "no_equivalent" else 1 for one in made.findings]
    assert kinds == sorted(kinds)
    assert {0, 1, 2} == set(kinds)
    for kind in (0, 2):
        lines = [one.line or 0 for one, own in zip(made.findings, kinds, strict=True) if own == kind]
        assert lines == sorted(lines)
