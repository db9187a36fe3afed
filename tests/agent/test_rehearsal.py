"""A rehearsal says what the running agent does: both get the same definition and the same events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from typer.testing import CliRunner

from controlplane.cli.app import app
from controlplane.rehearsal import RehearsalFailed, rehearse
from pipelines.domain.journal import DeadLetters, Done
from pipelines.domain.ledger import Counts
from tests.agent.conftest import MakePipeline
from tests.agent.topics import Topics

ENRICH = "tests.agent.interceptors:Enrich"
INTERCEPTORS = [
    {"type": "static", "key": "datacenter", "value": "prague"},
    {"type": "host"},
    {"type": "uuid", "prefix": "u-"},
    {"type": "timestamp", "header_name": "at"},
    {"type": "regex_filter", "regex": "DEBUG", "exclude_events": True},
    {
        "type": "regex_extractor", "regex": r'"day":"([^"]*)"',
        "serializers": [{"name": "day", "type": "millis", "pattern": "yyyy-MM-dd"}],
    },
    {"type": "search_replace", "search_pattern": r"(\d{4})-(\d{4})", "replace_string": "****-$2"},
    {"type": "remove_header", "matching": "x-.*"},
    {"type": "morph_json", "rename": {"n": "number"}, "drop": ["secret"]},
    {"type": "python", "class": ENRICH, "config": {"country": "SK"}},
]  # fmt: skip
SELECTOR = {
    "type": "multiplexing", "header": "country", "mapping": {"CZ": ["lake"], "US": ["lake", "audit"]},
    "optional": {"DE": ["audit"]},
}  # fmt: skip
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
OF_THE_ORIGIN = {"id", "at"}
"""Headers whose values follow from where and when an event was read."""


def in_words(headers: dict[str, str], body: bytes | str) -> str:
    own = {name: value for name, value in headers.items() if not name.startswith("headgate.")}
    shown = {name: "…" if name in OF_THE_ORIGIN else value for name, value in own.items()}
    text = body if isinstance(body, str) else body.decode()
    return json.dumps([shown, text], sort_keys=True)


def as_definition(topics: Topics, base: dict[str, Any]) -> dict[str, Any]:
    source = {**base["sources"]["shop"], "interceptors": INTERCEPTORS, "selector": SELECTOR}
    channels = {"lake": {"type": "direct"}, "audit": {"type": "direct"}}
    sinks = {
        name: {"type": "kafka", "channel": name, "bootstrap_servers": topics.servers, "topic": f"{topics.name}-{name}"}
        for name in channels
    }
    return {**base, "sources": {"shop": source}, "channels": channels, "sinks": sinks}


def produce(topics: Topics) -> None:
    producer = Producer({"bootstrap.servers": topics.servers})
    for event in EVENTS:
        body = b"\xff" if "body_base64" in event else str(event["body"]).encode()
        producer.produce(topics.source, body, partition=0, headers=dict(event["headers"]))  # type: ignore[arg-type]
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
            found.append(in_words(headers, message.value() or b""))
    consumer.close()
    return sorted(found)


def test_a_rehearsal_and_the_agent_agree_on_every_event(
    topics: Topics, make_pipeline: MakePipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = make_pipeline()
    pipeline.definition = as_definition(topics, pipeline.definition)
    pipeline.interceptors = [ENRICH]
    for channel in ("lake", "audit"):
        topics.create(f"{topics.name}-{channel}")
    produce(topics)

    definition, samples = tmp_path / "definition.json", tmp_path / "events.jsonl"
    definition.write_text(json.dumps(pipeline.definition))
    samples.write_text("\n".join(map(json.dumps, EVENTS)))
    monkeypatch.setenv("HEADGATE_INTERCEPTORS", ENRICH)
    told = CliRunner().invoke(app, ["rehearse", "-f", str(definition), "--events", str(samples), "--json"])
    assert told.exit_code == 0, told.output
    result = json.loads(told.stdout)
    assert result.keys() == {"channels", "filtered", "unrouted", "dead_letters"}
    assert result["filtered"] == 1
    assert [json.loads(event["body"])["number"] for event in result["unrouted"]] == [4, 5]
    assert [letter["component"] for letter in result["dead_letters"]] == [
        "sources.shop.interceptors[8]", "sources.shop.interceptors[5]", "sources.shop.interceptors[8]",
    ]  # fmt: skip

    run = pipeline.start()
    run.wait_status(lambda s: sum(q.read for q in s.queries) == 2 * len(EVENTS), "all read", 120)
    assert run.stop().exit_code == 0
    expected = {
        name: sorted(in_words(event["headers"], event["body"]) for event in events)
        for name, events in result["channels"].items()
    }
    assert {name: delivered(topics, name) for name in expected} == expected
    done = [done for done in run.of_kind(Done) if done.channel == "audit"]  # the one that accounts for bad events
    counts = sum((each.counts for each in done), start=Counts())
    assert (counts.read, counts.filtered) == (len(EVENTS), result["filtered"])
    assert (counts.unrouted, counts.dead_lettered) == (len(result["unrouted"]), len(result["dead_letters"]))
    assert all(each.counts.balanced for each in run.of_kind(Done))
    letters = {(each.component, each.cause) for entry in run.of_kind(DeadLetters) for each in entry.letters}
    assert letters >= {(letter["component"], letter["cause"]) for letter in result["dead_letters"]}


def rehearsed(topics: str, *events: dict[str, Any], **keys: Any) -> dict[str, Any]:
    source = {
        "type": "kafka", "bootstrap_servers": "nowhere:9092", "topics": [topics], "group_id": "g",
        "start_from": "earliest", **keys,
    }  # fmt: skip
    definition = {
        "api_version": "headgate/v1", "name": "p", "sources": {"s": source}, "channels": {"c": {"type": "direct"}},
        "sinks": {"k": {"type": "logger", "channel": "c"}},
    }  # fmt: skip
    return rehearse(definition, list(events), source=None, interceptors=frozenset(), seconds=120)


def test_a_rehearsal_needs_neither_broker_nor_interceptors() -> None:
    result = rehearsed("t", {"body": "a"}, {"headers": {"h": "é"}, "body_base64": "/w=="})
    assert result == {
        "channels": {"c": [{"headers": {}, "body": "a"}, {"headers": {"h": "é"}, "body_base64": "/w=="}]},
        "filtered": 0, "unrouted": [], "dead_letters": [],
    }  # fmt: skip


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
