"""Which records are named when a pipeline crashes again and again."""

from __future__ import annotations

from pipelines.domain.base.positions import PartitionPosition, PartitionRange
from pipelines.domain.runs.crashes import InFlightBatch, recognised


def left(start: int, end: int, *, channel: str = "main", suspects: tuple[int, ...] = ()) -> InFlightBatch:
    ranges = [PartitionRange(topic="orders", partition=0, start=start, end=end)]
    records = [PartitionPosition(topic="orders", partition=0, offset=offset) for offset in suspects]
    return InFlightBatch(source="shop", channel=channel, ranges=ranges, suspects=records)


def named(*crashes: tuple[InFlightBatch, ...]) -> list[str]:
    return [str(suspect) for suspect in recognised(crashes)]


def test_three_crashes_at_one_position_name_the_batch() -> None:
    crash = (left(120, 130),)
    assert named(crash, crash, crash) == ["shop.main orders/0 offsets 120 to 129 (10 records)"]


def test_two_crashes_are_an_accident_and_so_are_three_at_different_positions() -> None:
    assert named((left(120, 130),), (left(120, 130),)) == []
    assert named((left(120, 130),), (left(120, 130),), (left(110, 120),)) == []


def test_a_run_in_between_that_did_not_crash_begins_the_count_anew() -> None:
    assert named((left(120, 130),), (), (left(120, 130),), (left(120, 130),)) == []


def test_a_neighbour_that_moved_on_is_not_named() -> None:
    crashes = [(left(120, 130), left(at, at + 10, channel="audit")) for at in (300, 290, 280)]
    assert named(*crashes) == ["shop.main orders/0 offsets 120 to 129 (10 records)"]


def test_a_batch_that_was_cut_otherwise_is_the_same_position() -> None:
    assert named((left(120, 125),), (left(120, 130),), (left(120, 121),)) == [
        "shop.main orders/0 offsets 120 to 124 (5 records)"
    ]


def test_the_record_that_every_traced_run_was_looking_at_is_named_alone() -> None:
    first, second, third = (left(0, 9000),), (left(0, 9000, suspects=(7, 4711)),), (left(0, 9000, suspects=(4711, 12)),)
    assert named(third, second, first) == ["shop.main orders/0 offset 4711"]


def test_traces_that_contradict_each_other_name_the_batch() -> None:
    assert named((left(0, 10, suspects=(1,)),), (left(0, 10, suspects=(2,)),), (left(0, 10),)) == [
        "shop.main orders/0 offsets 0 to 9 (10 records)"
    ]


def test_a_traced_record_of_an_earlier_batch_means_nothing() -> None:
    crash = (left(100, 110, suspects=(3,)),)
    assert named(crash, crash, crash) == ["shop.main orders/0 offsets 100 to 109 (10 records)"]
