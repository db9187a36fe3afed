"""What must have happened to a consumer group between two looks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.monitoring import watching
from pipelines.domain.monitoring.lag import Appended
from pipelines.domain.monitoring.watching import Description, GroupInspection, Kind, Limits, inspected
from pipelines.domain.positions.resets import before, effects, reset, reset_csv
from tests.factories import definition

KEY = TopicPartition("orders", 0)
MEMBERS = (("app", "/10.0.0.1"),)


def inspection(
    at: float,
    committed: int | None,
    end: int,
    last: GroupInspection | None = None,
    start: int = 0,
    members: Any = MEMBERS,
) -> GroupInspection:
    commits = {} if committed is None else {KEY: committed}
    return inspected(last, at, Description("STABLE", "1 b:9092", False, members), commits, {KEY: (start, end)})


def kinds(one: GroupInspection, other: GroupInspection, **limits: Any) -> list[Kind]:
    return [each.kind for each in watching.happenings(one, other, Limits(**limits))]


def test_a_commit_that_moves_on_is_no_event() -> None:
    first = inspection(0.0, 100, 1000)
    assert kinds(first, inspection(60.0, 900, 2000, first)) == []


def test_a_commit_that_is_gone_is_told_once_with_what_it_was_and_again_when_it_is_back() -> None:
    first = inspection(0.0, 100, 1000)
    gone = inspection(60.0, None, 1000, first)
    (happening,) = watching.happenings(first, gone, Limits())
    assert happening.kind is Kind.COMMIT_VANISHED
    assert (happening.data["before"], happening.data["after"]) == (100, None)
    assert happening.data["coordinator"] == "1 b:9092"
    still = inspection(120.0, None, 1000, gone)
    assert kinds(gone, still) == []
    assert kinds(still, inspection(180.0, 150, 1000, still)) == [Kind.COMMIT_BACK]


def test_a_reset_after_a_commit_was_gone_is_compared_with_the_last_one_there_was() -> None:
    first = inspection(0.0, 100, 10_000_000)
    gone = inspection(60.0, None, 10_000_000, first)
    assert kinds(gone, inspection(120.0, 0, 10_000_000, gone)) == [Kind.COMMIT_BACK, Kind.JUMPED_BACK]
    forward = inspection(61.0, 10_000_000, 10_000_000, gone)
    assert kinds(gone, forward, max_rate=1000.0) == [Kind.COMMIT_BACK, Kind.JUMPED_FORWARD]


def test_a_commit_that_goes_back_is_told_with_how_much_comes_again() -> None:
    first = inspection(0.0, 900, 1000)
    (happening,) = watching.happenings(first, inspection(60.0, 100, 1000, first), Limits())
    assert happening.kind is Kind.JUMPED_BACK
    assert "800 records are reread" in happening.message


@pytest.mark.parametrize(
    ("members", "limits", "committed", "reported"),
    [
        (MEMBERS, {}, 1_000_000, False),
        (MEMBERS, {}, 30_000_000, True),
        (MEMBERS, {"max_rate": 100.0}, 6_101, True),
        (MEMBERS, {"max_rate": 100.0}, 6_100, False),
        (MEMBERS, {"fastest": 100_000.0}, 30_000_000, False),
        ((), {}, 1_100, False),
        ((), {}, 1_101, True),
        ((), {"fastest": 100.0}, 60_000, False),
        ((), {"fastest": 100.0}, 60_101, True),
    ],
)
def test_a_commit_goes_on_further_than_can_have_been_consumed(
    members: Any, limits: dict[str, Any], committed: int, reported: bool
) -> None:
    first = inspection(0.0, 100, 100_000_000, members=members)
    after = inspection(60.0, committed, 100_000_000, first, members=members)
    assert kinds(first, after, **limits) == ([Kind.JUMPED_FORWARD] if reported else [])


def test_a_commit_beyond_the_log_is_told_however_small_the_step() -> None:
    first = inspection(0.0, 99, 100)
    (happening,) = watching.happenings(first, inspection(60.0, 101, 100, first), Limits(max_rate=1e9))
    assert "beyond the log's end 100" in happening.message


def test_a_mirror_of_ours_can_be_where_the_pipeline_has_read_and_no_further() -> None:
    first = inspection(0.0, 100, 10_000_000, members=())
    after = inspection(60.0, 5_000_000, 10_000_000, first, members=())
    assert kinds(first, after, read={KEY: 5_000_000}) == []
    assert kinds(first, after, read={KEY: 4_999_999}) == [Kind.JUMPED_FORWARD]


def test_a_lag_that_leaps_is_told_unless_a_jump_explains_it() -> None:
    first = inspection(0.0, 100, 100)
    assert kinds(first, inspection(60.0, 100, 100_101, first)) == [Kind.LAG_LEAPT]
    assert kinds(first, inspection(60.0, 100, 100_100, first)) == []
    assert kinds(first, inspection(60.0, 100, 111, first), leap_records=10) == [Kind.LAG_LEAPT]
    assert kinds(first, inspection(60.0, 0, 200_000, first)) == [Kind.JUMPED_BACK]


def test_the_fastest_consumption_is_learned_and_slowly_forgotten() -> None:
    first = inspection(0.0, 0, 1000)
    assert watching.fastest(first, inspection(10.0, 500, 1000, first), 1.0) == 50.0
    assert watching.fastest(first, inspection(10.0, 0, 1000, first), 50.0) == pytest.approx(49.5)


def test_a_look_survives_being_stored() -> None:
    first = inspection(5.0, None, 7, inspection(1.0, 3, 7))
    assert GroupInspection.of_plain(json.loads(json.dumps(first.plain()))) == first


@pytest.mark.parametrize(("text", "event", "seconds"), [("12-30m", 12, 1800.0), ("7", 7, 0.0), ("3-1.5h", 3, 5400.0)])
def test_a_time_before_an_event_is_read(text: str, event: int, seconds: float) -> None:
    found = before(text)
    assert (found.event, found.seconds) == (event, seconds)


@pytest.mark.parametrize("text", ["", "x", "12-", "12-30", "12-30x", "-30m", "12--30m"])
def test_what_is_no_time_before_an_event_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        before(text)


def test_a_reset_goes_to_what_was_seen_then_and_counts_what_comes_again() -> None:
    now = inspection(1000.0, 900, 1000, start=150)
    (seen,) = reset(now, {KEY: 400}, {}, 500.0)
    assert (seen.target, seen.basis, seen.replay, seen.skip, seen.gone) == (400, "snapshot", 500, 0, 0)
    (gone,) = reset(now, {KEY: 100}, {}, 500.0)
    assert (gone.target, gone.replay, gone.gone) == (150, 750, 50)
    (forward,) = reset(now, {KEY: 950}, {}, 500.0)
    assert (forward.replay, forward.skip) == (0, 50)
    assert reset_csv([seen]) == "orders,0,400\n"


def test_a_reset_to_before_anything_was_seen_goes_by_the_time_of_the_records() -> None:
    history = Appended([(100.0, 100.0, 200), (600.0, 600.0, 700)])
    (found,) = reset(inspection(1000.0, 900, 1000), {}, {KEY: history}, 500.0)
    assert (found.target, found.basis, found.replay) == (200, "record_times", 700)


def test_a_group_without_a_commit_skips_nothing_by_being_set_to_where_it_was() -> None:
    gone = inspection(60.0, None, 1000, inspection(0.0, 400, 1000), start=100)
    (found,) = reset(gone, {KEY: 400}, {}, 0.0)
    assert (found.committed, found.target, found.replay, found.skip) == (None, 400, 0, 300)


def test_every_type_of_sink_says_what_duplicates_do_to_it() -> None:
    (kafka,) = effects(definition("orders"), "shop")
    assert (kafka.channel, kafka.sink, kafka.type) == ("main", "out", "kafka")
    assert "appended again" in kafka.effect
    postgres = {"type": "postgres", "channel": "main", "dsn": "${secret:a}", "table": "t"}
    upsert = {**postgres, "mode": "upsert", "conflict_columns": ["id"]}
    for sink, words in ((postgres, "inserted again"), (upsert, "replace")):
        (effect,) = effects(definition("orders", sinks={"out": sink}), "shop")
        assert words in effect.effect
