"""Records of real topics: what is shown of them, and every offset without one explained."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import psutil
import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from pipelines.domain.definitions.document.spec import Masking
from pipelines.domain.peek.protocol import HoleKind, PeekRequest, PeekResult
from pipelines.domain.peek.question import PeekQuestion
from pipelines.domain.preview.protocol import Side
from tests.agent.harness import REACH
from tests.agent.topics import COMPACTED, Topics
from tests.waiting import wait_for
from workers.adapters.previewers import ChildPreviews
from workers.agent.base.findings import Refused
from workers.agent.evaluation.peek import peek
from workers.agent.evaluation.sample import sample
from workers.agent.kafka import peeking
from workers.agent.kafka.admin import KafkaCluster
from workers.ports import PreviewInterrupted

COUNT = 100
PARTITION = 1


def definition(topics: Topics, **more: Any) -> dict[str, Any]:
    return {
        "api_version": "headgate/v1",
        "name": "peeked",
        "sources": {
            "shop": {
                "type": "kafka",
                "bootstrap_servers": topics.servers,
                "topics": [topics.source],
                "group_id": topics.name,
                "start_from": "earliest",
            }
        },
        "channels": {"main": {"type": "direct"}},
        "sinks": {
            "lake": {
                "type": "kafka",
                "channel": "main",
                "bootstrap_servers": topics.servers,
                "topic": topics.sink,
            }
        },
        **more,
    }


class Peeker:
    """Asks for records of one pipeline's topics, as a previewer is asked."""

    def __init__(self, topics: Topics, tmp: Path) -> None:
        self.topics, self.tmp = topics, tmp
        self.definition = definition(topics)
        self.masking: dict[str, Any] | None = None
        self.masked: list[str] = []

    def request(self, kind: Literal["peek", "sample"], of: str, **question: Any) -> PeekRequest:
        return PeekRequest(
            kind=kind,
            side=Side(definition=self.definition),
            question=PeekQuestion(of=of, **question),
            masking=[Masking.model_validate(self.masking)] if self.masking else [],
            masked=self.masked,
            spark={},
            reach=REACH.model_dump(mode="json"),
            seconds=30,
        )

    def __call__(self, of: str = "sources.shop", **question: Any) -> PeekResult:
        return peek(self.request("peek", of, **question), self.tmp)

    def offsets(self, *args: Any, **question: Any) -> list[int]:
        return [each.offset for each in self(*args, **question).records]


@pytest.fixture
def peeker(topics: Topics, tmp_path: Path) -> Peeker:
    return Peeker(topics, tmp_path)


def send(topics: Topics, *values: Any, topic: str = "", partition: int = PARTITION, **more: Any) -> None:
    producer = Producer({"bootstrap.servers": topics.servers, "message.max.bytes": 20_000_000})
    for value in values:
        producer.produce(topic or topics.source, value, partition=partition, **more)
    assert producer.flush(30) == 0


@pytest.fixture
def numbered(topics: Topics) -> Topics:
    """Partition 1 has the records 0 to 99, ten of them with the key k7 and so on."""
    producer = Producer({"bootstrap.servers": topics.servers})
    for number in range(COUNT):
        body = json.dumps({"n": number}).encode()
        producer.produce(topics.source, body, key=f"k{number % 10}", partition=PARTITION, headers={"nth": str(number)})
    assert producer.flush(30) == 0
    return topics


def test_the_newest_records_come_first(numbered: Topics, peeker: Peeker) -> None:
    found = peeker(limit=5)
    assert [(each.partition, each.offset) for each in found.records] == [(1, at) for at in (99, 98, 97, 96, 95)]
    first = found.records[0]
    assert first.event == {"key": "k9", "headers": [["nth", "99"]], "bytes": 9, "body": '{"n": 99}', "note": ""}
    assert abs((first.timestamp or 0) / 1000 - time.time()) < 300
    part = next(each for each in found.partitions if each.partition == PARTITION)
    assert (part.start, part.end, part.since, part.until, part.shown) == (0, 100, 95, 100, 5)
    assert found.more


def test_an_offset_and_a_time_say_where_to_start(numbered: Topics, peeker: Peeker) -> None:
    assert peeker.offsets(offset=40, partition=PARTITION, limit=3) == [40, 41, 42]
    at = peeker(offset=60, partition=PARTITION, limit=1).records[0].timestamp
    first = peeker(time=datetime.fromtimestamp((at or 0) / 1000, UTC), limit=200).records[0]
    assert first.timestamp == at
    later = peeker(time=datetime.fromtimestamp(time.time() + 60, UTC), limit=5)
    assert (later.records, later.more) == ([], False)


