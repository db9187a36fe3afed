"""Whether the output of a pipeline is as usual: each state of the condition, and what must never raise an alarm."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.domain.base.states import Phase
from pipelines.domain.lifecycle.conditions import ConditionStatus
from pipelines.domain.monitoring.alert_rules import DEFAULTS, AlertRule, RuleSettings
from pipelines.domain.monitoring.output import (
    CATCH_UP,
    FROZEN,
    LEAST_BUCKETS,
    UNUSUAL,
    Band,
    Bucket,
    Reason,
    Seen,
    Series,
    Verdict,
    Window,
    band_of,
    checked,
    comparable,
    knows_hour,
    verdict,
)

NOW = datetime(2026, 1, 20, 12, tzinfo=UTC)
LIMITS = DEFAULTS[AlertRule.OUTPUT]
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
PARTS = {
    "sources.orders.interceptors[0]": {"filtered": 2_000},
    "sources.orders.interceptors[1]": {"filtered": 298_000},
}


def window(read: int, delivered: int, *, since: timedelta = 5 * MINUTE) -> Window:
    return Window(read, delivered, NOW - since)


def days(share: float, count: int = 14, read: int = 10_000) -> list[Bucket]:
    """The hours around this one, on each of so many days."""
    offsets = [timedelta(hours=hour) + day * DAY for day in range(1, count + 1) for hour in (-1, 0, 1)]
    return [Bucket(NOW - offset, read, round(read * share)) for offset in offsets]


def recent(share: float, count: int = 30, read: int = 10_000) -> list[Bucket]:
    return [Bucket(NOW - (20 + 5 * number) * MINUTE, read, round(read * share)) for number in range(count)]


def check(
    now: Window | None,
    past: Sequence[Bucket] = (),
    *,
    limits: RuleSettings = LIMITS,
    at: datetime = NOW,
    parts: Any = PARTS,
    **more: Any,
) -> Verdict:
    known: dict[str, Any] = {"phase": Phase.RUNNING, "since": NOW - DAY, "lag_seconds": 1.0, **more}
    seen = Seen(windows={"orders": now} if now else {}, past={"orders": past}, **known)
    return verdict(seen, limits, checked(seen, limits, at), {Series("orders"): parts})


def said(*args: Any, **more: Any) -> tuple[str, str]:
    found = check(*args, **more)
    return found.status.value, found.reason.value


NOTHING = window(300_000, 0)


@pytest.mark.parametrize("past", [(), days(0.98), recent(0.98)], ids=["none", "days", "recent"])
def test_much_that_is_read_and_nothing_delivered_names_who_takes_it(past: Sequence[Bucket]) -> None:
    found = check(NOTHING, past)
    assert (found.status, found.reason) == (ConditionStatus.FALSE, Reason.NOTHING_DELIVERED)
    assert found.message == (
        "Nothing was delivered in 5 min while 300,000 records of source orders were read: "
        "sources.orders.interceptors[1] filtered 298,000, sources.orders.interceptors[0] filtered 2,000."
    )


def test_without_counts_by_component_it_says_so_all_the_same() -> None:
    assert check(NOTHING, parts={}).message.endswith("records of source orders were read.")


def test_a_share_below_the_usual_one_is_unusual() -> None:
    found = check(window(300_000, 30_000), days(0.98))
    assert (found.status, found.reason) == (ConditionStatus.FALSE, Reason.BELOW_USUAL)
    assert found.message.startswith(
        "10 % of 300,000 records of source orders were delivered in 5 min, usually at least 68.6 %: sources.orders."
    )


def test_a_share_above_the_usual_one_is_unusual_and_nobody_takes_it() -> None:
    found = check(window(300_000, 300_000), days(0.4))
    assert (found.status, found.reason) == (ConditionStatus.FALSE, Reason.ABOVE_USUAL)
    assert found.message == "100 % of 300,000 records of source orders were delivered in 5 min, usually at most 52 %."


@pytest.mark.parametrize("share", [0.0, 0.0001, 0.05, 0.98, 3.0])
def test_what_was_always_so_is_as_usual(share: float) -> None:
    """One that filters nearly everything, always; one that makes three records of each."""
    assert said(window(50_000, round(50_000 * share)), days(share)) == ("True", "as_usual")


def test_one_that_delivers_a_record_now_and_then_may_deliver_none_for_a_while() -> None:
    assert said(window(5_000, 0), days(0.0005)) == ("True", "as_usual")


def test_one_that_delivers_nothing_in_some_of_its_hours_may_do_so_now() -> None:
    past = [*days(0.9, 5), *(each._replace(delivered=0, at=each.at - 5 * DAY) for each in days(0.9, 5))]
    assert said(NOTHING, past) == ("True", "as_usual")


def mixed(share: float, other: float) -> list[Bucket]:
    """A third of the past is otherwise."""
    return [
        each if number % 3 else each._replace(delivered=round(each.read * other))
        for number, each in enumerate(days(share))
    ]


@pytest.mark.parametrize("other", [0.3, 2.0])
def test_what_a_third_of_the_past_was_like_is_as_usual(other: float) -> None:
    now = window(50_000, round(50_000 * other))
    assert said(now, mixed(0.9, other)) == ("True", "as_usual")
    assert said(now, days(0.9))[0] == "False"


def test_of_few_records_chance_makes_more_of_a_difference() -> None:
    assert said(window(1_000, 30), days(0.05)) == ("True", "as_usual")
    assert said(window(100_000, 3_000), days(0.05)) == ("False", "below_usual")
    narrow = LIMITS.model_copy(update={"deviations": 1.0})
    assert said(window(5_000, 0), days(0.001), limits=narrow) == ("True", "as_usual")


def test_of_a_share_that_is_small_a_rise_by_a_few_percent_is_no_news() -> None:
    assert said(window(50_000, 2_500), days(0.01)) == ("True", "as_usual")
    assert said(window(50_000, 10_000), days(0.01)) == ("False", "above_usual")


@pytest.mark.parametrize("deviations", [6.0, 1.0])
def test_without_enough_past_it_learns_and_is_not_green(deviations: float) -> None:
    limits = LIMITS.model_copy(update={"deviations": deviations})
    assert said(window(50_000, 10), recent(0.9, LEAST_BUCKETS - 1), limits=limits) == ("Unknown", "learning")


def test_where_it_is_not_compared_with_the_past_something_that_is_delivered_is_enough() -> None:
    limits = LIMITS.model_copy(update={"deviations": None})
    assert said(window(50_000, 1), days(0.98), limits=limits) == ("True", "delivering")
    assert said(NOTHING, days(0.0), limits=limits) == ("False", "nothing_delivered")


def test_an_input_that_has_merely_stopped_is_quiet() -> None:
    assert said(None, days(0.98)) == ("Unknown", "quiet")
    assert said(window(999, 0), days(0.98)) == ("Unknown", "quiet")
    assert said(window(1_000, 0), days(0.98)) == ("False", "nothing_delivered")


@pytest.mark.parametrize("phase", sorted(set(Phase) - {Phase.RUNNING, Phase.DEGRADED}))
def test_what_does_not_run_is_not_checked(phase: Phase) -> None:
    assert said(NOTHING, days(0.98), phase=phase) == ("Unknown", "not_running")


def test_a_sink_that_is_degraded_hides_no_filter() -> None:
    assert said(NOTHING, phase=Phase.DEGRADED) == ("False", "nothing_delivered")


@pytest.mark.parametrize("since", [None, NOW - 5 * MINUTE + timedelta(seconds=1)])
def test_a_run_that_has_just_started_catches_up(since: datetime | None) -> None:
    assert said(NOTHING, days(0.98), since=since) == ("Unknown", "catching_up")
    assert said(NOTHING, days(0.98), since=NOW - 5 * MINUTE) == ("False", "nothing_delivered")


def test_a_run_that_has_only_begun_to_read_catches_up() -> None:
    assert said(window(300_000, 0, since=2 * MINUTE)) == ("Unknown", "catching_up")
    assert said(window(300_000, 0, since=3 * MINUTE)) == ("False", "nothing_delivered")


def test_a_run_that_reads_old_records_again_is_not_checked_for_an_hour() -> None:
    behind: dict[str, Any] = {"lag_seconds": 901.0}
    assert said(NOTHING, since=NOW - CATCH_UP + MINUTE, **behind) == ("Unknown", "catching_up")
    assert said(NOTHING, since=NOW - CATCH_UP, **behind) == ("False", "nothing_delivered")
    assert said(NOTHING, since=NOW - 6 * MINUTE, lag_seconds=900.0) == ("False", "nothing_delivered")


@pytest.mark.parametrize("values", [{"enabled": False}, {"records": None}, {"seconds": None}])
def test_a_rule_that_is_off_judges_nothing(values: dict[str, Any]) -> None:
    assert said(NOTHING, limits=LIMITS.model_copy(update=values)) == ("Unknown", "switched_off")


def test_a_longer_window_is_said() -> None:
    limits = LIMITS.model_copy(update={"seconds": 90.0})
    assert "in 1.5 min while" in check(NOTHING, limits=limits).message
    limits = LIMITS.model_copy(update={"seconds": 7_200.0})
    assert "in 60 min while" in check(window(300_000, 0, since=60 * MINUTE), limits=limits).message


def unusual(reason: Reason = Reason.NOTHING_DELIVERED, band: Band | None = None, ago: timedelta = MINUTE) -> Any:
    before = Verdict(ConditionStatus.FALSE, reason, "It was so.", {Series("orders"): band})
    return {"before": before, "before_since": NOW - ago}


@pytest.mark.parametrize(
    "more",
    [{}, {"since": NOW}, {"phase": Phase.STARTING}, {"phase": Phase.BACKOFF}, {"phase": Phase.UNKNOWN}],
    ids=["stopped input", "new run", "starting", "back-off", "silent"],
)
@pytest.mark.parametrize("now", [None, window(5, 0)], ids=["no rows", "few rows"])
def test_what_is_unusual_stays_so_until_it_can_be_checked_anew(now: Window | None, more: dict[str, Any]) -> None:
    assert check(now, **unusual(), **more).message == "It was so."


@pytest.mark.parametrize("phase", [Phase.STOPPED, Phase.PAUSED, Phase.BLOCKED, Phase.FAILED])
def test_it_is_over_where_the_pipeline_rests(phase: Phase) -> None:
    assert said(None, **unusual(), phase=phase) == ("Unknown", "not_running")


def test_it_is_over_when_the_source_delivers_again() -> None:
    assert said(window(300_000, 290_000), days(0.98), **unusual()) == ("True", "as_usual")
    assert said(window(300_000, 290_000), **unusual()) == ("Unknown", "learning")
    assert said(window(5, 5), days(0.98), **unusual()) == ("Unknown", "quiet")
    assert said(window(5, 5), since=NOW, phase=Phase.STARTING, **unusual()) == ("Unknown", "not_running")


def test_it_is_not_over_because_another_source_delivers() -> None:
    windows = {"clicks": window(9_000, 9_000)}
    before = unusual()
    seen = Seen(Phase.RUNNING, NOW - DAY, 1.0, windows, {"clicks": days(1.0)}, **before)
    assert verdict(seen, LIMITS, checked(seen, LIMITS, NOW), {}) is before["before"]


def test_it_does_not_become_usual_by_lasting() -> None:
    """The past that is read later has the unusual hours in it."""
    band = Band(0.7, 1.2, nothing=False)
    lasting = recent(0.1, 36)
    now = window(300_000, 30_000)
    assert said(now, lasting, **unusual(Reason.BELOW_USUAL, band, FROZEN - MINUTE)) == ("False", "below_usual")
    assert said(now, lasting, **unusual(Reason.BELOW_USUAL, band, FROZEN)) == ("True", "as_usual")
    assert said(NOTHING, recent(0.0, 36), **unusual(ago=FROZEN)) == ("True", "as_usual")
    assert said(NOTHING, recent(0.0, 36), **unusual(ago=FROZEN - MINUTE)) == ("False", "nothing_delivered")


def test_the_worst_source_gives_the_reason_and_each_is_named() -> None:
    windows = {"clicks": window(10_000, 1_000), "orders": window(10_000, 0), "views": window(10_000, 9_800)}
    seen = Seen(Phase.RUNNING, NOW - DAY, 1.0, windows, dict.fromkeys(windows, days(0.98)))
    found = verdict(seen, LIMITS, checked(seen, LIMITS, NOW), {})
    assert (found.reason, sorted(found.series)) == (Reason.NOTHING_DELIVERED, [Series("clicks"), Series("orders")])
    assert [words in found.message for words in ("source orders", "source clicks", "source views")] == [
        True,
        True,
        False,
    ]


def test_one_source_that_learns_keeps_the_condition_from_green_and_a_quiet_one_does_not() -> None:
    usual, other = {"orders": window(10_000, 9_800)}, {"orders": days(0.98)}
    learns = Seen(Phase.RUNNING, NOW - DAY, 1.0, usual | {"clicks": window(10_000, 5)}, other)
    quiet = Seen(Phase.RUNNING, NOW - DAY, 1.0, usual | {"clicks": window(10, 0)}, other)
    assert verdict(learns, LIMITS, checked(learns, LIMITS, NOW), {}).reason is Reason.LEARNING
    assert verdict(quiet, LIMITS, checked(quiet, LIMITS, NOW), {}).reason is Reason.AS_USUAL


def test_hours_are_compared_with_the_same_hour_where_enough_days_have_one() -> None:
    """By night it filters what it delivers by day."""
    nights = [each._replace(at=each.at - timedelta(hours=10)) for each in days(0.05)]
    past = [*days(0.9), *nights, *recent(0.9)]
    assert said(window(50_000, 2_500), past) == ("False", "below_usual")
    assert {each.share for each in comparable(past, NOW)} == {0.9}
    assert {each.share for each in comparable(past, NOW - timedelta(hours=10))} >= {0.05}


def test_few_days_are_compared_with_all_that_there_is() -> None:
    past = [*days(0.9, 4), *recent(0.5)]
    assert len(comparable(past, NOW)) == len(past)
    assert not knows_hour(past, NOW)
    assert knows_hour([*days(0.9, 5), *recent(0.5)], NOW)
    assert len(comparable([*days(0.9, 5), *recent(0.5)], NOW)) == 15


def test_buckets_that_read_little_say_nothing() -> None:
    assert comparable([*days(0.0, 14, read=99), *recent(0.9, 3)], NOW) == recent(0.9, 3)


SHARES = st.floats(0, 3, allow_nan=False)


@st.composite
def pasts(draw: st.DrawFn) -> list[Bucket]:
    shares = draw(st.lists(SHARES, min_size=LEAST_BUCKETS, max_size=40))
    return [
        Bucket(NOW - (20 + 5 * number) * MINUTE, 10_000, round(10_000 * each)) for number, each in enumerate(shares)
    ]


@given(past=pasts(), read=st.integers(1, 10**9), deviations=st.floats(1, 1_000))
def test_the_band_holds_its_middle_and_grows_with_deviations(past: list[Bucket], read: int, deviations: float) -> None:
    band, wider = band_of(past, read, deviations), band_of(past, read, deviations * 2)
    assert band
    assert wider
    shares = sorted(each.share for each in past)
    assert 0 <= band.lower <= shares[len(shares) // 2] <= band.upper + 1e-9
    assert wider.lower <= band.lower
    assert wider.upper >= band.upper


@given(past=pasts(), read=st.integers(1_000, 10**9), place=st.floats(0.06, 0.94))
def test_what_most_of_the_past_was_like_is_never_unusual(past: list[Bucket], read: int, place: float) -> None:
    shares = sorted(each.share for each in past)
    middle = shares[max(1, min(len(shares) - 2, int(place * len(shares))))]
    delivered = round(read * middle)
    if delivered:
        band = band_of(past, read, 6.0)
        assert band
        assert band.lower - 1 / read <= delivered / read <= band.upper + 1 / read


@given(
    read=st.integers(0, 10**7),
    delivered=st.integers(0, 10**7),
    phase=st.sampled_from(Phase),
    since=st.integers(0, 7_200),
    lag=st.none() | st.floats(0, 10**6),
    past=st.just([]) | pasts(),
    before=st.just({}) | st.just(unusual()),
)
def test_green_is_said_of_what_was_compared_alone(
    read: int, delivered: int, phase: Phase, since: int, lag: float | None, past: list[Bucket], before: Any
) -> None:
    found = check(
        window(read, delivered) if read else None,
        past,
        phase=phase,
        since=NOW - timedelta(seconds=since),
        lag_seconds=lag,
        **before,
    )
    if found.status is ConditionStatus.TRUE:
        assert past
        assert phase in (Phase.RUNNING, Phase.DEGRADED)
        assert read >= 1_000
    if found.status is ConditionStatus.FALSE and not before:
        assert found.reason in UNUSUAL
        assert since >= 300
        assert read >= 1_000
    assert found.message


def sized(share: float, size: int, audit: float | None = None, read: int = 10_000) -> list[Bucket]:
    """Days on which bodies had so many bytes, and a second channel got such a share of the records."""
    return [
        each._replace(
            size=each.delivered * size,
            sized=each.delivered,
            channels={"main": each.delivered}
            if audit is None
            else {"main": each.delivered, "audit": round(read * audit)},
        )
        for each in days(share, read=read)
    ]


def bodies(size: float, number: int = 9_800, **channels: int) -> Window:
    return window(10_000, 9_800)._replace(size=round(number * size), sized=number, channels=channels)


@pytest.mark.parametrize(
    ("size", "expected"),
    [(0, "records_smaller"), (90, "records_smaller"), (110, "as_usual"), (290, "as_usual"), (310, "records_larger")],
)
def test_the_mean_size_of_bodies_is_compared_with_that_of_the_past(size: int, expected: str) -> None:
    assert said(bodies(size), sized(0.98, 200))[1] == expected


def test_what_is_said_of_sizes_is_in_bytes_and_names_no_component() -> None:
    assert check(bodies(12), sized(0.98, 1_000)).message == (
        "The bodies that source orders delivered in 5 min have 12 bytes in the mean, usually at least 500."
    )
    assert check(bodies(9_000), sized(0.98, 1_000)).message.endswith("9,000 bytes in the mean, usually at most 1,500.")


def test_sizes_that_vary_are_as_usual() -> None:
    past = [
        each._replace(size=each.sized * (40 if number % 2 else 4_000)) for number, each in enumerate(sized(0.98, 1))
    ]
    for size in (40, 1_000, 4_000):
        assert said(bodies(size), past) == ("True", "as_usual")


@pytest.mark.parametrize(
    ("now", "past"),
    [
        (bodies(0, number=0), sized(0.98, 200)),
        (bodies(1, number=99), sized(0.98, 200)),
        (bodies(1), days(0.98)),
        (bodies(1), [each._replace(sized=99, size=99 * 200) for each in sized(0.98, 200)]),
    ],
    ids=["unknown", "few", "unknown past", "few in the past"],
)
def test_sizes_that_are_not_known_of_enough_bodies_are_not_compared(now: Window, past: list[Bucket]) -> None:
    assert said(now, past) == ("True", "as_usual")


def test_where_nothing_is_compared_with_the_past_neither_are_sizes_and_channels() -> None:
    limits = LIMITS.model_copy(update={"deviations": None})
    assert said(bodies(1, main=9_800, audit=0), sized(0.98, 200, 0.5), limits=limits) == ("True", "delivering")


SILENT = bodies(200, main=9_800, audit=0)


def test_a_channel_that_stops_while_another_goes_on_is_named_with_what_takes_its_records() -> None:
    """Its source delivers less in all, which is not said, too."""
    past = [each._replace(delivered=each.delivered * 2) for each in sized(0.98, 200, 0.98)]
    seen = Seen(Phase.RUNNING, NOW - DAY, 1.0, {"orders": SILENT}, {"orders": past})
    parts: Any = {Series("orders", "audit"): {"sources.orders.selector": {"routed_elsewhere": 10_000}}}
    found = verdict(seen, LIMITS, checked(seen, LIMITS, NOW), parts)
    assert (found.status, found.reason) == (ConditionStatus.FALSE, Reason.CHANNEL_SILENT)
    assert found.message == (
        "Channel audit delivered nothing in 5 min while 10,000 records of source orders were read, and others did: "
        "sources.orders.selector routed elsewhere 10,000."
    )
    assert set(found.series) == {Series("orders"), Series("orders", "audit")}


@pytest.mark.parametrize(
    ("now", "past"),
    [
        (SILENT, sized(0.98, 200, 0.0)),
        (SILENT, sized(0.98, 200, 0.0005)),
        (
            SILENT,
            [
                each._replace(channels={"main": 9_800} | ({"audit": 900} if n % 8 else {}))
                for n, each in enumerate(sized(0.98, 200))
            ],
        ),
        (SILENT, sized(0.98, 200)),
        (bodies(200, main=9_800), sized(0.98, 200, 0.5)),
        (bodies(200, main=9_800, audit=1), sized(0.98, 200, 0.5)),
    ],
    ids=["never", "hardly ever", "now and then", "new", "removed", "a little"],
)
def test_a_channel_that_may_be_quiet_raises_no_alarm(now: Window, past: list[Bucket]) -> None:
    assert said(now, past) == ("True", "as_usual")


def test_where_no_channel_delivers_the_source_is_named_alone() -> None:
    now = window(10_000, 0)._replace(channels={"main": 0, "audit": 0})
    found = check(now, sized(0.98, 200, 0.5))
    assert (found.reason, set(found.series)) == (Reason.NOTHING_DELIVERED, {Series("orders")})


@pytest.mark.parametrize("now", [SILENT, bodies(1)])
def test_a_channel_that_is_silent_and_bodies_that_are_small_do_not_become_usual_by_lasting(now: Window) -> None:
    first = check(now, sized(0.98, 200, 0.5))
    assert first.status is ConditionStatus.FALSE
    mean = now.size // now.sized
    later = [each._replace(channels={"main": 9_800, "audit": 0}) for each in sized(0.98, mean)]
    lasting: Any = {"before": first, "before_since": NOW - timedelta(hours=3)}
    assert check(now, later, **lasting).reason is first.reason
    assert said(now, later, before=first, before_since=NOW - FROZEN) == ("True", "as_usual")


def test_a_silent_channel_stays_so_while_its_source_cannot_be_checked() -> None:
    before = {"before": check(SILENT, sized(0.98, 200, 0.5)), "before_since": NOW}
    few = window(10, 9)._replace(channels={"main": 9, "audit": 0})
    assert said(few, **before) == ("False", "channel_silent")
    assert said(None, **before) == ("False", "channel_silent")
    assert said(few._replace(channels={"main": 9, "audit": 3}), **before) == ("Unknown", "quiet")


@pytest.mark.parametrize("series", [Series("orders"), Series("orders", "audit"), Series("orders", sizes=True)])
def test_what_is_compared_is_stored_by_a_key(series: Series) -> None:
    assert Series.of_key(series.key) == series
