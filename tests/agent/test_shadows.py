"""A shadow compares two revisions on ranges that were delivered: every record, by digests, and without a trace."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from pipelines.domain.base.positions import PartitionRange
from pipelines.domain.ledger.ledger import Counts
from pipelines.domain.preview.comparing import DifferenceKind
from pipelines.domain.preview.shadowing import (
    MOST_SAMPLES,
    ShadowCounts,
    ShadowPart,
    ShadowRequest,
    beginning,
)
from tests.agent.harness import REACH
from tests.agent.test_previews import FILTER, STATIC, definition, produced, traces_of
from tests.agent.topics import Topics
from tests.figures import RecordProperty
from workers.agent.base.findings import Refused
from workers.agent.components.source.kafka import Builder as KafkaSource
from workers.agent.evaluation.shadow import shadow

TENTH = {"type": "search_replace", "search_pattern": r"^(\d{9})0 ", "replace_string": "$1X "}
NOW = {"type": "timestamp", "header_name": "at"}
RANDOM = {"type": "uuid", "random": True}
VARIOUS = "tests.agent.interceptors:Various"
FIRST = "sources.shop.interceptors[0]"


def ranges(topics: Topics) -> list[dict[str, Any]]:
    return [
        {"topic": key.topic, "partition": key.partition, "start": 0, "end": end}
        for key, end in topics.ends(topics.source).items()
    ]


def request(topics: Topics, old: dict[str, Any], new: dict[str, Any], **more: Any) -> ShadowRequest:
    fields = {
        "base": {"definition": old},
        "candidate": {"definition": new},
        "source": "shop",
        "channel": "lake",
        "ranges": ranges(topics),
        "spark": {},
        "seconds": 60,
        "reach": REACH.model_dump(mode="json"),
    }
    return ShadowRequest.model_validate(fields | more)


def shadowed(
    session: SparkSession, tmp: Path, topics: Topics, old: dict[str, Any], new: dict[str, Any], **more: Any
) -> ShadowPart:
    return shadow(session, request(topics, old, new, **more), tmp)


def figures(part: ShadowPart) -> tuple[int, int, int, int]:
    counts = part.counts
    return counts.identical, counts.different, counts.only_old, counts.only_new


def test_every_tenth_of_100_000_records_is_changed_and_no_other(
    topics: Topics, session: SparkSession, tmp_path: Path, record_property: RecordProperty
) -> None:
    topics.produce(100_000)
    old = definition(topics, NOW)
    began = time.monotonic()
    part = shadowed(session, tmp_path, topics, old, definition(topics, NOW, TENTH))
    record_property("seconds", round(time.monotonic() - began, 1))
    assert part.counts == ShadowCounts(
        records=100_000, identical=90_000, different=10_000, kinds={DifferenceKind.BODY: 10_000}
    )
    assert (len(part.samples), part.not_compared.headers) == (20, ["at"])
    assert {tuple(row.kinds) for row in part.samples} == {(DifferenceKind.BODY,)}
    sides = [(row.before, row.after) for row in part.samples]
    assert all(one and other and one.event != other.event for one, other in sides)
    assert part.old == Counts(read=100_000, delivered=100_000)
    equal = shadowed(session, tmp_path, topics, old, definition(topics, FILTER | {"regex": "never"}, NOW))
    assert figures(equal) == (100_000, 0, 0, 0)
    assert not list(tmp_path.iterdir())


def test_what_one_revision_alone_delivers_is_told_apart(topics: Topics, session: SparkSession, tmp_path: Path) -> None:
    produced(topics, b"DEBUG a", b"INFO b", b"DEBUG c")
    all_of_them, some = definition(topics), definition(topics, FILTER)
    part = shadowed(session, tmp_path, topics, all_of_them, some)
    assert figures(part) == (1, 0, 2, 0)
    assert part.counts.kinds == {DifferenceKind.NEWLY_FILTERED: 2}
    back = shadowed(session, tmp_path, topics, some, all_of_them)
    assert figures(back) == (1, 0, 0, 2)
    assert back.counts.kinds == {DifferenceKind.NO_LONGER_FILTERED: 2}
    assert back.old == Counts(read=3, delivered=1, filtered=2, components={FIRST: {"filtered": 2}})


def test_what_neither_revision_repeats_is_not_compared(topics: Topics, session: SparkSession, tmp_path: Path) -> None:
    produced(topics, b"a", b"b")
    both = shadowed(session, tmp_path, topics, definition(topics, RANDOM, NOW), definition(topics, NOW, RANDOM))
    assert (figures(both), both.not_compared.headers) == ((2, 0, 0, 0), ["at", "id"])
    clock = definition(topics, {"type": "sql", "set": {"key": "CAST(now() AS STRING)"}})
    by_clock = shadowed(session, tmp_path, topics, clock, clock)
    assert (figures(by_clock), by_clock.not_compared.key) == ((2, 0, 0, 0), True)


def test_what_one_revision_alone_does_not_repeat_differs(topics: Topics, session: SparkSession, tmp_path: Path) -> None:
    produced(topics, b"a", b"b")
    fixed = definition(topics, {"type": "static", "key": "at", "value": "noon"})
    part = shadowed(session, tmp_path, topics, fixed, definition(topics, NOW))
    assert (figures(part), part.not_compared.headers) == ((0, 2, 0, 0), [])
    added = shadowed(session, tmp_path, topics, definition(topics, NOW), definition(topics, NOW, STATIC))
    assert (figures(added), added.counts.kinds) == ((0, 2, 0, 0), {DifferenceKind.HEADERS: 2})


def test_samples_are_compared_by_the_rule_by_which_events_are_counted(
    topics: Topics, session: SparkSession, tmp_path: Path
) -> None:
    produced(topics, b"a", b"b")
    fixed = definition(topics, {"type": "static", "key": "at", "value": "noon"})
    part = shadowed(session, tmp_path, topics, definition(topics, NOW), fixed)
    assert (figures(part), part.not_compared.headers) == ((0, 2, 0, 0), [])
    assert [[(each.name, each.after) for each in row.headers] for row in part.samples] == [[("at", "noon")]] * 2


@pytest.fixture
def both(topics: Topics) -> dict[str, Any]:
    """The old revision of a source with two topics: a record is in each of them."""
    produced(topics, b"a")
    producer = Producer({"bootstrap.servers": topics.servers})
    producer.produce(topics.sink, b"b", partition=0)
    assert producer.flush(60) == 0
    return definition(topics, source={"topics": [topics.source, topics.sink]})


def first_of(*names: str) -> list[dict[str, Any]]:
    return [{"topic": name, "partition": 0, "start": 0, "end": 1} for name in names]


def test_records_of_a_topic_that_the_new_revision_does_not_read_are_gone(
    topics: Topics, session: SparkSession, tmp_path: Path, both: dict[str, Any]
) -> None:
    wanted = first_of(topics.source, topics.sink)
    part = shadowed(session, tmp_path, topics, both, definition(topics), ranges=wanted)
    assert (figures(part), part.counts.kinds) == ((1, 0, 1, 0), {DifferenceKind.GONE: 1})
    (row,) = part.samples
    assert (row.topic, row.kinds, row.after) == (topics.sink, [DifferenceKind.GONE], None)
    assert row.before
    assert row.before.event
    assert row.before.event["body"] == "b"


def test_a_new_revision_that_reads_none_of_the_ranges_makes_nothing_of_them(
    topics: Topics, session: SparkSession, tmp_path: Path, both: dict[str, Any]
) -> None:
    python = {"type": "python", "class": VARIOUS}
    for more in ((), (python,)):
        part = shadowed(
            session,
            tmp_path,
            topics,
            both,
            definition(topics, *more),
            ranges=first_of(topics.sink),
            interceptors=[VARIOUS],
        )
        assert (figures(part), part.counts.kinds) == ((0, 0, 1, 0), {DifferenceKind.GONE: 1})
        assert part.old == Counts(read=1, delivered=1)
        assert [(row.kinds, row.after) for row in part.samples] == [([DifferenceKind.GONE], None)]


def test_the_ranges_are_asked_for_once_and_sampled_events_are_read_once_by_each_side(
    topics: Topics, session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics.produce(40)
    read, log_ranges = KafkaSource.records, KafkaSource.log_ranges
    asked: list[str] = []

    def reading(self: KafkaSource, *args: Any) -> Any:
        asked.append("records")
        return read(self, *args)

    def ranging(self: KafkaSource) -> Any:
        asked.append("log")
        return log_ranges(self)

    monkeypatch.setattr(KafkaSource, "records", reading)
    monkeypatch.setattr(KafkaSource, "log_ranges", ranging)
    part = shadowed(session, tmp_path, topics, definition(topics), definition(topics, STATIC))
    assert len(part.samples) == MOST_SAMPLES
    assert (asked.count("log"), asked.count("records")) == (2, 4)


def test_headers_are_compared_by_name(topics: Topics, session: SparkSession, tmp_path: Path) -> None:
    produced(topics, b"a", headers={"z": "1"})
    one = definition(topics, STATIC, STATIC | {"key": "b"})
    other = definition(topics, STATIC | {"key": "b"}, STATIC)
    assert figures(shadowed(session, tmp_path, topics, one, other)) == (1, 0, 0, 0)


def test_copies_of_a_record_are_events_of_their_own(topics: Topics, session: SparkSession, tmp_path: Path) -> None:
    produced(topics, b"split", b"drop", b"x")
    splits = {"type": "python", "class": VARIOUS}
    part = shadowed(session, tmp_path, topics, definition(topics), definition(topics, splits), interceptors=[VARIOUS])
    assert figures(part) == (1, 1, 1, 2), "x; the first of three; the dropped one; two more"
    assert part.counts.records == 3
    assert part.counts.kinds[DifferenceKind.ADDED] == 2


def test_the_ranges_are_read_and_nothing_else(topics: Topics, session: SparkSession, tmp_path: Path) -> None:
    topics.produce(40)
    part = shadowed(session, tmp_path, topics, definition(topics), definition(topics), ranges=ranges(topics)[:1])
    assert part.counts.records == ranges(topics)[0]["end"]
    first = [PartitionRange(topic="t", partition=number, start=10, end=15) for number in range(3)]
    assert [(each.partition, each.end) for each in beginning(first, 7)] == [(0, 15), (1, 12)]


def test_nothing_is_committed_and_nothing_written(topics: Topics, session: SparkSession, tmp_path: Path) -> None:
    topics.produce(40)
    before = traces_of(topics)
    assert shadowed(session, tmp_path, topics, definition(topics), definition(topics, FILTER)).counts.records == 40
    assert traces_of(topics) == before
    assert not list(tmp_path.iterdir())


def test_what_retention_has_taken_is_refused(topics: Topics, session: SparkSession, tmp_path: Path) -> None:
    topics.produce(40)
    wanted = ranges(topics)
    topics.trim(wanted[0]["partition"], 2)
    with pytest.raises(Refused) as refused:
        shadowed(session, tmp_path, topics, definition(topics), definition(topics), ranges=wanted)
    (finding,) = refused.value.findings
    assert (finding.path, finding.code) == ("sources.shop", "RECORD_EXPIRED")