def test_several_partitions_are_merged_by_time_and_none_has_a_silent_gap(topics: Topics, peeker: Peeker) -> None:
    for number in range(30):
        send(topics, f"{number}", partition=number % 3, timestamp=1_700_000_000_000 + number)
    newest = peeker(limit=10)
    assert [each.event["body"] for each in newest.records] == [str(number) for number in range(29, 19, -1)]
    for part in newest.partitions:
        own = sorted(each.offset for each in newest.records if each.partition == part.partition)
        assert own == list(range(part.since, part.until))
    oldest = peeker(offset=0, limit=10)
    assert [each.event["body"] for each in oldest.records] == [str(number) for number in range(10)]
    assert oldest.more


def test_a_search_finds_keys_headers_and_text(numbered: Topics, peeker: Peeker) -> None:
    assert peeker.offsets(key="k7", limit=200) == list(range(97, 0, -10))
    assert peeker.offsets(contains='"n": 42}', limit=5) == [42]
    by_header = peeker(contains="55", offset=0, partition=PARTITION, limit=5)
    assert [each.offset for each in by_header.records] == [55]
    assert (by_header.searched, by_header.more) == (COUNT, False)
    assert peeker(contains="nowhere").records == []


def test_a_search_ends_at_its_bound_and_says_so(
    numbered: Topics, peeker: Peeker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peeking, "MOST_SEARCHED", 50)
    found = peeker(contains='"n": 3}', partition=PARTITION)
    assert found.records == []
    assert found.notes == ["The search ended early: 50 offsets were searched."]
    (part,) = found.partitions
    assert (part.since, part.until, found.more) == (50, 100, True)
    monkeypatch.setattr(peeking, "MOST_BYTES", 200)
    onwards = peeker(offset=0, partition=PARTITION, limit=200)
    assert onwards.notes == ["The search ended early: 0 MiB were read."]
    (part,) = onwards.partitions
    assert [each.offset for each in onwards.records] == list(range(part.since, part.until))


def test_no_group_is_joined_and_nothing_committed(numbered: Topics, peeker: Peeker) -> None:
    peeker(limit=5)
    cluster = KafkaCluster.of(numbered.servers, {}, None)
    for group in (numbered.name, "headgate.look"):
        assert cluster.commits(group, cluster.partitions([numbered.source], "", "READ")) == {}


def test_expired_records_and_offsets_beyond_the_end_are_said(numbered: Topics, peeker: Peeker) -> None:
    numbered.trim(PARTITION, 30)
    found = peeker(offset=10, partition=PARTITION, limit=2)
    assert [each.offset for each in found.records] == [30, 31]
    assert found.notes == ["Partition 1: the log begins at offset 30; 20 offsets have expired."]
    beyond = peeker(offset=500, partition=PARTITION)
    assert beyond.notes == ["Partition 1: the log ends at offset 100; there is no record at 500 yet."]
    with pytest.raises(Refused, match="there is no 9"):
        peeker(partition=9)


def test_aborted_transactions_and_their_markers_are_explained(topics: Topics, peeker: Peeker) -> None:
    producer = Producer({"bootstrap.servers": topics.servers, "transactional.id": topics.name})
    producer.init_transactions(30)
    for commit, values in ((True, "ab"), (False, "cde"), (True, "f")):
        producer.begin_transaction()
        for value in values:
            producer.produce(topics.source, value, partition=PARTITION)
        producer.flush(30)
        producer.commit_transaction(30) if commit else producer.abort_transaction(30)
    topics.wait_committed(topics.source)
    found = peeker(partition=PARTITION, limit=10)
    assert [each.event["body"] for each in found.records] == ["f", "b", "a"]
    (part,) = found.partitions
    holes = [(each.start, each.end, each.kind) for each in part.holes]
    assert holes == [
        (2, 3, HoleKind.MARKERS),
        (3, 6, HoleKind.ABORTED),
        (6, 7, HoleKind.MARKERS),
        (8, 9, HoleKind.MARKERS),
    ]
    assert part.missing == 6
    producer.begin_transaction()
    producer.produce(topics.source, "open", partition=PARTITION)
    producer.flush(30)
    (part,) = peeker(partition=PARTITION, limit=10).partitions
    assert (part.end, part.open) == (9, 1)
    producer.abort_transaction(30)


