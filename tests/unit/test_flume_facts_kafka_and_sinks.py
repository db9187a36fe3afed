"""The Kafka source, the Kafka sink and the http sink are configured as Flume's are, fact by fact.

What only a broker or a server can show is tested with one, in the tier `agent`; the table says where.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pipelines.domain import registry
from tests.vectors import Vector, applicable

SOURCE = {
    "type": "kafka", "bootstrap_servers": "broker:9092", "topics": ["a"], "group_id": "g", "start_from": "earliest"
}  # fmt: skip
SINK = {"type": "kafka", "channel": "c", "bootstrap_servers": "broker:9092", "topic": "a"}
HTTP = {"type": "http", "channel": "c", "url": "http://server/"}


def made(kind: Any, keys: dict[str, Any]) -> Any:
    return registry.get(kind, keys["type"]).model_validate(keys)


def refused(kind: Any, keys: dict[str, Any]) -> str:
    """The message of the first finding."""
    with pytest.raises(ValidationError) as error:
        made(kind, keys)
    return str(error.value.errors()[0]["loc"]) + error.value.errors()[0]["msg"]


def without(keys: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in keys.items() if key != name}


def pattern_matches_whole_names(vector: Vector) -> None:
    spec = made("source", without(SOURCE, "topics") | {"topics_pattern": vector.config["topics.regex"]})
    for topic, matches in vector.expected_events_or_error.items():
        for name in [f"topic{n}" for n in range(10)] if ".." in topic else [topic]:
            assert (re.fullmatch(spec.topics_pattern, name) is not None) is matches


def every_topic_is_read(vector: Vector) -> None:
    topics = [name.strip() for name in vector.config["topics"].split(",")]
    assert topics == vector.expected_events_or_error["topics"]
    assert made("source", SOURCE | {"topics": topics}).topics == topics
    assert "topic" in refused("source", SOURCE | {"topics": [""]})


def the_header_is_off(vector: Vector) -> None:
    assert made("source", SOURCE).topic_header is None


def headers_have_chosen_names(vector: Vector) -> None:
    chosen = {"topic_header": vector.config["topicHeader"], "timestamp_header": "timestamp"}
    spec = made("source", SOURCE | chosen)
    assert {spec.topic_header, spec.timestamp_header} <= set(vector.expected_events_or_error["headers"])


def servers_are_required(kind: str) -> Callable[[Vector], None]:
    def check(vector: Vector) -> None:
        keys = SOURCE if kind == "source" else SINK
        assert "bootstrap_servers" in refused(kind, without(keys, "bootstrap_servers"))

    return check


def no_position_is_guessed(vector: Vector) -> None:
    assert "auto.offset.reset" in refused("source", SOURCE | {"options": {"auto.offset.reset": "earliest"}})
    assert "start_from" in refused("source", without(SOURCE, "start_from"))


def the_group_is_required(vector: Vector) -> None:
    assert "group_id" in refused("source", without(SOURCE, "group_id"))


def only_listed_options_pass(kind: str) -> Callable[[Vector], None]:
    def check(vector: Vector) -> None:
        keys = SOURCE if kind == "source" else SINK
        for option in ("fake.property", "bootstrap.servers", "value.serializer", "sasl.jaas.config"):
            assert option in refused(kind, keys | {"options": {option: "x"}})

    return check


def acknowledged_by_all(vector: Vector) -> None:
    assert "acks" in refused("sink", SINK | {"options": {"acks": "1"}})


def the_header_is_ignored(vector: Vector) -> None:
    assert made("sink", SINK).topic_header is None
    assert "may not choose any topic" in refused("sink", SINK | {"topic_header": "foo"})


def refused_url(vector: Vector) -> None:
    assert "url" in refused("sink", HTTP | {"url": vector.config["endpoint"]})


def refused_time(key: str) -> Callable[[Vector], None]:
    def check(vector: Vector) -> None:
        assert key in refused("sink", HTTP | {key: next(iter(vector.config.values()))})

    return check


def a_status_can_give_up(vector: Vector) -> None:
    spec = made("sink", HTTP | {"refuse_statuses": [vector.config["response"]]})
    assert vector.config["response"] in spec.refuse_statuses
    assert vector.config["response"] not in spec.retry_statuses


FACTS: dict[str, Callable[[Vector], None]] = {
    "KS-018": lambda _: made("source", without(SOURCE, "topics") | {"topics_pattern": "^stream[0-9]$"}) and None,
    "KS-019": only_listed_options_pass("source"),
    "KS-020": pattern_matches_whole_names,
    "KS-022": no_position_is_guessed,
    "KS-025": headers_have_chosen_names,
    "KS-027": the_header_is_off,
    "KS-031": servers_are_required("source"),
    "KS-033": the_group_is_required,
    "KS-034": every_topic_is_read,
    "KK-001": only_listed_options_pass("sink"),
    "KK-007": the_header_is_ignored,
    "KK-021": acknowledged_by_all,
    "KK-022": servers_are_required("sink"),
    "HK-001": refused_url,
    "HK-003": refused_time("connect_timeout"),
    "HK-004": refused_time("read_timeout"),
    "HK-012": a_status_can_give_up,
}
WITH_A_BROKER_OR_SERVER = {
    "KS-001": "test_holding", "KS-005": "test_kills", "KS-007": "test_moving", "KS-008": "test_holding",
    "KS-012": "test_kills", "KS-013": "test_holding", "KS-014": "test_moving",
    "KS-016": "test_kafka_as_people_run_it",
    "KK-003": "test_moving", "KK-004": "test_kafka_as_people_run_it", "KK-006": "test_kafka_as_people_run_it",
    "KK-009": "test_kafka_as_people_run_it", "KK-013": "test_kafka_as_people_run_it",
    "KK-014": "test_kafka_as_people_run_it", "KK-017": "test_kafka_as_people_run_it",
    "HK-006": "test_sink_http", "HK-007": "test_sink_http", "HK-016": "test_sink_http", "HK-019": "test_sink_http",
}  # fmt: skip
"""Facts about traffic, by the module of the tier `agent` that shows them."""
FAMILIES = [
    *applicable("source.kafka"),
    *applicable("sink.kafka"),
    *applicable("sink.http"),
    *applicable("sink.rolling_file"),
]


@pytest.mark.parametrize("vector", [each for each in FAMILIES if each.id not in WITH_A_BROKER_OR_SERVER], ids=str)
def test_configuration_is_taken_or_refused_as_it_should_be(vector: Vector) -> None:
    FACTS[vector.id](vector)


def test_every_fact_about_traffic_has_its_module() -> None:
    tier = Path(__file__).parents[1] / "agent"
    assert [name for name in WITH_A_BROKER_OR_SERVER.values() if not (tier / f"{name}.py").exists()] == []
