"""Positions on another cluster: from a mirror's own pairs or by time, proven by the records, never guessed."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.migration import evidence
from pipelines.domain.migration.specs import ClusterSpec
from pipelines.domain.positions import cluster_move
from pipelines.domain.positions.cluster_move import By, ClusterMove, PartitionTranslation, Seen
from pipelines.domain.positions.offset_syncs import NotASync, OffsetSync, decode, pairs
from pipelines.domain.positions.translation import (
    Behind,
    Copy,
    Found,
    Impossible,
    Stand,
    by_given,
    by_mapping,
    by_timestamp,
    expected,
    reported,
)
from tests.factories import definition


def sync(topic: str, partition: int, upstream: int, downstream: int) -> tuple[bytes, bytes]:
    """A record as org.apache.kafka.connect.mirror.OffsetSync writes it: STRING and INT32, INT64 and INT64."""
    name = topic.encode()
    return struct.pack(">h", len(name)) + name + struct.pack(">i", partition), struct.pack(">qq", upstream, downstream)


# offset syncs


def test_a_sync_is_read_from_the_bytes_that_the_mirror_writes() -> None:
    key = bytes.fromhex("0006 6f7264657273 00000003".replace(" ", ""))
    value = bytes.fromhex("00000000000004d2 0000000000000064".replace(" ", ""))
    assert decode(key, value) == OffsetSync("orders", 3, 1234, 100)


@given(
    st.text("abc.-_ž", min_size=1, max_size=40),
    st.integers(0, 2**31 - 1),
    st.integers(0, 2**63 - 1),
    st.integers(0, 2**63 - 1),
)
def test_every_sync_is_read_back(topic: str, partition: int, upstream: int, downstream: int) -> None:
    assert decode(*sync(topic, partition, upstream, downstream)) == (topic, partition, upstream, downstream)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"\0" * 16),
        (b"", b"\0" * 16),
        (sync("t", 0, 1, 1)[0], None),
        (sync("t", 0, 1, 1)[0], b"\0" * 15),
        (sync("t", 0, 1, 1)[0], b"\0" * 17),
        (sync("t", 0, 1, 1)[0] + b"\0", b"\0" * 16),
        (sync("t", -1, 1, 1)[0], b"\0" * 16),
        (struct.pack(">h", -1) + struct.pack(">i", 0), b"\0" * 16),
        (struct.pack(">h", 1) + b"\xff" + struct.pack(">i", 0), b"\0" * 16),
        sync("t", 0, -1, 1),
        sync("t", 0, 1, -1001),
    ],
)
def test_what_is_no_sync_is_refused(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(NotASync):
        decode(key, value)


def test_a_mirror_that_began_anew_leaves_only_what_it_wrote_since() -> None:
    told_by = [(0, 0), (100, 90), (200, 190), (120, 300), (220, 400)]
    syncs = [OffsetSync("t", 0, *pair) for pair in told_by]
    assert pairs([*syncs, OffsetSync("t", 1, 5, 7)]) == {
        TopicPartition("t", 0): [(0, 0), (100, 90), (120, 300), (220, 400)],
        TopicPartition("t", 1): [(5, 7)],
    }


@pytest.mark.parametrize(("position", "by_pairs"), [(100, True), (150, True), (200, True), (201, False), (99, False)])
def test_pairs_alone_say_only_what_lies_on_or_evenly_between_them(position: int, by_pairs: bool) -> None:
    assert reported([(100, 90), (200, 190)], position) is by_pairs


def test_uneven_pairs_say_nothing_of_what_lies_between() -> None:
    assert not reported([(100, 90), (200, 191)], 150)


# by mapping


def record(number: int, offset: int, *, time: int | None = None, appended: bool = False) -> Seen:
    return Seen(offset, number if time is None else time, f"record {number}", appended)


def log(numbers: range, first: int, **more: Any) -> list[Seen]:
    return [record(number, first + place, **more) for place, number in enumerate(numbers)]


def at(position: int, records: list[Seen], **more: Any) -> Stand:
    before = [each for each in records if each.offset < position][-32:]
    ahead = [each for each in records if each.offset >= position]
    return Stand(position, records[0].offset, records[-1].offset + 1, before, ahead, **more)


def copy(records: list[Seen]) -> Copy:
    return Copy(records[0].offset, records[-1].offset + 1, records)


def test_behind_the_last_pair_the_records_prove_where_it_goes_on() -> None:
    found = by_mapping(at(140, log(range(200), 0)), copy(log(range(200), 1000)), [(100, 1100)])
    assert isinstance(found, Found)
    assert (found.new, found.exact, found.skip, found.replay) == (1140, True, 0, 0)
    assert found.evidence["proof"] == "records"
    assert (found.evidence["pair"], found.evidence["same_as"]) == ([100, 1100], 140)


@given(
    kept=st.lists(st.booleans(), min_size=1, max_size=120),
    shift=st.integers(0, 50),
    holes=st.sets(st.integers(0, 119)),
    position=st.integers(0, 120),
    synced=st.sets(st.integers(0, 119), max_size=6),
    ends=st.integers(0, 120),
    other=st.booleans(),
)
def test_a_mapping_is_exact_or_says_why_not(
    kept: list[bool], shift: int, holes: set[int], position: int, synced: set[int], ends: int, other: bool
) -> None:
    """Whatever a mirror leaves out, doubles or has not brought, no record is skipped or repeated by a translation."""
    old = [record(number, number) for number, there in enumerate(kept) if there]
    position = min(position, len(kept))
    new, offset = [], shift
    for each in old[:ends]:
        offset += each.offset in holes
        new.append(each._replace(offset=offset, digest=f"other {offset}" if other else each.digest))
        offset += 1
    known = [(a.offset, b.offset) for a, b in zip(old, new, strict=False) if a.offset in synced]
    stand = Stand(position, 0, len(kept), [each for each in old if each.offset < position][-32:])
    found = by_mapping(stand, Copy(new[0].offset if new else 0, offset if new else 0, new), known)
    if isinstance(found, Found) and found.evidence.get("proof") == "records":
        unread = [each for each in new if each.offset >= found.new]
        already = [each for each in new if each.offset < found.new]
        assert all(each.timestamp >= position for each in unread)
        assert all(each.timestamp < position for each in already)
        assert not other
    assert isinstance(found, Found | Behind | Impossible)


def test_a_mirror_that_is_behind_is_waited_for() -> None:
    found = by_mapping(at(140, log(range(200), 0)), copy(log(range(120), 1000)), [(100, 1100)])
    assert isinstance(found, Behind)
    assert found.records == 20


def test_a_mirror_that_has_brought_all_that_was_read_is_not_waited_for() -> None:
    found = by_mapping(at(140, log(range(200), 0)), copy(log(range(140), 1000)), [(100, 1100)])
    assert isinstance(found, Found)
    assert (found.new, found.exact) == (1140, True)


def test_records_that_are_found_at_several_places_but_the_expected_one_prove_none() -> None:
    there = Copy(1090, 1200, [record(5, 1100), record(6, 1101), record(5, 1120), record(7, 1150)])
    found = by_mapping(Stand(140, 139, 200, [record(5, 139)]), there, [(100, 1100)])
    assert isinstance(found, Impossible)
    assert found.code == "SYNC_DISAGREES"
    assert "end at 1101, 1121 on the new cluster" in found.reason


@pytest.mark.parametrize(
    ("stand", "there", "known", "code"),
    [
        (at(140, log(range(200), 0)), copy(log(range(200), 1000)), [], "NO_SYNC"),
        (at(140, log(range(200), 0)), copy(log(range(200), 1000)), [(150, 1150)], "NO_SYNC"),
        (at(140, log(range(200), 0)), copy(log(range(300, 500), 1000)), [(100, 1100)], "RECORDS_DIFFER"),
        (at(140, log(range(200), 0)), copy(log(range(200), 1003)), [(140, 1140)], "SYNC_DISAGREES"),
        (at(140, log(range(200), 0)), copy(log(range(150, 200), 1150)), [(100, 1100)], "BELOW_LOG_START"),
        (Stand(140, 140, 200), copy(log(range(200), 1000)), [(100, 1100)], "LAST_RECORD_GONE"),
        (Stand(0, 0, 10), copy(log(range(5, 10), 5)), [], "BELOW_LOG_START"),
    ],
    ids=["no sync", "too late", "other records", "shifted", "retention there", "retention here", "beginning gone"],
)
def test_what_nobody_can_prove_is_told_with_what_to_do(
    stand: Stand, there: Copy, known: list[tuple[int, int]], code: str
) -> None:
    found = by_mapping(stand, there, known)
    assert isinstance(found, Impossible)
    assert found.code == code
    assert found.reason
    assert "by: given" in found.suggestion


def test_a_pair_of_the_very_record_needs_no_other_proof() -> None:
    found = by_mapping(Stand(140, 140, 200), copy(log(range(140, 200), 1140)), [(140, 1140)])
    assert isinstance(found, Found)
    assert (found.new, found.exact, found.evidence["proof"]) == (1140, True, "pairs")


def test_records_that_are_all_alike_are_told_apart_by_the_pair() -> None:
    same = [Seen(offset, 5, "x") for offset in range(50)]
    found = by_mapping(at(20, same), Copy(0, 50, same), [(0, 0)])
    assert isinstance(found, Found)
    assert found.new == 20


def test_where_nothing_was_read_it_begins_at_the_beginning() -> None:
    found = by_mapping(Stand(0, 0, 0), Copy(0, 0), [])
    assert isinstance(found, Found)
    assert (found.new, found.exact) == (0, True)


def test_the_time_of_a_broker_is_no_part_of_a_record() -> None:
    there = copy(log(range(200), 1000, time=7, appended=True))
    found = by_mapping(at(140, log(range(200), 0)), there, [(100, 1100)])
    assert isinstance(found, Found)
    assert found.new == 1140


# by timestamp


def timed(times: list[int], first: int) -> list[Seen]:
    return [Seen(first + place, time, f"record {place}") for place, time in enumerate(times)]


def by_time(times: list[int], position: int, there: list[Seen], *, most: int = 100) -> Found | Behind | Impossible:
    old = timed(times, 0)
    stand = at(position, old)
    time = stand.tail[-1].timestamp if stand.tail else 0
    first_old = next((each.offset for each in old if each.timestamp >= time), 0)
    first = next((each.offset for each in there if each.timestamp >= time), None)
    start = there[0].offset if there else 0
    end = there[-1].offset + 1 if there else 0
    seen = [each for each in there if first is not None and each.offset >= first]
    same = [each for each in old if first_old <= each.offset < position]
    return by_timestamp(stand, Copy(start, end, seen), same=same, first=first, most=most)


@given(times=st.lists(st.integers(0, 12), min_size=1, max_size=60), data=st.data())
def test_by_time_exactly_the_announced_records_come_again(times: list[int], data: st.DataObject) -> None:
    times = sorted(times)
    position = data.draw(st.integers(1, len(times)))
    shift = data.draw(st.integers(0, 100))
    found = by_time(times, position, timed(times, shift))
    assert isinstance(found, Found)
    again = [each for each in timed(times, shift) if each.offset >= found.new and each.offset - shift < position]
    assert found.replay == len(again) > 0
    assert (found.skip, found.evidence["timestamp"]) == (0, times[position - 1])
    assert found.evidence["candidates"] == times.count(times[position - 1])


@given(times=st.lists(st.integers(0, 8), min_size=2, max_size=40), data=st.data())
def test_times_that_do_not_ascend_never_lose_a_record(times: list[int], data: st.DataObject) -> None:
    position = data.draw(st.integers(1, len(times)))
    found = by_time(times, position, timed(times, 3))
    if isinstance(found, Found):
        assert found.new - 3 <= position
        assert found.replay == position - (found.new - 3)


@pytest.mark.parametrize(
    ("times", "position", "there", "code"),
    [
        ([1, 2, 9, 3, 4], 3, timed([1, 2, 9, 3, 4], 0), "TIMESTAMPS_NOT_MONOTONIC"),
        ([1, 9, 3, 4], 3, timed([1, 9, 3, 4], 0), "TIMESTAMPS_NOT_MONOTONIC"),
        ([1, 2, 3], 2, [each._replace(digest="y") for each in timed([1, 2, 3], 0)], "RECORDS_DIFFER"),
        ([1, 2, 3], 2, [each._replace(appended=True) for each in timed([1, 2, 3], 0)], "TIMESTAMPS_NOT_MONOTONIC"),
        ([5] * 60, 50, timed([5] * 60, 0), "TOO_MANY_OF_ONE_TIME"),
    ],
)
def test_a_time_that_does_not_say_what_was_read_is_no_position(
    times: list[int], position: int, there: list[Seen], code: str
) -> None:
    found = by_time(times, position, there, most=30)
    assert isinstance(found, Impossible)
    assert found.code == code


def test_by_time_a_mirror_that_is_behind_is_waited_for() -> None:
    assert by_time([1, 2, 3, 3], 4, timed([1, 2], 0)) == Behind(
        2, evidence={"timestamp": 3, "times_of": "producer", "last_read": 3}
    )
    found = by_time([1, 2, 3, 3], 4, timed([1, 2, 3], 0))
    assert isinstance(found, Behind)
    assert found.records == 1


def test_the_end_of_a_transaction_that_a_broker_finds_by_time_is_no_record() -> None:
    old, there = timed([1, 2, 3, 3, 4], 0), timed([1, 2, 3, 3, 4], 10)
    found = by_timestamp(at(4, old), Copy(10, 15, there), same=old[:4], first=10, most=9)
    assert isinstance(found, Found)
    assert (found.new, found.replay, found.evidence["same_as"]) == (12, 2, 2)


def test_records_that_are_gone_have_no_time() -> None:
    found = by_timestamp(Stand(9, 9, 12), Copy(0, 12), same=[], first=None, most=9)
    assert isinstance(found, Impossible)
    assert found.code == "LAST_RECORD_GONE"


# given


@pytest.mark.parametrize(
    ("given_at", "exact", "skip", "replay"), [(1140, True, 0, 0), (1150, False, 10, 0), (1100, False, 0, 40)]
)
def test_what_a_given_offset_skips_or_repeats_is_counted(given_at: int, exact: bool, skip: int, replay: int) -> None:
    found = by_given(at(140, log(range(200), 0)), copy(log(range(200), 1000)), given_at)
    assert isinstance(found, Found)
    assert (found.new, found.exact, found.skip, found.replay) == (given_at, exact, skip, replay)


def test_what_nobody_can_count_is_said_to_be_uncounted() -> None:
    found = by_given(at(140, log(range(200), 0)), copy(log(range(300, 400), 0)), 50)
    assert isinstance(found, Found)
    assert (found.exact, found.skip, found.replay) == (False, None, None)


@pytest.mark.parametrize(("given_at", "code"), [(None, "OFFSET_MISSING"), (5000, "OUTSIDE_LOG"), (3, "OUTSIDE_LOG")])
def test_a_given_offset_has_to_be_there(given_at: int | None, code: str) -> None:
    found = by_given(at(140, log(range(200), 0)), copy(log(range(200), 1000)), given_at)
    assert isinstance(found, Impossible)
    assert found.code == code


# the spec


TO = {"bootstrap_servers": "new:9092"}
MAPPING = {"by": "mapping", "topic": "mm2-offset-syncs.new.internal"}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"to": TO}, "exactly one"),
        ({"source": "shop", "sink": "out", "to": TO, "positions": MAPPING}, "exactly one"),
        ({"source": "shop", "to": TO}, "positions"),
        ({"sink": "out", "to": TO, "positions": MAPPING}, "a sink has none"),
        ({"sink": "out", "to": TO, "topics": {"a": "b"}}, "to.topic"),
        ({"source": "shop", "to": {}, "positions": MAPPING}, "bootstrap_servers"),
        ({"source": "shop", "to": {**TO, "interceptors": []}, "positions": MAPPING}, "interceptors"),
        ({"source": "shop", "to": TO, "positions": {"by": "mapping"}}, "offset syncs"),
        ({"source": "shop", "to": TO, "positions": {"by": "given"}}, "offsets"),
        ({"source": "shop", "to": TO, "positions": {"by": "timestamp", "topic": "x"}}, "offset syncs"),
        ({"source": "shop", "to": TO, "positions": {"by": "given", "offsets": {"t": {"0": -1}}}}, "greater"),
        ({"source": "shop", "to": TO, "positions": MAPPING, "extra": 1}, "extra"),
    ],
)
def test_a_spec_says_what_moves_where_and_how(spec: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        ClusterSpec.model_validate(spec)


def test_the_source_gets_its_new_address_and_names_and_keeps_the_rest() -> None:
    old = definition("orders")
    topic = old.plain()["sources"]["shop"]["topics"][0]
    spec = ClusterSpec(source="shop", to=TO, topics={topic: f"old.{topic}"}, positions=MAPPING)
    data = spec.changed(old)
    assert isinstance(data, dict)
    before, after = old.plain()["sources"]["shop"], data["sources"]["shop"]
    assert after == {**before, "bootstrap_servers": "new:9092", "topics": [f"old.{topic}"]}
    assert data["sinks"] == old.plain()["sinks"]


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        (ClusterSpec(sink="nowhere", to=TO), "NOT_KAFKA"),
        (ClusterSpec(source="shop", to=TO, topics={"x": "y"}, positions=MAPPING), "TOPIC_UNKNOWN"),
    ],
)
def test_what_the_pipeline_does_not_have_cannot_move(spec: ClusterSpec, code: str) -> None:
    found = spec.changed(definition("orders"))
    assert not isinstance(found, dict)
    assert found.code == code


# the report


def row(**more: Any) -> PartitionTranslation:
    fields = {
        "source": "shop",
        "channel": "main",
        "old_topic": "in",
        "topic": "old.in",
        "partition": 0,
        "stopped_at": 140,
        "new": 1140,
        "by": By.MAPPING,
        "exact": True,
        **more,
    }
    return PartitionTranslation(**fields)


@pytest.mark.parametrize(
    ("more", "offset", "gap", "overlap"),
    [
        ({}, 1140, 0, 0),
        ({"replay": 7}, 1140, 0, 7),
        ({"skip": 5}, 1140, 5, 0),
        ({}, 1142, 2, 0),
        ({"replay": 7}, 1138, 0, 9),
        ({}, None, None, None),
        ({"skip": None, "replay": None}, 1140, None, None),
    ],
)
def test_the_report_counts_what_lies_between_the_clusters(
    more: dict[str, Any], offset: int | None, gap: int | None, overlap: int | None
) -> None:
    started = {"source": "shop", "channel": "main", "topic": "old.in", "partition": 0, "offset": offset}
    (found,) = evidence.across([row(**more).model_dump(mode="json")], [started] if offset is not None else [])
    assert (found["stopped_at"], found["translated"], found["started_at"]) == (140, 1140, offset)
    assert (found["gap"], found["overlap"]) == (gap, overlap)


def test_what_was_translated_is_the_way_back() -> None:
    rows = [row(evidence={"same_as": 140}), row(partition=1, evidence={})]
    (back,) = cluster_move.pairs_back(rows)
    assert (back.topic, back.partition, back.pair) == ("old.in", 0, (1140, 140))
    assert expected([back.pair], 1150) == 150
    assert ClusterMove(source="shop", to={}, topics={"old.in": "in"}, cut=[back]).renamed("old.in") == "in"


def test_doubts_are_told_and_stop_nobody() -> None:
    behind = row(new=None, behind=9, exact=False)
    uncounted = row(by=By.GIVEN, exact=False, skip=None, replay=None)
    timed_by = row(by=By.TIMESTAMP, exact=False, replay=2, evidence={"times_of": "producer"})
    found = cluster_move.warnings([row(), behind, uncounted, timed_by])
    assert [each.code for each in found] == ["MIRROR_BEHIND", "NOT_COUNTED", "TIMES_OF_PRODUCERS"]
    assert not any(each.is_error for each in found)
