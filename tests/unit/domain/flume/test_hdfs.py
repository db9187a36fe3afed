"""Where, when and under which names Flume's HDFS sink writes is what the file sink does, or an error says so."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.domain.definitions.checks.validate import validate_data
from pipelines.domain.flume.importing.importer import Imported
from pipelines.domain.flume.reading.layouts import Rounding, read_layout
from pipelines.domain.imports.report import ImportFinding
from tests.unit.flume.agents import below
from tests.unit.flume.agents import imported as import_agent

SINK = {"type": "hdfs", "hdfs.fileType": "DataStream", "hdfs.timeZone": "UTC"}


def hdfs(path: str, more: dict[str, Any] | None = None, others: dict[str, Any] | None = None) -> Imported:
    """An agent with an HDFS sink."""
    return import_agent(below("a.sinks.k", {**SINK, "hdfs.path": path, **(more or {})}) | (others or {}))


def sink_of(imported: Imported) -> dict[str, Any]:
    sink: dict[str, Any] = imported.definition["sinks"]["k"]
    return sink


def found(imported: Imported, code: str) -> list[ImportFinding]:
    return [finding for finding in imported.findings if finding.code == code]


@pytest.mark.parametrize(
    ("path", "fixed", "partitions"),
    [
        ("hdfs://nn:8020/lake", "hdfs://nn:8020/lake", None),
        (
            "hdfs://nn/lake/topic=%{topic}/dt=%Y-%m-%d",
            "hdfs://nn/lake",
            [{"header": "topic", "name": "topic"}, {"time": "day", "name": "dt"}],
        ),
        (
            "/lake/%Y-%m-%d/%{country}/%H",
            "hdfs:///lake",
            [{"time": "day"}, {"header": "country"}, {"time": "hour"}],
        ),
        ("s3a://lake/x/%{a.b-c}/%y%m", "s3a://lake/x", [{"header": "a.b-c"}, {"time": "month"}]),
        ("/lake/%Y/%m/%d", "hdfs:///lake", [{"time": "year"}, {"time": "month"}, {"time": "day"}]),
        ("/lake/h=%Y-%m-%d-%H/", "hdfs:///lake", [{"time": "hour", "name": "h"}]),
    ],
)
def test_escapes_keep_their_names_and_their_order(
    path: str, fixed: str, partitions: list[dict[str, Any]] | None
) -> None:
    sink = sink_of(hdfs(path))
    assert sink["path"] == fixed
    without_zone = [{k: v for k, v in part.items() if k != "zone"} for part in sink.get("partition_by", [])]
    assert without_zone == (partitions or [])


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("/lake/%{topic}/raw/%Y", "raw"),
        ("/lake/logs-%Y", "logs-%Y"),
        ("/lake/%{a}-%{b}", "%{a}-%{b}"),
        ("/lake/dt=%Y%m%d", "dt=%Y%m%d"),
        ("/lake/year=%Y/month=%m", "month=%m"),
        ("/lake/%H", "%H"),
        ("/lake/%m-%d", "%m-%d"),
        ("/lake/%Y-%m-%d/%H%M%S", "%H%M%S"),
        ("/lake/%s", "%s"),
        ("/lake/%Y/%j", "%j"),
        ("/lake/%D", "%D"),
        ("/lake/%[FQDN]", "%[FQDN]"),
        ("/lake/%{a b}", "%{a b}"),
        ("/lake/100%%/%Y", "100%%"),
        ("/lake/my-name=%{h}", "my-name"),
    ],
)
def test_what_the_file_sink_cannot_write_is_an_error_that_names_it(path: str, named: str) -> None:
    made = hdfs(path)
    errors = found(made, "path_not_expressible")
    assert any(named in finding.message for finding in errors)
    assert all(finding.is_error and finding.suggestion and finding.line for finding in errors)
    assert not made.valid
    assert not validate_data(made.definition).valid


@pytest.mark.parametrize(
    ("path", "rounding", "partitions"),
    [
        ("/l/%Y-%m-%d", (10, "minute"), [{"time": "day"}]),
        ("/l/%Y-%m-%d-%H", (10, "minute"), [{"time": "hour"}]),
        ("/l/%Y-%m-%d-%H", (1, "hour"), [{"time": "hour"}]),
        ("/l/%Y-%m-%d-%H", (60, "minute"), [{"time": "hour"}]),
        ("/l/%Y-%m-%d/%H%M", (1, "hour"), [{"time": "day"}, {"time": "hour"}]),
        ("/l/%Y-%m-%d/%H", (24, "hour"), [{"time": "day"}]),
        ("/l/%Y%m%d%H%M/%S", (1, "minute"), [{"time": "minute"}]),
    ],
)
def test_rounding_that_a_partition_does_anyway_survives(
    path: str, rounding: tuple[int, str], partitions: list[dict[str, Any]]
) -> None:
    layout = read_layout(path, Rounding(*rounding))
    assert (layout.problems, layout.partitions) == ([], partitions)


@pytest.mark.parametrize(
    ("path", "rounding", "told"),
    [
        ("/l/%y-%m-%d/%H%M/%S", {"roundValue": 10, "roundUnit": "minute"}, "10 minutes long"),
        ("/l/%Y-%m-%d/%H", {"roundValue": 6, "roundUnit": "hour"}, "6 hours long"),
        ("/l/%Y-%m-%d-%H-%M-%S", {}, "a minute is the shortest"),
        ("/l/%Y-%m-%d-%H-%M-%S", {"roundValue": 30}, "30 seconds long"),
    ],
)
def test_rounding_that_no_partition_does_is_an_error(path: str, rounding: dict[str, Any], told: str) -> None:
    made = hdfs(path, {"hdfs.round": True} | {f"hdfs.{name}": value for name, value in rounding.items()})
    assert any(told in finding.message for finding in found(made, "path_not_expressible"))
    assert not made.valid


def test_rounding_that_is_switched_off_has_no_effect() -> None:
    made = hdfs("/l/%Y-%m-%d-%H-%M", {"hdfs.round": False, "hdfs.roundValue": 10, "hdfs.roundUnit": "minute"})
    assert sink_of(made)["partition_by"] == [{"time": "minute", "zone": "UTC"}]
    assert {finding.key for finding in found(made, "no_equivalent")} >= {
        "a.sinks.k.hdfs.roundValue",
        "a.sinks.k.hdfs.roundUnit",
    }


@pytest.mark.parametrize(
    ("properties", "code", "severity"),
    [
        ({"hdfs.roundUnit": "day"}, "bad_value", "warning"),
        ({"hdfs.roundValue": 0, "hdfs.roundUnit": "hour"}, "bad_value", "error"),
        ({"hdfs.roundValue": 25, "hdfs.roundUnit": "hour"}, "bad_value", "error"),
        ({"hdfs.roundValue": "ten"}, "bad_number", "error"),
    ],
)
def test_rounding_that_flume_does_not_do_is_told(properties: dict[str, Any], code: str, severity: str) -> None:
    made = hdfs("/l/%Y-%m-%d", {"hdfs.round": True, **properties})
    assert severity in [finding.severity for finding in found(made, code)]


@pytest.mark.parametrize(
    ("written", "zone"),
    [("Asia/Shanghai", "Asia/Shanghai"), ("UTC", "UTC"), ("GMT+8", "Etc/GMT-8"), ("GMT-03:00", "Etc/GMT+3")],
)
def test_the_time_zone_of_the_path_survives(written: str, zone: str) -> None:
    assert sink_of(hdfs("/l/%{h}/%Y/%m", {"hdfs.timeZone": written}))["partition_by"][1:] == [
        {"time": "year", "zone": zone},
        {"time": "month", "zone": zone},
    ]


def test_a_time_zone_that_is_not_written_is_told_once() -> None:
    assert len(found(hdfs("/l/%Y/%m", {"hdfs.timeZone": None}), "time_zone_chosen")) == 1
    assert not found(hdfs("/l/%{h}", {"hdfs.timeZone": None}), "time_zone_chosen")


def test_a_file_name_that_parts_events_is_an_error_and_another_is_noise() -> None:
    parted = hdfs("/l", {"hdfs.filePrefix": "%{host}-%Y"})
    assert [finding.is_error for finding in found(parted, "file_name_escapes")] == [True]
    assert "%{host}, %Y" in found(parted, "file_name_escapes")[0].message
    plain = hdfs("/l", {"hdfs.filePrefix": "events-", "hdfs.fileSuffix": ".log"})
    assert not found(plain, "file_name_escapes")
    assert {finding.key for finding in found(plain, "no_equivalent")} >= {
        "a.sinks.k.hdfs.filePrefix",
        "a.sinks.k.hdfs.fileSuffix",
    }


def test_a_sequence_file_that_is_not_named_is_told() -> None:
    made = hdfs("/l", {"hdfs.fileType": None})
    assert sink_of(made)["format"] == "json"
    assert "a.sinks.k.hdfs.fileType" in [finding.key for finding in found(made, "differs")]


LOCAL = {"hdfs.useLocalTimeStamp": True}


def interceptors(imported: Imported, source: str = "s") -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = imported.definition["sources"][source].get("interceptors", [])
    return made


def test_local_time_adds_the_interceptor_timestamp_and_says_which_time_it_is() -> None:
    made = hdfs("/l/%Y", LOCAL)
    assert interceptors(made) == [{"type": "timestamp"}]
    assert "header" not in sink_of(made)["partition_by"][0]
    (finding,) = found(made, "local_time")
    assert "time of processing" in finding.done
    assert finding.line


def test_local_time_comes_after_the_other_interceptors_of_every_source_of_the_channel() -> None:
    others = {
        "a.sources": "s t u",
        "a.sources.s.interceptors": "i",
        "a.sources.s.interceptors.i.type": "host",
        **below("a.sources.t", {"type": "seq", "channels": "c d"}),
        **below("a.sources.u", {"type": "seq", "channels": "d"}),
        "a.channels": "c d",
        "a.channels.d.type": "memory",
        "a.sinks": "k l",
        **below("a.sinks.l", {"type": "null", "channel": "d"}),
    }
    made = hdfs("/l/%Y", LOCAL, others)
    assert [one["type"] for one in interceptors(made)] == ["host", "timestamp"]
    assert [one["type"] for one in interceptors(made, "t")] == ["timestamp"]
    assert interceptors(made, "u") == []


def test_local_time_leaves_the_events_own_time_to_who_reads_it() -> None:
    others = {
        "a.sinks": "k l",
        "a.channels": "c d",
        "a.sources.s.channels": "c d",
        "a.channels.d.type": "memory",
        **below("a.sinks.l", {**SINK, "hdfs.path": "/own/%Y", "channel": "d"}),
    }
    made = hdfs("/l/%Y", LOCAL, others)
    assert interceptors(made) == [{"type": "timestamp", "header_name": "sink_time"}]
    assert sink_of(made)["partition_by"][0]["header"] == "sink_time"
    assert "header" not in made.definition["sinks"]["l"]["partition_by"][0]


@pytest.mark.parametrize(("preserve", "count"), [(None, 1), ("false", 1), ("true", 2)])
def test_local_time_uses_an_interceptor_that_is_there(preserve: str | None, count: int) -> None:
    own = {"type": "timestamp", "preserveExisting": preserve}
    made = hdfs("/l/%Y", LOCAL, {"a.sources.s.interceptors": "i"} | below("a.sources.s.interceptors.i", own))
    assert [one["type"] for one in interceptors(made)] == ["timestamp"] * count


def test_local_time_without_times_in_the_path_adds_nothing() -> None:
    made = hdfs("/l/%{host}", LOCAL)
    assert interceptors(made) == []
    assert not found(made, "local_time")


@pytest.mark.parametrize("stored", ["file", "memory"])
def test_local_time_tells_of_events_that_wait_in_a_channel(stored: str) -> None:
    made = hdfs("/l/%Y", LOCAL, {"a.channels.c.type": stored})
    assert ("waits in the channel" in found(made, "local_time")[0].done) == (stored == "file")