def test_compacted_holes_are_explained(topics: Topics, peeker: Peeker) -> None:
    topic = f"{topics.name}-compacted"
    topics.create(topic, 1, COMPACTED)
    peeker.definition["sources"]["shop"]["topics"] = [topic]
    for number in range(20):
        send(topics, str(number), topic=topic, partition=0, key=f"k{number % 2}")
    send(topics, None, topic=topic, partition=0, key="gone")

    def compacted() -> bool:
        send(topics, "last", topic=topic, partition=0, key="last")
        return any(each.missing for each in peeker(limit=200).partitions)

    wait_for(compacted, "the log to be compacted", timeout=90)
    found = peeker(limit=200)
    assert found.compacted
    (part,) = found.partitions
    assert {each.kind for each in part.holes} == {HoleKind.COMPACTED}
    assert len(found.records) + part.missing == part.until - part.since
    (tombstone,) = [each for each in found.records if each.tombstone]
    assert (tombstone.event["key"], tombstone.event["body"]) == ("gone", None)


def test_large_and_binary_records_are_cut_and_encoded(topics: Topics, peeker: Peeker) -> None:
    large = b"x" * 800_000 + b"needle"
    send(topics, large, b"\x00\xff\xfe", b"", key=b"\xff\x00")
    empty, binary, cut = peeker(partition=PARTITION).records
    assert (empty.tombstone, empty.event["bytes"]) == (False, 0)
    assert (binary.event["key"], binary.event["body_base64"]) == ("base64:/wA=", "AP/+")
    assert (cut.event["bytes"], cut.event["note"], len(cut.event["body"])) == (len(large), "truncated", 16 * 1024)
    assert peeker.offsets(contains="needle") == [0]


def test_masked_fields_headers_and_secrets_are_not_shown_nor_found(topics: Topics, peeker: Peeker) -> None:
    peeker.masking = {"fields": ["card"], "headers": ["authorization"]}
    peeker.masked = ["hunter22"]
    body = json.dumps({"card": "4111-1111", "note": "paid with 4111-1111", "p": "hunter22"})
    send(topics, body, headers={"authorization": "Bearer abc"}, key="4111-1111")
    send(topics, "no JSON: 4111-1111")
    withheld, shown = peeker(partition=PARTITION).records
    assert (withheld.event["body"], withheld.event["note"]) == (None, "withheld")
    text = json.dumps(shown.event)
    assert "paid with" in text
    nothing = _told(peeker(contains="in no record"))
    assert nothing.records == []
    for secret in ("4111-1111", "hunter22", "abc"):
        assert secret not in text
        assert _told(peeker(contains=secret)) == nothing
    assert _told(peeker(key="4111-1111")) == nothing


def _told(found: PeekResult) -> PeekResult:
    """All that a peek says, but how long it took."""
    return found.model_copy(update={"seconds": 0.0})


def test_a_record_of_the_sink_says_what_it_was_made_of(topics: Topics, peeker: Peeker) -> None:
    header = f"peeked/shop/main/{topics.source}/2/41+1"
    send(topics, "a", topic=topics.sink, headers={"headgate.origin": header})
    send(topics, "b", topic=topics.sink, headers={"headgate.origin": "nonsense/1"})
    foreign, own = peeker("sinks.lake").records
    assert foreign.origin is None
    assert own.origin is not None
    assert (own.origin.pipeline, own.origin.copy_number) == ("peeked", 1)
    assert str(own.origin.place) == f"{topics.source}/2:41"


def test_a_dead_letter_says_what_it_was_made_of_and_why(topics: Topics, peeker: Peeker) -> None:
    peeker.definition["errors"] = {"dead_letter": {"type": "kafka", "topic": topics.sink}}
    said: Mapping[str, str] = {
        "pipeline": "peeked",
        "source": "shop",
        "channel": "main",
        "component": "sinks.lake",
        "cause": "too large",
        "origin": f"{topics.source}/0/9",
    }
    send(topics, "x", topic=topics.sink, headers={f"headgate.dead.{name}": value for name, value in said.items()})
    (letter,) = peeker("errors.dead_letter").records
    assert (letter.component, letter.cause, str(letter.origin and letter.origin.place)) == (
        "sinks.lake",
        "too large",
        f"{topics.source}/0:9",
    )


