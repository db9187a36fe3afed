"""A preview reads the real source beside its pipeline, runs both revisions, and leaves nothing behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from pipelines.domain.access.secrets import REDACTED
from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.preview.comparing import DifferenceKind
from pipelines.domain.preview.outcomes import EventResult
from pipelines.domain.preview.protocol import MOST_DIFFERENCES, DifferenceRow, PreviewRequest, PreviewResult
from tests.agent.conftest import define
from tests.agent.harness import REACH
from tests.agent.topics import Topics
from tests.waiting import wait_for
from workers.agent.base.findings import Refused
from workers.agent.evaluation import reading
from workers.agent.evaluation.preview import preview
from workers.agent.kafka.admin import KafkaCluster

FILTER = {"type": "regex_filter", "regex": "DEBUG", "exclude_events": True}
STATIC = {"type": "static", "key": "k", "value": "v"}
MANY = 120
"""Partitions, as topics of large clusters have them."""
ENRICH = "tests.agent.interceptors:Enrich"


def definition(topics: Topics, *interceptors: dict[str, Any], **more: Any) -> dict[str, Any]:
    base = define(topics, source={"interceptors": list(interceptors), **more.pop("source", {})}, delivery={})
    return base | more


def previewed(
    session: SparkSession,
    tmp: Path,
    old: dict[str, Any],
    new: dict[str, Any],
    *,
    selection: dict[str, Any] | None = None,
    **more: Any,
) -> PreviewResult:
    request = PreviewRequest.model_validate(
        {
            "base": {"definition": old},
            "candidate": {"definition": new},
            "selection": selection or {"last": 1000},
            "spark": {},
            "seconds": 60,
            "reach": REACH.model_dump(mode="json"),
            **more,
        }
    )
    return preview(session, request, tmp)


def counted(result: PreviewResult) -> dict[tuple[str, str], tuple[int, int]]:
    return {(row.result, row.component): (row.before, row.after) for row in result.counts}


def produced(topics: Topics, *bodies: bytes, headers: dict[str, str] | None = None) -> None:
    """Into one partition, in this order."""
    producer = Producer({"bootstrap.servers": topics.servers, "message.max.bytes": 10_000_000})
    for body in bodies:
        producer.produce(topics.source, body, partition=0, headers=dict(headers or {}))
    assert producer.flush(60) == 0


def only(result: PreviewResult) -> DifferenceRow:
    (row,) = result.differences
    return row


def changes(row: DifferenceRow, part: str) -> dict[str, tuple[str | None, str | None]]:
    return {each.name: (each.before, each.after) for each in getattr(row, part)}


def test_a_filter_that_takes_every_record_is_seen(topics: Topics, session: SparkSession, tmp_path: Path) -> None:
    topics.produce(40)
    everything = FILTER | {"regex": "."}
    result = previewed(session, tmp_path, definition(topics, FILTER), definition(topics, everything))
    assert (result.records, result.differing, result.kinds) == (40, 40, {DifferenceKind.NEWLY_FILTERED: 40})
    assert counted(result)[EventResult.DELIVERED, "channels.lake"] == (40, 0)
    assert result.components == {"sources.shop.interceptors[0]": 40}
    assert {(row.after.result, row.after.event) for row in result.differences if row.after} == {
        (EventResult.FILTERED, None)
    }, "no interceptor behind has seen it"


def test_a_clock_makes_no_interceptor_behind_it_a_reason(topics: Topics, session: SparkSession, tmp_path: Path) -> None:
    produced(topics, b"order", b"DEBUG")
    clock = {"type": "timestamp"}
    for old in ([clock], []):
        result = previewed(session, tmp_path, definition(topics, *old), definition(topics, clock, FILTER, STATIC))
        order = next(row for row in result.differences if row.after and row.after.result == EventResult.DELIVERED)
        own = ["sources.shop.interceptors[2]"]
        assert order.components == (own if old else ["sources.shop.interceptors[0]", *own])


def test_nothing_is_committed_and_nothing_written(topics: Topics, session: SparkSession, tmp_path: Path) -> None:
    topics.produce(40)
    before = traces_of(topics)
    assert previewed(session, tmp_path, definition(topics), definition(topics, FILTER)).records == 40
    assert traces_of(topics) == before
    assert not list(tmp_path.iterdir())


def traces_of(topics: Topics) -> tuple[set[str], dict[Any, int], dict[Any, int]]:
    """What readers leave in a cluster: groups, commits, and what was written to the sink."""
    admin = AdminClient({"bootstrap.servers": topics.servers})
    groups = {group.group_id for group in admin.list_consumer_groups().result(30).valid}
    return groups, _ends(topics, "__consumer_offsets"), topics.ends(topics.sink)


def _ends(topics: Topics, topic: str) -> dict[TopicPartition, int]:
    known = AdminClient({"bootstrap.servers": topics.servers}).list_topics(timeout=10).topics
    partitions = known[topic].partitions if topic in known else {}
    return KafkaCluster.of(topics.servers, {}, None).latest([TopicPartition(topic, number) for number in partitions])


def test_what_was_fetched_beyond_the_preview_is_not_kept(topics: Topics, session: SparkSession, tmp_path: Path) -> None:
    """One read more each time would fill the heap of a warm previewer."""
    topics.produce(5000)
    own = definition(topics)
    first = {"ranges": [{"topic": topics.source, "partition": 0, "start": 0, "end": 10}]}
    assert previewed(session, tmp_path, own, own, selection=first).records == 10
    wait_for(lambda: not instances(session, "org.apache.kafka.clients.consumer.ConsumerRecord"), "it is let go", 60)


def instances(session: SparkSession, name: str) -> int:
    """Objects of a class that are alive in the JVM, which collects its garbage for it."""
    jvm: Any = session.sparkContext._jvm
    beans = jvm.java.lang.management.ManagementFactory.getPlatformMBeanServer()
    commands = jvm.javax.management.ObjectName("com.sun.management:type=DiagnosticCommand")
    invoke = next(
        each
        for each in jvm.java.lang.Class.forName("javax.management.MBeanServer").getMethods()
        if each.getName() == "invoke"
    )
    texts = array(jvm, "String")
    arguments = array(
        jvm,
        "Object",
        commands,
        "gcClassHistogram",
        array(jvm, "Object", texts),
        array(jvm, "String", "[Ljava.lang.String;"),
    )
    histogram = invoke.invoke(beans, arguments)
    found = [line.split() for line in histogram.splitlines()]
    return sum(int(line[1]) for line in found if len(line) > 3 and line[3] == name)


def array(jvm: Any, of: str, *values: Any) -> Any:
    """A Java array of a class of `java.lang`."""
    made = jvm.java.lang.reflect.Array.newInstance(jvm.java.lang.Class.forName(f"java.lang.{of}"), len(values))
    for index, value in enumerate(values):
        made[index] = value
    return made


def test_headers_and_json_bodies_are_compared_by_their_parts(
    topics: Topics, session: SparkSession, tmp_path: Path
) -> None:
    produced(topics, b'{"a":1,"b":{"c":[1,2]},"secret":true}')
    old = definition(topics, {"type": "static", "key": "to", "value": "x"})
    new = definition(
        topics,
        {"type": "static", "key": "to", "value": "y"},
        {"type": "morph_json", "rename": {"a": "z"}, "drop": ["secret"]},
    )
    row = only(previewed(session, tmp_path, old, new))
    assert set(row.kinds) == {DifferenceKind.HEADERS, DifferenceKind.BODY}
    assert changes(row, "headers") == {"to": ("x", "y")}
    assert changes(row, "body") == {"/a": ("1", None), "/z": (None, "1"), "/secret": ("true", None)}
    assert row.components == [f"sources.shop.interceptors[{number}]" for number in range(2)]


def test_an_event_names_the_changed_interceptor_that_did_something_to_it(
    topics: Topics, session: SparkSession, tmp_path: Path
) -> None:
    produced(topics, b"one", b"two", b"three")
    first, second = FILTER | {"regex": "one"}, FILTER | {"regex": "two"}
    result = previewed(session, tmp_path, definition(topics), definition(topics, first, second))
    named = {row.offset: row.components for row in result.differences}
    assert named == {0: ["sources.shop.interceptors[0]"], 1: ["sources.shop.interceptors[1]"]}


def test_what_no_run_repeats_is_no_difference(topics: Topics, session: SparkSession, tmp_path: Path) -> None:
    produced(topics, b"a", b"b")
    moving = ({"type": "timestamp", "header_name": "at"}, {"type": "uuid", "header_name": "id", "random": True})
    old = definition(topics, *moving)
    result = previewed(session, tmp_path, old, definition(topics, *moving, STATIC))
    assert result.not_compared.headers == ["at", "id"]
    assert [[each.name for each in row.headers] for row in result.differences] == [["k"], ["k"]]


def test_dead_and_rerouted_events_differ_with_their_reason(
    topics: Topics, session: SparkSession, tmp_path: Path
) -> None:
    produced(topics, b'{"n":1}', b"no json", headers={"country": "CZ"})
    selector = {"type": "multiplexing", "header": "country", "mapping": {"CZ": ["lake"]}}
    channels = {"lake": {"type": "direct"}, "audit": {"type": "direct"}}
    sinks = {name: topics.as_sink() | {"channel": name} for name in channels}
    both = {"channels": channels, "sinks": sinks}
    old = definition(topics, source={"selector": selector}, **both)
    elsewhere = selector | {"mapping": {"CZ": ["audit"]}}
    new = definition(topics, {"type": "morph_json", "drop": ["x"]}, source={"selector": elsewhere}, **both)
    rerouted, dead = previewed(session, tmp_path, old, new).differences
    assert (rerouted.kinds, rerouted.components) == ([DifferenceKind.ROUTED_ELSEWHERE], ["sources.shop.selector"])
    assert rerouted.before
    assert rerouted.after
    assert (rerouted.before.channels, rerouted.after.channels) == (["lake"], ["audit"])
    assert dead.kinds == [DifferenceKind.NEWLY_DEAD]
    assert dead.after
    assert (dead.after.component, dead.components) == ("sources.shop.interceptors[0]", ["sources.shop.interceptors[0]"])
    assert dead.after.cause


def test_a_python_interceptor_runs_as_in_an_agent(topics: Topics, session: SparkSession, tmp_path: Path) -> None:
    produced(topics, b"{}")
    new = definition(topics, {"type": "python", "class": ENRICH, "config": {"country": "SK"}})
    result = previewed(session, tmp_path, definition(topics), new, interceptors=[ENRICH])
    assert changes(only(result), "body") == {"/country": (None, '"SK"')}
    with pytest.raises(Refused):
        previewed(session, tmp_path, definition(topics), new)


def test_secrets_and_masked_fields_never_leave(topics: Topics, session: SparkSession, tmp_path: Path) -> None:
    body = {"card": "4111-1111", "customer": {"email": "a@b.example"}, "n": 1}
    produced(topics, json.dumps(body).encode(), headers={"auth": "Bearer-777", "note": "of a@b.example, hunter22"})
    masking = {"fields": ["card", "customer.email"], "headers": ["AUTH"]}
    old = definition(topics, masking=masking)
    new = definition(topics, {"type": "morph_json", "rename": {"card": "c"}}, STATIC)
    result = previewed(session, tmp_path, old, new, masked=["hunter22"])
    text = result.model_dump_json()
    for hidden in ("4111-1111", "a@b.example", "Bearer-777", "hunter22"):
        assert hidden not in text
    row = only(result)
    assert changes(row, "body") == {"/card": (REDACTED, None), "/c": (None, f'"{REDACTED}"')}
    assert row.record
    assert json.loads(row.record["body"]) == {"card": REDACTED, "customer": {"email": REDACTED}, "n": 1}


def test_a_body_whose_masked_fields_cannot_be_found_is_withheld(
    topics: Topics, session: SparkSession, tmp_path: Path
) -> None:
    produced(topics, b"card=4111")
    new = definition(topics, STATIC, masking={"fields": ["card"]})
    row = only(previewed(session, tmp_path, definition(topics), new))
    assert row.before
    assert row.before.event
    assert (row.before.event["body"], row.before.event["note"]) == (None, "withheld")


def test_a_huge_record_is_compared_and_shown_in_part(topics: Topics, session: SparkSession, tmp_path: Path) -> None:
    topics.configure(topics.source, {"max.message.bytes": "10000000"})
    produced(topics, b"x" * 5_000_000, b"small")
    replaced = {"type": "search_replace", "search_pattern": "x$", "replace_string": "y"}
    result = previewed(session, tmp_path, definition(topics), definition(topics, replaced))
    row = only(result)
    assert (result.records, row.kinds) == (2, [DifferenceKind.BODY])
    assert row.after
    assert row.after.event
    assert (row.after.event["bytes"], row.after.event["note"]) == (5_000_000, "truncated")
    assert len(result.model_dump_json()) < 1_000_000


def test_values_that_are_too_long_to_be_kept_are_read_again(
    topics: Topics, session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    produced(topics, b"a long one", b"", b"short")
    both = definition(topics), definition(topics, STATIC)
    kept = previewed(session, tmp_path, *both)
    monkeypatch.setattr(reading, "MOST_KEPT", 6)
    assert previewed(session, tmp_path, *both) == kept
    assert [row.record["body"] for row in kept.differences if row.record] == ["a long one", "", "short"]


def test_partitions_may_be_many(topics: Topics, session: SparkSession, tmp_path: Path) -> None:
    topics.add_partitions(topics.source, MANY)
    producer = Producer({"bootstrap.servers": topics.servers})
    for number in range(2 * MANY):
        producer.produce(topics.source, b"x", partition=number % MANY)
    assert producer.flush(60) == 0
    new = definition(topics, FILTER | {"regex": "."})
    result = previewed(session, tmp_path, definition(topics), new, selection={"last": MANY})
    assert (result.records, result.differing, len(result.ranges)) == (MANY, MANY, MANY)
    assert len({(row.partition, row.offset) for row in result.differences}) == min(MANY, MOST_DIFFERENCES)


def test_no_records_are_a_result(topics: Topics, session: SparkSession, tmp_path: Path) -> None:
    result = previewed(session, tmp_path, definition(topics), definition(topics, FILTER))
    assert (result.records, result.ranges, result.differences) == (0, [], [])


def test_bounds_are_kept_and_said(
    topics: Topics, session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics.produce(400, size=1000)
    monkeypatch.setattr(reading, "MOST_BYTES", 50_000)
    result = previewed(session, tmp_path, definition(topics), definition(topics), selection={"since": 3600})
    assert 40 <= result.records <= 50
    assert "400 records were selected" in result.notes[0]


def test_the_last_records_are_found_behind_gaps(topics: Topics, session: SparkSession, tmp_path: Path) -> None:
    producer = Producer({"bootstrap.servers": topics.servers, "transactional.id": topics.name})
    producer.init_transactions(30)
    for number in range(20):
        producer.begin_transaction()
        producer.produce(topics.source, b"%d" % number, partition=0)
        producer.commit_transaction(30) if number % 2 else producer.abort_transaction(30)
    topics.wait_committed(topics.source)
    result = previewed(session, tmp_path, definition(topics), definition(topics), selection={"last": 8})
    assert result.records == 8
    result = previewed(session, tmp_path, definition(topics), definition(topics), selection={"last": 11})
    assert result.records == 10


def test_a_range_that_has_expired_in_part_is_said(topics: Topics, session: SparkSession, tmp_path: Path) -> None:
    topics.produce(40)
    topics.trim(0, 4)
    wanted = {"topic": topics.source, "partition": 0, "start": 2, "end": 6}
    same = definition(topics), definition(topics)
    result = previewed(session, tmp_path, *same, selection={"ranges": [wanted]})
    assert (result.records, result.ranges[0].start) == (2, 4)
    assert "2 offsets from 2 on have expired" in result.notes[0]
    gone = wanted | {"end": 4}
    result = previewed(session, tmp_path, *same, selection={"ranges": [gone]})
    assert (result.records, len(result.notes)) == (0, 1)
    with pytest.raises(Refused, match="does not read"):
        previewed(session, tmp_path, *same, selection={"ranges": [wanted | {"partition": 77}]})


def test_a_sample_is_the_same_records_each_time(topics: Topics, session: SparkSession, tmp_path: Path) -> None:
    topics.produce(1000)
    new = definition(topics, STATIC)
    selection = {"since": 3600, "sample": 0.1}
    once, again = (previewed(session, tmp_path, definition(topics), new, selection=selection) for _ in range(2))
    assert 50 < once.records < 200
    assert once.differences == again.differences


def test_a_source_that_is_pushed_to_is_refused_in_words(session: SparkSession, tmp_path: Path, topics: Topics) -> None:
    pushed = definition(topics)
    pushed["sources"] = {"shop": {"type": "http", "port": 18080}}
    with pytest.raises(Refused, match="cannot be read beside its pipeline"):
        previewed(session, tmp_path, pushed, pushed)


def test_brokers_that_the_pipeline_may_not_reach_are_not_asked(
    topics: Topics, session: SparkSession, tmp_path: Path
) -> None:
    with pytest.raises(Refused, match="pipelines do not reach"):
        previewed(session, tmp_path, definition(topics), definition(topics), reach={})
