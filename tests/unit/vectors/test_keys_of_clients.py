"""What the Kafka source and the Kafka sink refuse where Flume guesses, or passes it on."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from pipelines.domain.definitions.parts import registry
from tests.unit.flume.agents import kafka_source
from tests.vectors import Vector, drives

SOURCE = {
    "type": "kafka",
    "bootstrap_servers": "broker:9092",
    "topics": ["a"],
    "group_id": "g",
    "start_from": "earliest",
}
SINK = {"type": "kafka", "channel": "c", "bootstrap_servers": "broker:9092", "topic": "a"}


def made(kind: Any, keys: dict[str, Any]) -> Any:
    return registry.get(kind, keys["type"]).model_validate(keys)


def refused(kind: Any, keys: dict[str, Any]) -> str:
    """The message of the first finding."""
    with pytest.raises(ValidationError) as error:
        made(kind, keys)
    return str(error.value.errors()[0]["loc"]) + error.value.errors()[0]["msg"]


def without(keys: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in keys.items() if key != name}


@drives("KS-027")
def test_the_header_of_the_topic_can_be_switched_off(vector: Vector) -> None:
    assert vector.steps == ["produce 1"]
    imported = kafka_source({"kafka.topics": "t", **vector.config}).definition["sources"]["s"]
    switched = {True: "present", False: "absent"}
    assert switched["topic_header" in imported] == vector.expected["topic_header"]
    assert switched[made("source", SOURCE).topic_header is not None] == vector.expected["topic_header"]


def test_topics_have_names() -> None:
    assert "topic" in refused("source", SOURCE | {"topics": [""]})


def test_a_position_is_never_guessed() -> None:
    assert "auto.offset.reset" in refused("source", SOURCE | {"options": {"auto.offset.reset": "earliest"}})
    assert "start_from" in refused("source", without(SOURCE, "start_from"))


def test_a_group_is_not_shared_by_default() -> None:
    assert "group_id" in refused("source", without(SOURCE, "group_id"))


@pytest.mark.parametrize(("kind", "keys"), [("source", SOURCE), ("sink", SINK)])
@pytest.mark.parametrize("option", ["fake.property", "bootstrap.servers", "value.serializer", "sasl.jaas.config"])
def test_only_listed_options_reach_a_client(kind: str, keys: dict[str, Any], option: str) -> None:
    assert option in refused(kind, keys | {"options": {option: "x"}})


def test_all_replicas_acknowledge() -> None:
    assert "acks" in refused("sink", SINK | {"options": {"acks": "1"}})


def test_a_header_may_not_choose_any_topic() -> None:
    assert made("sink", SINK).topic_header is None
    assert "may not choose any topic" in refused("sink", SINK | {"topic_header": "foo"})
