"""A shadow compares two revisions on ranges that were delivered: every record, by digests, and without a trace."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.domain.base.positions import PartitionRange
from pipelines.domain.ledger.ledger import Counts
from pipelines.domain.preview.comparing import DifferenceKind
from pipelines.domain.preview.shadowing import ShadowCounts, ShadowPart, ShadowRequest, beginning
from tests.agent.harness import REACH
from tests.agent.test_previews import FILTER, STATIC, definition, produced, traces_of
from tests.agent.topics import Topics
from tests.figures import RecordProperty
from workers.agent.base.findings import Refused
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
