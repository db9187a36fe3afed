"""What Flume takes or refuses as a configuration is taken or refused here, fact by fact."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from pipelines.domain.base.findings import Finding
from pipelines.domain.definitions.checks.validate import validate_data
from pipelines.domain.definitions.parts import registry
from tests.sink_bench import validated
from tests.unit.definitions import changed
from tests.unit.flume.agents import (
    below,
    grouped,
    http_sink,
    imported,
    intercepted,
    kafka_sink,
    kafka_source,
)
from tests.vectors import Vector, drives

REFUSALS: dict[str, set[str]] = {
    "regex_syntax": {"regex_syntax"},
    "illegal_argument": {
        "bad_duration",
        "invalid_header",
        "missing_key",
        "regex_syntax",
        "unknown_charset",
        "unknown_value",
    },
    "illegal_state": {"transaction_capacity_too_large"},
    "config": {"missing_key", "unknown_channel", "unknown_value"},
}
"""The findings that stand for each kind of Flume's errors."""


def refused(findings: list[Any], vector: Vector) -> None:
    errors = {finding.code for finding in findings if finding.is_error}
    assert errors & REFUSALS[vector.error]


@drives("IF-009", "IE-001", "IE-002", "IE-005", "IS-008")
def test_an_interceptor_that_flume_refuses_is_refused(vector: Vector) -> None:
    refused(intercepted(vector.component.split(".")[1], vector.config).findings, vector)


@drives("HK-001", "HK-003", "HK-004")
def test_an_http_sink_that_flume_refuses_is_refused(vector: Vector) -> None:
    refused(http_sink(vector.config).findings, vector)


@drives("KS-031", "KK-022")
def test_a_kafka_client_without_brokers_is_refused(vector: Vector) -> None:
    made = {"source.kafka": kafka_source, "sink.kafka": kafka_sink}[vector.component]
    names = {"bootstrap": "kafka.bootstrap.servers"}
    own = {names.get(name, name): value for name, value in vector.config.items()}
    refused(made({"kafka.topics": "t"} | own).findings, vector)


def findings_of(changes: dict[str, Any]) -> list[Finding]:
    return list(validate_data(changed(changes)).findings)


def _multiplexing(config: Mapping[str, Any]) -> list[Finding]:
    mapping = {key.partition(".")[2]: value.split() for key, value in config.items() if key.startswith("mapping.")}
    selector = {"type": config["type"], "header": config["header"], "mapping": mapping}
    return findings_of({"sources/shop/selector": selector})


def _millis(config: Mapping[str, Any]) -> list[Finding]:
    extractor = {"type": "regex_extractor", "regex": "(.*)", "serializers": [{"name": "n", "type": "millis", **config}]}
    return findings_of({"sources/shop/interceptors": [extractor]})


def _untyped_interceptor(config: Mapping[str, Any]) -> list[Finding]:
    assert config[f"interceptors.{config['interceptors']}.type"] is None
    return findings_of({"sources/shop/interceptors": [{"name": config["interceptors"]}]})


def _group(config: Mapping[str, Any]) -> list[Finding]:
    members = [f"s{number}" for number in range(config["sinks"])]
    return list(validated(members, {"type": "load_balance", "selector": config["selector"]}).findings)


def _memory(config: Mapping[str, Any]) -> list[Finding]:
    channel = {"capacity": config["capacity"], "transaction_capacity": config["transactionCapacity"]}
    return findings_of({"channels/lake": {"type": "memory", **channel}})


def _spooldir(config: Mapping[str, Any]) -> list[Finding]:
    source = {"type": "spooldir", "directory": "/d", "consume_order": config["consumeOrder"]}
    return findings_of({"sources/shop": source})


DEFINED: dict[str, Callable[[Mapping[str, Any]], list[Finding]]] = {
    "selector.multiplexing": _multiplexing,
    "selector.load_balancing": lambda config: findings_of({"sources/shop/selector": config}),
    "interceptor.regex_extractor.millis": _millis,
    "channel_processor": _untyped_interceptor,
    "sink_processor.load_balance": _group,
    "channel.memory": _memory,
    "source.spooldir": _spooldir,
}


@drives("IE-012", "MX-021", "LC-002", "CP-008", "LB-016", "MC-016", "SP-001")
def test_what_flume_refuses_is_refused_in_a_definition(vector: Vector) -> None:
    refused(DEFINED[vector.component](vector.config), vector)


@drives("LB-017")
def test_names_of_selectors_have_any_case(vector: Vector) -> None:
    assert (not any(finding.is_error for finding in _group(vector.config))) is vector.expected["ok"]


@drives("SP-002")
def test_orders_have_any_case(vector: Vector) -> None:
    for order in vector.config["consumeOrder"]:
        found = _spooldir({"consumeOrder": order})
        assert (not [each for each in found if "consume_order" in each.path]) is vector.expected["ok"]


