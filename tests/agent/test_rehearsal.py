"""A rehearsal says what the running agent does: both get the same definition and the same events."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql import SparkSession

from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.ledger.journal import DeadLetters, Done
from pipelines.domain.ledger.ledger import Counts
from pipelines.domain.runs.protocol import SparkSettings
from pipelines.foundation.rehearsal import RehearsalFailed, rehearse
from tests.agent.conftest import MakePipeline
from tests.agent.topics import Topics
from tests.counts import is_balanced
from workers.agent.startup.rehearse import Request, Sample
from workers.agent.startup.rehearse import result as result_of

ENRICH = "tests.agent.interceptors:Enrich"
INTERCEPTORS = [
    {"type": "static", "key": "datacenter", "value": "prague"},
    {"type": "host"},
    {"type": "uuid", "prefix": "u-"},
    {"type": "uuid", "header_name": "random-id", "random": True},
    {"type": "timestamp", "header_name": "at"},
    {"type": "regex_filter", "regex": "DEBUG", "exclude_events": True},
    {
        "type": "regex_extractor",
        "regex": r'"day":"([^"]*)"',
        "serializers": [{"name": "day", "type": "millis", "pattern": "yyyy-MM-dd"}],
    },
    {"type": "search_replace", "search_pattern": r"(\d{4})-(\d{4})", "replace_string": "****-$2"},
    {"type": "remove_header", "matching": "x-.*"},
    {"type": "morph_json", "rename": {"n": "number"}, "drop": ["secret"]},
    {"type": "python", "class": ENRICH, "config": {"country": "SK"}},
    {
        "type": "sql",
        "where": "json:country::STRING = 'SK'",
        "set": {"headers.double": "json:number::DECIMAL(10, 2) * 2", "body.of": "concat(headers.country, '-', key)"},
        "drop": ["body.card"],
    },
]
SELECTOR = {
    "type": "multiplexing",
    "header": "country",
    "mapping": {"CZ": ["lake"], "US": ["lake", "audit"]},
    "optional": {"DE": ["audit"]},
}
EVENTS = [
    {"headers": {"country": "CZ", "x-a": "1"}, "body": '{"n":1.50,"card":"1234-5678","secret":1}'},
    {"headers": {"country": "US"}, "body": '{"n":2,"day":"2026-01-31"}'},
    {"headers": {"country": "DE"}, "body": '{"n":3}'},
    {"headers": {"country": "FR"}, "body": '{"n":4}'},
    {"headers": {}, "body": '{"n":5}'},
    {"headers": {"country": "CZ"}, "body": "DEBUG"},
    {"headers": {"country": "CZ"}, "body": "no json"},
    {"headers": {"country": "CZ"}, "body": '{"n":6,"day":"someday"}'},
    {"headers": {"country": "CZ"}, "body_base64": "/w=="},
]
NEVER_THE_SAME = {"random-id", "at"}
"""Headers that differ from one look at an event to the next."""
SELECTORS: dict[str, dict[str, Any]] = {
    "turns": {"type": "load_balancing", "channels": ["audit", "lake"]},
    "spread": {"type": "load_balancing", "policy": "random"},
    "all": {"type": "replicating", "channels": ["lake", "audit"], "optional": ["audit"]},
    "some": {"type": "multiplexing", "header": "country", "mapping": {"CZ": ["audit"]}, "default": ["lake"]},
}
"""Further sources, each with a topic of its own and a header that tells its events from the others'."""


