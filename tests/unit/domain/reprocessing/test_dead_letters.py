"""Where a letter goes back to, how it is written there, and how the place of a whole event is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.domain.reprocessing.dead_letters import (
    FileLocation,
    HttpTarget,
    NotReplayable,
    TopicLocation,
    TopicTarget,
    flume_event,
    location,
    neighbours,
    target,
)
from tests.factories import definition
from workers.agent.base.flume_avro import decoded
from workers.agent.delivery.dead_letters import dead_letter_id
from workers.agent.graph.batch import Refusal
from workers.agent.graph.component import Place


@given(headers=st.dictionaries(st.text(max_size=300), st.text(max_size=300), max_size=70), body=st.binary())
def test_a_flume_event_is_read_as_it_was_written(headers: dict[str, str], body: bytes) -> None:
    found, same = decoded(flume_event([(name, value.encode()) for name, value in headers.items()], body))
    assert (dict(found), same) == ({name: value.encode() for name, value in headers.items()}, body)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("/dead/a:b.jsonl:17", FileLocation("/dead/a:b.jsonl", 17)),
        ("orders.dead/3@9000000000", TopicLocation("orders.dead", 3, 9_000_000_000)),
        ("", None),
        ("dead/day.jsonl:17", None),
        ("/dead/day.jsonl", None),
        ("orders/x@1", None),
        ("orders/1@-1", None),
    ],
)
def test_a_location_is_a_byte_of_a_file_or_a_record_of_a_topic(text: str, place: object) -> None:
    assert location(text) == place


def test_a_letter_goes_to_its_topic_while_the_source_reads_it() -> None:
    shop = {
        "type": "kafka",
        "bootstrap_servers": "b:9092",
        "topics_pattern": "orders[.].*",
        "group_id": "g",
        "start_from": "earliest",
    }
    found = definition("orders", sources={"shop": shop})
    assert target(found, "shop", "orders.cz") == TopicTarget("b:9092", {}, "orders.cz")
    with pytest.raises(NotReplayable, match="no longer reads the topic bills"):
        target(found, "shop", "bills")


def test_a_letter_of_an_http_source_goes_to_its_port() -> None:
    shop = {"type": "http", "port": 5140, "bind": "10.0.0.5", "path": "/in", "token": "${secret:shop}"}
    shop |= {"tls_certificate": "/chain.pem", "tls_key": "/key.pem"}
    found = target(definition("orders", sources={"shop": shop}), "shop", "shop")
    assert isinstance(found, HttpTarget)
    assert (found.url, found.token, found.blob) == ("https://10.0.0.5:5140/in", "${secret:shop}", False)
    tls = shop | {"bind": "::", "handler": "blob"}
    found = target(definition("orders", sources={"shop": tls}), "shop", "shop")
    assert isinstance(found, HttpTarget)
    assert (found.url, found.certificate, found.blob) == ("https://[::1]:5140/in", "/chain.pem", True)


def test_a_letter_of_a_kafka_channel_goes_to_the_channels_topic_alone() -> None:
    channel = {"type": "kafka", "bootstrap_servers": "c:9092", "topic": "orders.copies"}
    found = definition("orders", channels={"main": channel})
    assert target(found, "channels.main", "orders.copies") == TopicTarget("c:9092", {}, "orders.copies")
    assert neighbours(found, "channels.main", "main") == []


def test_a_replay_is_known_to_reach_the_other_channels_of_its_source() -> None:
    sinks = {name: {"type": "null", "channel": name} for name in ("lake", "audit")}
    found = definition("orders", channels={name: {"type": "direct"} for name in sinks}, sinks=sinks)
    assert neighbours(found, "shop", "lake") == ["audit"]


def test_letters_differ_by_record_component_copy_and_lineage_and_by_nothing_else() -> None:
    def ident(lineage: int = 1, offset: int = 7, component: str = "sinks.lake", copy: int = 0, cause: str = "x") -> str:
        refusal = Refusal(b"k", b"body", [], "orders", 0, offset, cause, component)
        return dead_letter_id(Place("orders", lineage, "errors.dead_letter"), "shop", refusal, copy)

    others = [ident(lineage=2), ident(offset=8), ident(component="sinks.audit"), ident(copy=1)]
    assert len({ident(), *others}) == 5
    assert ident(cause="y") == ident()