@drives("FO-008")
def test_a_penalty_that_is_no_number_is_imported_as_flumes_default(vector: Vector) -> None:
    priorities = {"processor.priority.s1": 2, "processor.priority.s2": 1}
    made = grouped(["s1", "s2"], {"processor.type": "failover", **priorities, **vector.config})
    penalty = made.definition["sink_groups"]["g"]["processor"]["max_penalty_ms"]
    assert penalty == vector.expected["maxpenalty_ms"]
    assert "bad_value" in {finding.code for finding in made.findings}


@drives("SPF-002")
def test_a_processor_is_imported_by_its_type_or_its_class(vector: Vector) -> None:
    names = [
        name.replace("<fully qualified class>", "org.apache.flume.sink.LoadBalancingSinkProcessor")
        for name in vector.config["type"]
    ]
    own = {"processor.selector": vector.config["selector"]}
    first, second = (grouped(["s1", "s2"], {"processor.type": name, **own}).definition for name in names)
    assert (first == second) is vector.expected["same_kind"]


@drives("MC-015")
def test_capacities_that_are_no_numbers_above_zero_are_imported_as_such(vector: Vector) -> None:
    made = imported(below("a.channels.c", vector.config))
    channel = registry.get("channel", "memory").model_validate(made.definition["channels"]["c"])
    signs = {True: ">0", False: "<=0"}
    assert signs[channel.model_dump()["capacity"] > 0] == vector.expected["capacity"]
    assert signs[channel.model_dump()["transaction_capacity"] > 0] == vector.expected["transactionCapacity"]


@drives("KS-018", "KS-020")
def test_a_pattern_is_read_and_matches_whole_names(vector: Vector) -> None:
    own = {f"kafka.{name}": value for name, value in vector.config.items()}
    source = kafka_source(own).definition["sources"]["s"]
    expected = dict(vector.expected)
    assert vector.steps[0] == "configure" or all(name in vector.steps[0] for name in expected)
    if "subscription" in expected:
        assert [key for key in ("topics", "topics_pattern") if key in source] == [
            {"regex": "topics_pattern"}[expected.pop("subscription")]
        ]
        expected = {expected["matches"]: True}
    for topics, matches in expected.items():
        for topic in [topics.replace("0..9", str(n)) for n in range(10)] if ".." in topics else [topics]:
            assert (re.fullmatch(source["topics_pattern"], topic) is not None) is matches


@drives("KS-019")
def test_the_brokers_and_the_group_of_a_source_are_its_own_keys(vector: Vector) -> None:
    own = dict(vector.config)
    made = kafka_source({"kafka.topics": "t", "kafka.bootstrap.servers": own.pop("bootstrap"), **own})
    source = made.definition["sources"]["s"]
    assert source["group_id"] == vector.expected["group.id"]
    assert source["bootstrap_servers"] == vector.expected["bootstrap.servers"]
    reported = {
        finding.key.removeprefix("a.sources.s.") for finding in made.findings if finding.code == "forbidden_option"
    }
    assert reported == {"kafka.consumer.fake.property", "kafka.consumer.bootstrap.servers"}


@drives("KK-001")
def test_the_brokers_of_a_sink_are_those_of_the_newer_property(vector: Vector) -> None:
    made = kafka_sink(vector.config)
    assert made.definition["sinks"]["k"]["bootstrap_servers"] == vector.expected["bootstrap.servers"]
    reported = {
        finding.key.removeprefix("a.sinks.k.") for finding in made.findings if finding.code == "forbidden_option"
    }
    assert reported == {"kafka.producer.value.serializer", "kafka.producer.fake.property"}


@drives("KC-006")
def test_settings_of_a_channel_that_are_not_written_any_more_are_not_remembered(vector: Vector) -> None:
    own = {"type": "org.apache.flume.channel.kafka.KafkaChannel", "kafka.bootstrap.servers": "broker:9092"}
    both: tuple[dict[str, str], ...] = (vector.config, {})
    with_them, without = (imported(below("a.channels.c", {**own, **more})).definition["channels"]["c"] for more in both)
    assert vector.steps == ["reconfigure without them"]
    assert with_them["compression"] == vector.config["kafka.producer.compression.type"]
    left = without.keys() & {"compression", "options"}
    assert {False: "unset"}[bool(left)] == vector.expected["both"]


@drives("KS-022")
def test_a_start_that_is_not_written_any_more_is_not_remembered(vector: Vector) -> None:
    (name,) = vector.config
    both: tuple[dict[str, str], ...] = (vector.config, {})
    with_it, without = (kafka_source({"kafka.topics": "t", **own}) for own in both)
    assert vector.steps == ["configure with it", "configure again without it"]
    reported = [{finding.key for finding in made.findings if finding.line} for made in (with_it, without)]
    assert [f"a.sources.s.{name}" in keys for keys in reported] == [True, False]
    options = without.definition["sources"]["s"].get("options", {})
    assert [f"{option} unset" for option in ("auto.offset.reset",) if option not in options] == [
        vector.expected["second"]
    ]


@drives("KS-034")
def test_topics_are_a_list_with_commas(vector: Vector) -> None:
    made = kafka_source({f"kafka.{name}": value for name, value in vector.config.items()})
    assert made.definition["sources"]["s"]["topics"] == vector.expected["topics"]
