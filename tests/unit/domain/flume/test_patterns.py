"""Arrangements of Flume that people run, and variations of them: what is imported without an error is accepted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.domain.definitions.checks.validate import validate_data, validate_text
from pipelines.domain.flume.importing.importer import Imported, import_flume
from pipelines.domain.imports.properties import parse
from tests.unit.flume.agents import WHOLE, below, written

HERE = Path(__file__).parent / "patterns"
FILES = sorted(HERE.glob("*.properties"))
each_file = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)


def reported(imported: Imported) -> list[str]:
    """A line for each finding: severity, line of the file, code, and the property or the place in the definition."""
    return [f"{one.severity} {one.line or '-'} {one.code} {one.key or one.path}" for one in imported.findings]


def check(text: str, imported: Imported) -> None:
    """What holds of every import."""
    errors = [finding for finding in imported.findings if finding.is_error]
    assert imported.valid == (not errors)
    if not errors:
        assert validate_data(imported.definition).valid
        assert validate_text(yaml.safe_dump(imported.definition, sort_keys=False)).valid
    told = {finding.line for finding in imported.findings} | imported.mapped_lines
    assert [found.key for found in parse(text) if found.line not in told] == []
    ranks = [0 if one.is_error else 2 if one.code == "no_equivalent" else 1 for one in imported.findings]
    assert ranks == sorted(ranks)


def test_there_are_ten_arrangements() -> None:
    assert len(FILES) == 10


@each_file
def test_an_arrangement_gives_what_is_beside_it(file: Path) -> None:
    expected = yaml.safe_load(file.with_suffix(".expected.yaml").read_text())
    imported = import_flume(file.read_text())
    assert imported.definition == expected["definition"]
    assert reported(imported) == expected["findings"]
    assert imported.valid == expected["valid"]


@each_file
def test_an_arrangement_without_an_error_is_accepted_and_loses_nothing(file: Path) -> None:
    check(file.read_text(), import_flume(file.read_text()))


SEGMENTS = st.sampled_from(
    [
        "%Y",
        "%m",
        "%d",
        "%H",
        "%M",
        "%S",
        "%y%m%d",
        "%Y-%m-%d",
        "%H%M",
        "dt=%Y-%m-%d",
        "year=%Y",
        "month=%Y-%m",
        "hour=%H",
        "h=%Y-%m-%d-%H",
        "topic=%{topic}",
        "%{host}",
        "%{a b}",
        "raw",
        "x-%{host}",
        "%%",
        "%",
        "%{",
        "%j",
        "%[IP]",
        "",
    ]
)
PATHS = st.builds(
    lambda root, segments, end: "/".join([root, *segments]) + end,
    st.sampled_from(["/lake", "hdfs://nn:8020/lake", "s3a://bucket/l", "hdfs://nn", "relative", ""]),
    st.lists(SEGMENTS, max_size=5),
    st.sampled_from(["", "/"]),
)
NUMBERS = st.sampled_from(
    [None, "0", "1", "10", "60", "100", "3600", "86401", "134217728", "10k", "-1", "x", "${env:N}"]
)
SWITCHES = st.sampled_from([None, "true", "false", "yes"])
HDFS = st.fixed_dictionaries(
    {
        "type": st.just("hdfs"),
        "hdfs.path": PATHS,
        "hdfs.rollInterval": NUMBERS,
        "hdfs.rollSize": NUMBERS,
        "hdfs.rollCount": NUMBERS,
        "hdfs.idleTimeout": NUMBERS,
        "hdfs.useLocalTimeStamp": SWITCHES,
        "hdfs.round": SWITCHES,
        "hdfs.roundValue": NUMBERS,
        "hdfs.roundUnit": st.sampled_from([None, "second", "minute", "HOUR", "day"]),
        "hdfs.timeZone": st.sampled_from([None, "UTC", "Asia/Shanghai", "GMT+8", "GMT+5:30", "Nowhere/None"]),
        "hdfs.fileType": st.sampled_from([None, "DataStream", "CompressedStream", "SequenceFile"]),
        "hdfs.codeC": st.sampled_from([None, "gzip", "snappy", "lzop", "GzipCodec"]),
        "hdfs.filePrefix": st.sampled_from([None, "events", "%{host}", "%Y"]),
        "serializer": st.sampled_from([None, "text", "avro_event"]),
    }
)
CHANNEL = st.fixed_dictionaries(
    {
        "type": st.just("org.apache.flume.channel.kafka.KafkaChannel"),
        "kafka.bootstrap.servers": st.sampled_from([None, "broker:9092"]),
        "brokerList": st.sampled_from([None, "old:9092"]),
        "kafka.topic": st.sampled_from([None, "t", "bad topic"]),
        "parseAsFlumeEvent": SWITCHES,
        "kafka.consumer.group.id": st.sampled_from([None, "g", "flume", "bad group"]),
        "kafka.consumer.auto.offset.reset": st.sampled_from([None, "earliest", "latest", "none"]),
        "readSmallestOffset": SWITCHES,
        "partitionIdHeader": st.sampled_from([None, "p"]),
        "defaultPartitionId": NUMBERS,
        "kafka.pollTimeout": NUMBERS,
        "kafka.producer.acks": st.sampled_from([None, "1", "all"]),
        "kafka.producer.linger.ms": NUMBERS,
        "kafka.producer.batch.size": NUMBERS,
        "kafka.consumer.max.poll.records": NUMBERS,
        "kafka.consumer.security.protocol": st.sampled_from([None, "SSL", "NONE"]),
        "kafka.producer.compression.type": st.sampled_from([None, "gzip", "zip"]),
    }
)
SOURCES = st.sampled_from(
    [
        {"type": "seq"},
        {"type": "seq", "interceptors": "i", "interceptors.i.type": "timestamp"},
        {"type": "seq", "interceptors": "i", "interceptors.i.type": "com.example.Own$Builder"},
        {"type": "exec", "command": "date"},
        {"type": "avro", "port": "4141"},
        {
            "type": "org.apache.flume.source.kafka.KafkaSource",
            "kafka.topics": "in",
            "kafka.bootstrap.servers": "broker:9092",
        },
        {"type": "taildir", "filegroups": "f", "filegroups.f": "/var/log/app.log", "idleTimeout": "5s"},
    ]
)
WITHOUT: dict[str, dict[str, Any]] = {
    "nothing": {},
    "source": {"a.sources": None, "a.sources.s.type": None, "a.sources.s.channels": None},
    "sink": {"a.sinks": None, "a.sinks.k.type": None, "a.sinks.k.channel": None},
}


@settings(max_examples=100, deadline=None)
@given(HDFS, SOURCES, st.sampled_from(["memory", "file"]))
def test_an_hdfs_sink_imported_without_an_error_is_accepted(
    sink: dict[str, Any], source: dict[str, Any], channel: str
) -> None:
    agent = WHOLE | below("a.sources.s", source) | below("a.sinks.k", sink) | {"a.channels.c.type": channel}
    text = written(agent)
    check(text, import_flume(text))


@settings(max_examples=100, deadline=None)
@given(CHANNEL, SOURCES, HDFS, st.sampled_from(list(WITHOUT)))
def test_a_kafka_channel_imported_without_an_error_is_accepted(
    channel: dict[str, Any], source: dict[str, Any], sink: dict[str, Any], without: str
) -> None:
    own = below("a.channels.c", channel)
    own |= {} if without == "source" else below("a.sources.s", source)
    own |= {} if without == "sink" else below("a.sinks.k", sink)
    text = written(WHOLE | own | WITHOUT[without])
    check(text, import_flume(text))
