"""What a decision about positions does, to the record."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.positions.plan import Goal, PartitionSurvey, Survey, Target, digest, plan
from pipelines.domain.positions.target import BadTarget, target

NOW = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


def row(partition: int = 0, channel: str = "lake", **known: Any) -> PartitionSurvey:
    fields = {"ledger": 100, "checkpoint": 100, "group": 90, "log_start": 0, "log_end": 300, **known}
    return PartitionSurvey(source="shop", channel=channel, topic="in", partition=partition, **fields)


def survey(*rows: PartitionSurvey, reads: tuple[tuple[str, ...], ...] = ()) -> Survey:
    return Survey(at=0, rows=list(rows), reads=[list(names) for names in reads])


def outcome(found: PartitionSurvey, goal: Goal, **more: Any) -> tuple[int, int, int, int]:
    (move,) = plan(survey(found), Target(goal=goal, **more)).moves
    return move.new, move.skip, move.replay, move.gone


@pytest.mark.parametrize(
    ("found", "goal", "expected"),
    [
        (row(), Goal.LEDGER, (100, 0, 0, 0)),
        (row(), Goal.GROUP, (90, 0, 10, 0)),
        (row(), Goal.EARLIEST, (0, 0, 100, 0)),
        (row(), Goal.LATEST, (300, 200, 0, 0)),
        (row(log_start=130, codes=["BELOW_LOG_START"]), Goal.LEDGER, (130, 30, 0, 30)),
        (row(log_start=130, codes=["BELOW_LOG_START"]), Goal.LATEST, (300, 200, 0, 30)),
        (row(log_end=60, codes=["BEYOND_LOG_END"]), Goal.LEDGER, (60, 0, 0, 0)),
        (row(log_end=60, codes=["BEYOND_LOG_END"]), Goal.EARLIEST, (0, 0, 60, 0)),
        (row(codes=["TOPIC_RECREATED"]), Goal.EARLIEST, (0, 0, 0, 0)),
        (row(codes=["TOPIC_RECREATED"]), Goal.UNREAD, (0, 0, 0, 0)),
        (row(codes=["TOPIC_RECREATED"]), Goal.GROUP, (90, 90, 0, 0)),
        (row(), Goal.UNREAD, (100, 0, 0, 0)),
        (row(log_start=130, codes=["BELOW_LOG_START"]), Goal.UNREAD, (130, 30, 0, 30)),
        (row(codes=["TOPIC_RECREATED"], log_end=50), Goal.LATEST, (50, 50, 0, 0)),
        (row(codes=["CLUSTER_CHANGED"], log_start=10), Goal.EARLIEST, (10, 0, 0, 0)),
        (row(ledger=None, group=None, codes=["LEDGER_LOST"]), Goal.CHECKPOINT, (100, 0, 0, 0)),
        (row(ledger=None, group=None, codes=["LEDGER_LOST"]), Goal.EARLIEST, (0, 0, 100, 0)),
        (row(ledger=None, checkpoint=60, group=90, codes=["LEDGER_LOST"]), Goal.CHECKPOINT, (60, 0, 30, 0)),
        (row(ledger=None, checkpoint=60, group=90, codes=["LEDGER_LOST"]), Goal.GROUP, (90, 30, 0, 0)),
        (row(ledger=60, group=None, codes=["LEDGER_BEHIND"]), Goal.LEDGER, (60, 0, 40, 0)),
        (row(ledger=60, group=None, codes=["LEDGER_BEHIND"]), Goal.CHECKPOINT, (100, 40, 0, 0)),
        (row(ledger=None, checkpoint=None, group=None, codes=["PARTITION_ADDED"]), Goal.LEDGER, (0, 0, 0, 0)),
    ],
)
def test_a_choice_says_what_it_skips_and_replays(
    found: PartitionSurvey, goal: Goal, expected: tuple[int, int, int, int]
) -> None:
    assert outcome(found, goal) == expected


def test_explicit_offsets_leave_the_other_partitions_where_they_are() -> None:
    made = plan(survey(row(0), row(1)), Target(goal=Goal.OFFSETS, offsets={"in": {1: 150}}))
    assert [(move.new, move.skip) for move in made.moves] == [(100, 0), (150, 50)]


def test_each_partition_may_go_on_elsewhere() -> None:
    chosen = target("offsets=in/0:250,in/1:earliest,in/2:-30m,in/3:latest", now=NOW)
    at_time = {"shop": {TopicPartition("in", 2): 40}}
    made = plan(survey(*(row(number) for number in range(5))), chosen, at_time)
    assert [(move.new, move.skip, move.replay) for move in made.moves] == [
        (250, 150, 0),
        (0, 0, 100),
        (40, 0, 60),
        (300, 200, 0),
        (100, 0, 0),
    ]
    assert (made.skip, made.replay) == (350, 160)
    assert [chosen.time_of(TopicPartition("in", number)) for number in range(3)] == [None, None, 1769859000000]
    assert Target(goal=Goal.TIMESTAMP, at=7).time_of(TopicPartition("in", 4)) == 7
    assert Target.model_validate_json(chosen.model_dump_json()) == chosen


def test_a_time_is_the_first_record_that_is_not_older_and_the_end_where_there_is_none() -> None:
    target = Target(goal=Goal.TIMESTAMP, at=5)
    made = plan(survey(row(0), row(1)), target, {"shop": {TopicPartition("in", 0): 40}})
    assert [move.new for move in made.moves] == [40, 300]
    assert len(plan(survey(row()), target).impossible) == 1


@pytest.mark.parametrize(
    ("found", "target", "reason"),
    [
        (row(), Target(goal=Goal.OFFSETS, offsets={"in": {0: 301}}), "0 to 300"),
        (row(log_start=50), Target(goal=Goal.OFFSETS, offsets={"in": {0: 49}}), "50 to 300"),
        (row(group=None), Target(goal=Goal.GROUP), "group has no position"),
        (row(group=400), Target(goal=Goal.GROUP), "400 is not in the log"),
        (row(ledger=None), Target(goal=Goal.LEDGER), "ledger has no position"),
        (row(codes=["TOPIC_RECREATED"]), Target(goal=Goal.LEDGER), "offset of the old log"),
        (row(codes=["CLUSTER_CHANGED"]), Target(goal=Goal.LEDGER), "offset of the old log"),
        (row(codes=["TOPIC_RECREATED"]), Target(goal=Goal.CHECKPOINT), "offset of the old log"),
        (row(codes=["TOPIC_RECREATED"], group_ours=True), Target(goal=Goal.GROUP), "offset of the old log"),
    ],
)
def test_what_cannot_be_read_on_from_is_no_plan(found: PartitionSurvey, target: Target, reason: str) -> None:
    made = plan(survey(found), target)
    assert made.moves == []
    assert reason in made.impossible[0].reason


def test_a_partition_that_is_gone_is_not_moved() -> None:
    made = plan(survey(row(0), row(1, log_start=None, log_end=None)), Target(goal=Goal.LEDGER))
    assert [move.partition for move in made.moves] == [0]


def test_channels_of_one_read_go_on_together_where_the_furthest_behind_does() -> None:
    rows = row(channel="lake"), row(channel="audit", ledger=70)
    made = plan(survey(*rows, reads=(("shop.lake", "shop.audit"),)), Target(goal=Goal.LEDGER))
    assert [(move.channel, move.new, move.replay) for move in made.moves] == [("lake", 70, 30), ("audit", 70, 0)]


def test_only_one_source_moves_where_one_is_named() -> None:
    made = plan(survey(row()), Target(goal=Goal.EARLIEST, source="other"))
    assert [move.new for move in made.moves] == [100]


offsets = st.integers(0, 1000)


@given(ledger=offsets, start=offsets, length=offsets, goal=st.sampled_from([Goal.LEDGER, Goal.EARLIEST, Goal.LATEST]))
def test_every_choice_is_readable_and_its_counts_add_up(ledger: int, start: int, length: int, goal: Goal) -> None:
    new, skip, replay, gone = outcome(row(ledger=ledger, log_start=start, log_end=start + length), goal)
    assert start <= new <= start + length
    assert 0 <= gone <= skip
    assert skip == 0 or replay == 0
    if ledger <= start + length:
        assert ledger + skip - replay == new


def test_the_hash_is_of_what_was_reviewed_and_of_what_it_was_made_against() -> None:
    moves = plan(survey(row()), Target(goal=Goal.LATEST)).moves
    first = digest(basis={"run": 1}, moves=moves, identities=[])
    assert first == digest(basis={"run": 1}, moves=moves, identities=[])
    assert first != digest(basis={"run": 2}, moves=moves, identities=[])
    assert first != digest(basis={"run": 1}, moves=[], identities=[])


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("earliest", Target(goal=Goal.EARLIEST)),
        (" ledger ", Target(goal=Goal.LEDGER)),
        ("timestamp=-30m", Target(goal=Goal.TIMESTAMP, at=1769859000000)),
        ("timestamp=2026-01-31T11:30:00Z", Target(goal=Goal.TIMESTAMP, at=1769859000000)),
        ("timestamp=1769859000000", Target(goal=Goal.TIMESTAMP, at=1769859000000)),
        ({"timestamp": 1769859000000}, Target(goal=Goal.TIMESTAMP, at=1769859000000)),
        ({"timestamp": "-30m"}, Target(goal=Goal.TIMESTAMP, at=1769859000000)),
        ("offsets=a.b/0:1, a.b/1:22,c:0=3", Target(goal=Goal.OFFSETS, offsets={"a.b": {0: 1, 1: 22}, "c": {0: 3}})),
        ('offsets={"a": {"0": 1}}', Target(goal=Goal.OFFSETS, offsets={"a": {0: 1}})),
        ({"offsets": {"a": {"0": 1}}}, Target(goal=Goal.OFFSETS, offsets={"a": {0: 1}})),
    ],
)
def test_targets_are_read_as_people_write_them(written: Any, expected: Target) -> None:
    assert target(written, now=NOW) == expected


@pytest.mark.parametrize(
    "written",
    [
        "",
        "yesterday",
        "ledger=1",
        "timestamp",
        "timestamp=soon",
        "offsets",
        "offsets=a/0:-1",
        "offsets=a",
        "offsets=a/0:soon",
        "offsets=a/0:",
        7,
        None,
        {},
        {"offsets": {"a": {"0": -1}}},
        {"offsets": {"a": {"0": 1.5}}},
        {"earliest": 1, "latest": 1},
        {"timestamp": -1},
    ],
)
def test_anything_else_is_refused_with_the_forms(written: Any) -> None:
    with pytest.raises(BadTarget):
        target(written, now=NOW)
