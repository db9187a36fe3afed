"""A Kafka channel with one end in the agent is a Kafka sink or a Kafka source."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.domain.flume.importing.importer import Imported
from pipelines.domain.imports.report import ImportFinding
from tests.unit.flume.agents import below
from tests.unit.flume.agents import imported as import_agent

CHANNEL = {
    "type": "org.apache.flume.channel.kafka.KafkaChannel",
    "kafka.bootstrap.servers": "broker:9092",
    "kafka.topic": "app-log",
}
NO_SINK = {"a.sinks": None, "a.sinks.k.type": None, "a.sinks.k.channel": None}
NO_SOURCE = {"a.sources": None, "a.sources.s.type": None, "a.sources.s.channels": None}


def producer(properties: dict[str, Any]) -> Imported:
    return import_agent(NO_SINK | below("a.channels.c", CHANNEL | properties))


def consumer(properties: dict[str, Any]) -> Imported:
    return import_agent(NO_SOURCE | below("a.channels.c", CHANNEL | properties))


def found(imported: Imported, code: str) -> list[ImportFinding]:
    return [finding for finding in imported.findings if finding.code == code]


def test_a_channel_without_a_sink_is_a_kafka_sink() -> None:
    made = producer({})
    assert made.valid, made.findings
    assert made.definition["channels"] == {"c": {"type": "direct"}}
    assert made.definition["sinks"] == {
        "c": {
            "type": "kafka",
            "channel": "c",
            "bootstrap_servers": "broker:9092",
            "topic": "app-log",
            "key": "header.key",
            "use_flume_event_format": True,
        }
    }
    assert not found(made, "topic_override")
    assert len(found(made, "channel_became_sink")) == 1


def test_a_channel_without_a_sink_keeps_how_it_writes() -> None:
    made = producer(
        {
            "parseAsFlumeEvent": False,
            "partitionIdHeader": "partition",
            "defaultPartitionId": 3,
            "kafka.producer.compression.type": "zstd",
            "kafka.producer.linger.ms": 5,
            "kafka.producer.acks": "all",
            "kafka.producer.batch.size": 1000,
            "kafka.producer.security.protocol": "SSL",
            "kafka.consumer.group.id": "unused",
            "pollTimeout": 500,
            "capacity": 10000,
        }
    )
    assert made.valid, made.findings
    sink = made.definition["sinks"]["c"]
    assert sink["use_flume_event_format"] is False
    assert (sink["partition_header"], sink["partition"]) == ("partition", 3)
    assert (sink["compression"], sink["linger_ms"]) == ("zstd", 5)
    assert sink["options"] == {"batch.size": "1000", "security.protocol": "SSL"}
    assert {finding.key.removeprefix("a.channels.c.") for finding in found(made, "no_equivalent")} == {
        "kafka.producer.acks",
        "kafka.consumer.group.id",
        "pollTimeout",
        "capacity",
    }


def test_a_channel_without_a_source_is_a_kafka_source() -> None:
    made = consumer({})
    assert made.valid, made.findings
    assert made.definition["channels"] == {"c": {"type": "direct"}}
    assert made.definition["sources"] == {
        "c": {
            "type": "kafka",
            "bootstrap_servers": "broker:9092",
            "topics": ["app-log"],
            "group_id": "flume",
            "start_from": "group",
            "parse_as_flume_event": True,
            "selector": {"type": "replicating", "channels": ["c"]},
        }
    }
    assert len(found(made, "default_group")) == 1
    assert len(found(made, "channel_became_source")) == 1


def test_a_channel_without_a_source_keeps_how_it_reads() -> None:
    made = consumer(
        {
            "parseAsFlumeEvent": False,
            "kafka.consumer.group.id": "lake",
            "kafka.consumer.auto.offset.reset": "earliest",
            "kafka.consumer.max.poll.records": 100,
            "kafka.producer.acks": "1",
            "kafka.pollTimeout": 500,
            "partitionIdHeader": "p",
        }
    )
    assert made.valid, made.findings
    source = made.definition["sources"]["c"]
    assert source["parse_as_flume_event"] is False
    assert (source["group_id"], source["start_from"]) == ("lake", "earliest")
    assert source["options"] == {"max.poll.records": "100"}
    assert {finding.key.removeprefix("a.channels.c.") for finding in found(made, "no_equivalent")} == {
        "kafka.producer.acks",
        "kafka.pollTimeout",
        "partitionIdHeader",
    }


@pytest.mark.parametrize(("smallest", "start"), [("true", "earliest"), ("false", "latest")])
def test_old_names_of_a_channel_are_read(smallest: str, start: str) -> None:
    old = {
        "kafka.bootstrap.servers": None,
        "kafka.topic": None,
        "brokerList": "old:9092",
        "topic": "old-topic",
        "groupId": "old-group",
        "readSmallestOffset": smallest,
        "zookeeperConnect": "zk:2181",
    }
    source = consumer(old).definition["sources"]["c"]
    assert (source["bootstrap_servers"], source["topics"]) == ("old:9092", ["old-topic"])
    assert (source["group_id"], source["start_from"]) == ("old-group", start)


def test_the_default_topic_of_a_channel_is_written_out() -> None:
    assert producer({"kafka.topic": None}).definition["sinks"]["c"]["topic"] == "flume-channel"
    assert consumer({"kafka.topic": None}).definition["sources"]["c"]["topics"] == ["flume-channel"]


def test_a_channel_without_servers_is_not_accepted() -> None:
    assert not producer({"kafka.bootstrap.servers": None}).valid
    assert not consumer({"kafka.bootstrap.servers": None}).valid


def test_a_password_of_a_channel_becomes_a_reference_or_is_left_out() -> None:
    login = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="u" password="hunter2";'
    made = producer({"kafka.producer.sasl.jaas.config": login, "kafka.consumer.sasl.jaas.config": login})
    assert made.definition["sinks"]["c"]["options"]["sasl.password"] == "${secret:a-c-sasl-password}"
    assert "hunter2" not in repr(made)


def test_the_key_of_a_record_is_a_header_where_something_reads_it() -> None:
    sink = {"type": "hdfs", "hdfs.path": "/lake/%{key}", "hdfs.fileType": "DataStream"}
    made = import_agent(NO_SOURCE | below("a.channels.c", CHANNEL) | below("a.sinks.k", sink))
    assert made.definition["sources"]["c"]["key_header"] == "key"


def test_two_channels_without_a_source_do_not_share_a_group() -> None:
    two = {
        "a.channels": "c d",
        **below("a.channels.d", CHANNEL | {"kafka.topic": "other"}),
        "a.sinks": "k l",
        **below("a.sinks.l", {"type": "null", "channel": "d"}),
    }
    made = import_agent(NO_SOURCE | below("a.channels.c", CHANNEL) | two)
    assert made.valid, made.findings
    groups = [source["group_id"] for source in made.definition["sources"].values()]
    assert groups == ["flume", "headgate.a"]
    assert len(found(made, "shared_group")) == 1


def test_several_sinks_at_a_channel_without_a_source_take_turns() -> None:
    more = {"a.sinks": "k l", **below("a.sinks.l", {"type": "null", "channel": "c"})}
    made = import_agent(NO_SOURCE | below("a.channels.c", CHANNEL) | more)
    assert made.valid, made.findings
    assert made.definition["sink_groups"]["c"]["sinks"] == ["k", "l"]


def test_a_channel_with_one_end_stands_beside_one_with_both() -> None:
    more = {
        "a.channels": "c d",
        "a.sources.s.channels": "c d",
        **below("a.channels.d", CHANNEL),
        "a.sinks.d.type": "null",
    }
    made = import_agent(more)
    assert made.valid, made.findings
    assert made.definition["channels"] == {"c": {"type": "memory"}, "d": {"type": "direct"}}
    assert made.definition["sinks"]["d"]["type"] == "kafka"


def test_a_channel_with_both_ends_stays_a_channel() -> None:
    made = import_agent(below("a.channels.c", CHANNEL))
    assert made.definition["channels"]["c"]["type"] == "kafka"
    assert list(made.definition["sources"]) == ["s"]


def test_local_time_reaches_a_channel_without_a_source() -> None:
    sink = {"type": "hdfs", "hdfs.path": "/l/%Y", "hdfs.fileType": "DataStream", "hdfs.useLocalTimeStamp": True}
    made = import_agent(NO_SOURCE | below("a.channels.c", CHANNEL) | below("a.sinks.k", sink))
    assert made.definition["sources"]["c"]["interceptors"] == [{"type": "timestamp"}]