def test_a_topic_that_is_gone_and_a_broker_that_is_away_are_said(topics: Topics, peeker: Peeker) -> None:
    topics.delete(topics.sink)
    with pytest.raises(Refused) as refused:
        wait_for(lambda: peeker("sinks.lake") and False, "the topic to be gone")
    assert refused.value.findings[0].code == "TOPIC_MISSING"
    peeker.definition["sinks"]["lake"]["bootstrap_servers"] = "127.0.0.1:1"
    with pytest.raises(Refused) as refused:
        peeker("sinks.lake")
    assert refused.value.findings[0].code == "BROKER_UNREACHABLE"


def test_a_pattern_says_which_topics_there_are(topics: Topics, peeker: Peeker) -> None:
    source = peeker.definition["sources"]["shop"]
    del source["topics"]
    source["topics_pattern"] = f"{topics.name}-(in|out)"
    with pytest.raises(Refused, match=f"{topics.source}, {topics.sink}"):
        peeker()
    send(topics, "x", topic=topics.sink)
    assert [each.event["body"] for each in peeker(topic=topics.sink).records] == ["x"]
    with pytest.raises(Refused, match="does not use the topic"):
        peeker(topic="other")


def test_an_empty_topic_has_no_record_and_no_hole(topics: Topics, peeker: Peeker) -> None:
    found = peeker()
    assert (found.records, found.more, found.searched) == ([], False, 0)
    assert all(each.start == each.end == 0 for each in found.partitions)


FILTER = {"type": "regex_filter", "regex": "DEBUG", "exclude_events": True}


def test_a_sample_shows_what_a_component_takes_out_as_it_came_to_it(
    topics: Topics, peeker: Peeker, session: SparkSession
) -> None:
    send(topics, *(f"{number} {'DEBUG' if number % 2 else 'INFO'}" for number in range(10)))
    peeker.definition["sources"]["shop"]["interceptors"] = [
        {"type": "static", "key": "before", "value": "yes"},
        FILTER,
        {"type": "static", "key": "behind", "value": "no"},
    ]

    def sampled(of: str, limit: int = 3) -> PeekResult:
        return sample(session, peeker.request("sample", of, limit=limit), peeker.tmp)

    found = sampled("sources.shop.interceptors[1]")
    assert [each.event["body"] for each in found.records] == ["9 DEBUG", "7 DEBUG", "5 DEBUG"]
    first = found.records[0]
    assert (first.outcome, first.component) == ("filtered", "sources.shop.interceptors[1]")
    assert first.event["headers"] == [["before", "yes"]]
    assert (found.searched, found.more) == (10, True)
    assert sampled("sources.shop.interceptors[0]").records == []
    assert sampled("sources.shop.selector").records == []
    with pytest.raises(Refused, match=r"has no sources.shop.interceptors\[7\]"):
        sampled("sources.shop.interceptors[7]")


def test_an_unrouted_event_is_one_that_its_selector_takes_out(
    topics: Topics, peeker: Peeker, session: SparkSession
) -> None:
    send(topics, "a", headers={"country": "CZ"})
    send(topics, "b", headers={"country": "DE"})
    selector = {"type": "multiplexing", "header": "country", "mapping": {"CZ": ["main"]}}
    peeker.definition["sources"]["shop"]["selector"] = selector
    found = sample(session, peeker.request("sample", "sources.shop.selector"), peeker.tmp)
    assert [(each.event["body"], each.outcome) for each in found.records] == [("b", "unrouted")]


def test_a_peek_starts_no_jvm_and_a_cancelled_one_ends_its_process(peeker: Peeker, numbered: Topics) -> None:
    previews = ChildPreviews()
    try:
        answer = previews.make("orders", None, peeker.request("peek", "sources.shop", limit=2))
        assert answer.result is not None
        assert [each.offset for each in answer.result.records] == [99, 98]
        (child,) = [each for each in psutil.Process().children() if "previewer" in " ".join(each.cmdline())]
        assert not [each for each in child.children(recursive=True) if each.name() == "java"]
        peeker.definition["sources"]["shop"]["bootstrap_servers"] = "192.0.2.1:9092"
        with pytest.raises(PreviewInterrupted):
            previews.make("orders", None, peeker.request("peek", "sources.shop"), lambda: False)
        wait_for(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE, "the process to end")
    finally:
        previews.close()