def text_of(body: bytes) -> str:
    """As a rehearsal shows it."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return base64.b64encode(body).decode()


def in_words(headers: dict[str, str], text: str) -> str:
    own = {name: value for name, value in headers.items() if not name.startswith("headgate.")}
    shown = {name: "…" if name in NEVER_THE_SAME else value for name, value in own.items()}
    return json.dumps([shown, text], sort_keys=True)


def as_definition(topics: Topics, base: dict[str, Any]) -> dict[str, Any]:
    shop = {**base["sources"]["shop"], "interceptors": INTERCEPTORS, "selector": SELECTOR}
    others = {
        name: {
            **base["sources"]["shop"],
            "topics": [f"{topics.name}-{name}"],
            "group_id": f"headgate.{topics.name}.{name}",
            "interceptors": [{"type": "static", "key": "source", "value": name}],
            "selector": selector,
        }
        for name, selector in SELECTORS.items()
    }
    channels = {"lake": {"type": "direct"}, "audit": {"type": "direct"}}
    sinks = {
        name: {"type": "kafka", "channel": name, "bootstrap_servers": topics.servers, "topic": f"{topics.name}-{name}"}
        for name in channels
    }
    return {**base, "sources": {"shop": shop, **others}, "channels": channels, "sinks": sinks}


def produce(topics: Topics) -> None:
    producer = Producer({"bootstrap.servers": topics.servers})
    for topic in (topics.source, *(f"{topics.name}-{name}" for name in SELECTORS)):
        for event in EVENTS:
            body = b"\xff" if "body_base64" in event else str(event["body"]).encode()
            producer.produce(topic, body, partition=0, headers=dict(event["headers"]))  # type: ignore[arg-type]
    assert producer.flush(60) == 0


def delivered(topics: Topics, channel: str) -> list[str]:
    consumer = Consumer({"bootstrap.servers": topics.servers, "group.id": "look", "enable.auto.commit": False})
    partitions = [TopicPartition(f"{topics.name}-{channel}", number, 0) for number in range(4)]
    left = sum(consumer.get_watermark_offsets(partition, timeout=10)[1] for partition in partitions)
    consumer.assign(partitions)
    found: list[str] = []
    while len(found) < left:
        for message in consumer.consume(100, timeout=1):
            pairs: Any = message.headers() or []
            headers = {name: value.decode() for name, value in pairs}
            found.append(in_words(headers, text_of(message.value() or b"")))
    consumer.close()
    return sorted(found)


def test_a_rehearsal_and_the_agent_agree_on_every_event(
    topics: Topics,
    make_pipeline: MakePipeline,
    tmp_path: Path,
    session: SparkSession,
    spark_settings: SparkSettings,
) -> None:
    pipeline = make_pipeline()
    pipeline.definition = as_definition(topics, pipeline.definition)
    pipeline.interceptors = [ENRICH]
    for name in ("lake", "audit", *SELECTORS):
        topics.create(f"{topics.name}-{name}")
    produce(topics)

    result = rehearse(pipeline.definition, EVENTS, source="shop", interceptors=frozenset({ENRICH}), seconds=240)
    assert result.keys() == {"channels", "filtered", "unrouted", "dead_letters"}
    assert result["filtered"] == 1
    assert [json.loads(event["body"])["number"] for event in result["unrouted"]] == [4, 5]
    assert [dead_letter["component"] for dead_letter in result["dead_letters"]] == [
        "sources.shop.interceptors[9]",
        "sources.shop.interceptors[6]",
        "sources.shop.interceptors[9]",
    ]

    told_of = {"shop": result} | {
        name: alone(session, spark_settings, pipeline.definition, name, tmp_path) for name in SELECTORS
    }
    numbers = {name: {channel: len(got) for channel, got in each["channels"].items()} for name, each in told_of.items()}
    assert sum(numbers.pop("spread").values()) == len(EVENTS)
    assert numbers == {
        "shop": {"lake": 2, "audit": 2},
        "turns": {"audit": 5, "lake": 4},
        "all": {"lake": 9, "audit": 9},
        "some": {"audit": 5, "lake": 4},
    }
    run = pipeline.start()
    run.wait_status(lambda s: len(s.queries) == 10 and all(q.read == len(EVENTS) for q in s.queries), "all read", 300)
    assert run.stop(60).exit_code == 0
    for channel in ("lake", "audit"):
        events = [event for each in told_of.values() for event in each["channels"].get(channel, [])]
        expected = sorted(in_words(event["headers"], event.get("body", event.get("body_base64"))) for event in events)
        assert delivered(topics, channel) == expected
    # the channel that keeps the bad events
    done = [done for done in run.of_kind(Done) if (done.source, done.channel) == ("shop", "audit")]
    counts = sum((each.counts for each in done), start=Counts())
    assert (counts.read, counts.filtered) == (len(EVENTS), result["filtered"])
    assert (counts.unrouted, counts.dead_lettered) == (len(result["unrouted"]), len(result["dead_letters"]))
    assert all(is_balanced(each.counts) for each in run.of_kind(Done))
    dead_letters = {(each.component, each.cause) for entry in run.of_kind(DeadLetters) for each in entry.dead_letters}
    assert dead_letters >= {(dead_letter["component"], dead_letter["cause"]) for dead_letter in result["dead_letters"]}


def alone(
    session: SparkSession, spark: SparkSettings, definition: dict[str, Any], source: str, tmp: Path
) -> dict[str, Any]:
    """A rehearsal in the session of the tests, which spares a JVM."""
    request = Request(
        definition=definition, events=[Sample.model_validate(event) for event in EVENTS], source=source, spark=spark
    )
    return result_of(session, Definition.model_validate(definition), source, request, tmp)


def rehearsed(topics: str, *events: dict[str, Any], **keys: Any) -> dict[str, Any]:
    source = {
        "type": "kafka",
        "bootstrap_servers": "nowhere:9092",
        "topics": [topics],
        "group_id": "g",
        "start_from": "earliest",
        **keys,
    }
    definition = {
        "api_version": "headgate/v1",
        "name": "p",
        "sources": {"s": source},
        "channels": {"c": {"type": "direct"}},
        "sinks": {"k": {"type": "logger", "channel": "c"}},
    }
    return rehearse(definition, list(events), source=None, interceptors=frozenset(), seconds=120)


def test_a_rehearsal_needs_neither_broker_nor_interceptors() -> None:
    result = rehearsed("t", {"body": "a"}, {"headers": {"h": "é"}, "body_base64": "/w=="})
    assert result == {
        "channels": {"c": [{"headers": {}, "body": "a"}, {"headers": {"h": "é"}, "body_base64": "/w=="}]},
        "filtered": 0,
        "unrouted": [],
        "dead_letters": [],
    }


@pytest.mark.parametrize(
    ("event", "where"), [({"body": 1}, "events.0.body"), ({}, "events.0"), ({"body_base64": "?"}, "events.0")]
)
def test_events_that_are_none_are_findings(event: dict[str, Any], where: str) -> None:
    with pytest.raises(RehearsalFailed) as failure:
        rehearsed("t", event)
    assert [finding["path"] for finding in failure.value.findings] == [where]


def test_a_rehearsal_that_hangs_is_ended() -> None:
    with pytest.raises(RehearsalFailed, match="did not end within"):
        rehearse({}, [], source=None, interceptors=frozenset(), seconds=0.01)
