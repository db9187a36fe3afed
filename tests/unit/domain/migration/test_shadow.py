"""A shadow as data: which ranges are compared next, that none is counted twice or left out, and what follows."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from pipelines.domain.base.positions import PartitionRange
from pipelines.domain.base.states import MigrationKind
from pipelines.domain.ledger.ledger import Counts
from pipelines.domain.migration import shadow
from pipelines.domain.migration.shadow import (
    ENOUGH,
    MOST_FAILURES,
    MOST_PART,
    PART_PAUSE,
    Delivered,
    Part,
    ShadowPlan,
    ShadowSpec,
    ShadowState,
    next_part,
    planned,
    unlike,
    verdict,
)
from pipelines.domain.migration.specs import problems
from pipelines.domain.preview.comparing import DifferenceKind
from pipelines.domain.preview.protocol import DifferenceRow
from pipelines.domain.preview.shadowing import MOST_SAMPLES, ShadowCounts, ShadowPart
from tests.factories import definition

PLAN = ShadowPlan(seconds=600, channels={"shop": "main"})
STATE = ShadowState(since="2026-03-01T12:00:00+00:00", after={"shop": 0})
NOW = 60.0


def ranges(start: int, size: int, partition: int = 0) -> list[PartitionRange]:
    return [PartitionRange(topic="in", partition=partition, start=start, end=start + size)]


def batches(*sizes: int) -> list[Delivered]:
    """Rows of the ledger, one after the other."""
    rows, at = [], 0
    for number, size in enumerate(sizes, start=1):
        rows.append(Delivered(number, ranges(at, size), Counts(read=size, delivered=size)))
        at += size
    return rows


def found(part: Part, differing: int = 0) -> ShadowPart:
    """What a host finds in a part."""
    size = sum(each.end - each.start for each in part.ranges)
    counts = ShadowCounts(records=size, identical=size - differing, different=differing)
    return ShadowPart(counts=counts, old=Counts(read=size, delivered=size))


def test_finished_batches_are_one_part() -> None:
    part = next_part(PLAN, STATE, {"shop": batches(6000, 3000, 2000)}, NOW)
    assert part
    assert (part.until, part.ranges, part.expected) == (3, ranges(0, 11_000), Counts(read=11_000, delivered=11_000))


def test_a_few_records_are_waited_for_a_while() -> None:
    waiting = {"shop": batches(100)}
    asked = STATE.model_copy(update={"asked_at": NOW})
    assert next_part(PLAN, asked, waiting, NOW + PART_PAUSE - 1) is None
    assert next_part(PLAN, asked, waiting, NOW + PART_PAUSE)
    assert next_part(PLAN, asked, {"shop": batches(ENOUGH)}, NOW)
    few = PLAN.model_copy(update={"records": 100})
    assert next_part(few, asked, waiting, NOW), "all that is wanted is there"


def test_the_number_of_records_is_kept_exactly() -> None:
    plan = PLAN.model_copy(update={"records": 10_000})
    part = next_part(plan, STATE, {"shop": batches(6000, 6000)}, NOW)
    assert part
    assert (part.until, part.expected is not None) == (1, True)
    state = shadow.added(shadow.asked(STATE, part, uuid4(), NOW), found(part))
    rest = next_part(plan, state, {"shop": batches(6000, 6000)[1:]}, NOW)
    assert rest
    assert (rest.ranges, rest.expected) == (ranges(6000, 4000), None), "a piece of a batch has no counts in the ledger"
    state = shadow.added(shadow.asked(state, rest, uuid4(), NOW), found(rest))
    assert (state.counts.records, verdict(plan, state, NOW).done) == (10_000, True)


def test_a_batch_that_is_too_large_is_compared_in_part() -> None:
    part = next_part(PLAN, STATE, {"shop": batches(MOST_PART + 1, 5)}, NOW)
    assert part
    assert (part.until, part.ranges, part.expected) == (1, ranges(0, MOST_PART), None)


def test_what_does_not_adjoin_is_a_part_of_its_own() -> None:
    rows = [Delivered(1, ranges(0, 10), Counts()), Delivered(2, ranges(20, 10), Counts())]
    part = next_part(PLAN, STATE, {"shop": rows}, NOW)
    assert part
    assert (part.until, part.ranges) == (1, ranges(0, 10))


def test_the_source_with_most_to_compare_is_next() -> None:
    part = next_part(PLAN, STATE, {"shop": batches(10), "web": batches(20), "app": []}, NOW)
    assert part
    assert part.source == "web"


@pytest.mark.parametrize(
    ("state", "elapsed"),
    [
        (STATE.model_copy(update={"part": Part(source="shop", until=1, ranges=[])}), NOW),
        (STATE.model_copy(update={"failures": MOST_FAILURES}), NOW),
        (STATE.model_copy(update={"refused": True}), NOW),
        (STATE, PLAN.seconds),
    ],
)
def test_nothing_more_is_asked_for_while_one_is_made_after_failures_and_at_the_end(
    state: ShadowState, elapsed: float
) -> None:
    assert next_part(PLAN, state, {"shop": batches(ENOUGH)}, elapsed) is None


def test_three_failures_in_a_row_end_it_and_a_success_forgets_them() -> None:
    words = [{"message": "The previewer ended with -9."}]
    state = STATE
    for _ in range(MOST_FAILURES - 1):
        state = shadow.failed(state, words, refused=False)
    assert not verdict(PLAN, state, NOW).failed
    assert "made again: The previewer ended with -9." in verdict(PLAN, state, NOW).words
    assert verdict(PLAN, shadow.failed(state, words, refused=False), NOW).failed
    part = Part(source="shop", until=1, ranges=ranges(0, 10))
    again = shadow.added(state.model_copy(update={"part": part}), found(part))
    assert (again.failures, again.findings) == (0, [])
    assert verdict(PLAN, shadow.failed(STATE, words, refused=True), NOW).failed


def test_a_share_of_differences_is_a_rule_only_where_it_is_asked_for() -> None:
    counts = ShadowCounts(records=1000, identical=989, different=5, only_old=3, only_new=3)
    state = STATE.model_copy(update={"counts": counts})
    rules = [None, 0.02, 0.011, 0.0109, 0.0]
    ends = [verdict(PLAN.model_copy(update={"most_different": most}), state, 600.0) for most in rules]
    assert [(end.done, end.failed) for end in ends] == [(True, False)] * 3 + [(False, True)] * 2
    assert "1.10% differ; at most 0.00% may." in ends[-1].words


def test_a_quiet_source_is_no_reason_to_fail_unless_a_rule_needs_its_records() -> None:
    waits = verdict(PLAN, STATE, NOW)
    assert (waits.done, waits.failed) == (False, False)
    assert waits.words.startswith("Waiting for the old agent to deliver records.")
    assert verdict(PLAN, STATE, 600.0).done
    assert verdict(PLAN.model_copy(update={"most_different": 0.0}), STATE, 600.0).failed
    made = STATE.model_copy(update={"part": Part(source="shop", until=1, ranges=[])})
    assert not verdict(PLAN, made, 700.0).done, "the last part is waited for"


def test_samples_are_bounded_and_have_their_source() -> None:
    row = DifferenceRow(topic="in", partition=0, offset=1, kinds=[DifferenceKind.BODY])
    state = STATE
    for number in range(3):
        part = Part(source="shop", until=number, ranges=ranges(0, 1))
        more = found(part).model_copy(update={"samples": [row] * 8})
        state = shadow.added(state.model_copy(update={"part": part}), more)
    assert (len(state.samples), state.samples[0].source) == (MOST_SAMPLES, "shop")


def test_the_old_side_is_held_against_the_ledger() -> None:
    parts: Any = {"a": {"filtered": 2}, "sinks.out": {"dead_lettered": 2}}
    had = Counts(read=10, delivered=6, filtered=2, dead_lettered=2, components=parts)
    same = Counts(read=10, delivered=8, filtered=2, components={"a": {"filtered": 2}})
    assert unlike(had, same) == "", "what a sink has refused is no evaluation"
    other = Counts(read=10, delivered=8, filtered=2, components={"b": {"filtered": 2}})
    assert unlike(had, other) == "The counts by component are others than in the ledger."
    assert unlike(had, Counts(read=10, delivered=10)) == (
        "delivered 8 in the ledger, 10 now; filtered 2 in the ledger, 0 now."
    )
    part = Part(source="shop", until=1, ranges=ranges(0, 10), expected=had)
    state = shadow.added(STATE.model_copy(update={"part": part}), found(part))
    assert (state.unlike_ledger, len(state.notes)) == (1, 1)


@pytest.mark.parametrize("path", ["sinks.out", "channels.main"])
def test_what_a_sink_or_the_store_of_a_channel_has_refused_is_like_the_ledger(path: str) -> None:
    had = Counts(read=10, delivered=7, dead_lettered=3, components={path: {"dead_lettered": 3}})
    assert unlike(had, Counts(read=10, delivered=10)) == ""


def test_records_in_quarantine_are_like_whatever_becomes_of_them() -> None:
    parts: Any = {"quarantine": {"dead_lettered": 3}, "a": {"filtered": 2, "dead_lettered": 1}}
    had = Counts(read=10, delivered=4, filtered=2, dead_lettered=4, components=parts)
    for found in (
        Counts(read=10, delivered=7, filtered=2, dead_lettered=1),
        Counts(read=10, delivered=5, filtered=4, dead_lettered=1),
        Counts(read=10, delivered=4, filtered=2, dead_lettered=4),
    ):
        assert unlike(had, found) == "", found
    for found in (
        Counts(read=10, delivered=8, filtered=2),
        Counts(read=10, delivered=8, filtered=1, dead_lettered=1),
        Counts(read=9, delivered=6, filtered=2, dead_lettered=1),
    ):
        assert unlike(had, found), found


def test_the_spec_says_how_much() -> None:
    assert ShadowSpec.model_validate({"for": "10m"}).seconds == 600
    assert ShadowSpec.model_validate({"records": 100_000}).records == 100_000
    for wrong in (
        {},
        {"for": "10m", "records": 1},
        {"for": "0s"},
        {"for": "2d"},
        {"records": 0},
        {"most_different": 2},
    ):
        with pytest.raises(ValidationError):
            ShadowSpec.model_validate(wrong)


def test_all_that_is_wrong_with_it_is_told_at_once() -> None:
    spec: dict[str, Any] = {"revision": 2, "shadow": {"for": "soon", "records": -1, "most_different": 3, "often": 1}}
    told = problems(MigrationKind.REVISION, spec)
    assert {each.path for each in told} == {
        "spec.shadow.for",
        "spec.shadow.records",
        "spec.shadow.most_different",
        "spec.shadow.often",
    }
    assert all(each.code and each.message for each in told)
    (unknown,) = problems(MigrationKind.HOST, {"host": "beta", "shadow": {"records": 1}})
    assert unknown.path == "spec.shadow"


def test_sources_that_the_change_touches_are_compared() -> None:
    old = definition()
    spec = ShadowSpec(records=10)
    untouched = planned(spec, old, definition(description="new"))
    assert isinstance(untouched, ShadowPlan)
    assert (untouched.channels, untouched.seconds) == ({"shop": "main"}, shadow.RECORDS_WITHIN)


def test_what_cannot_be_read_again_is_refused_with_its_path() -> None:
    data = definition().plain()
    data["sources"]["shop"] = {"type": "exec", "command": ["tail", "-F", "/var/log/a.log"]}
    pushed = definition(sources=data["sources"])
    refused = planned(ShadowSpec(records=10), pushed, pushed)
    assert isinstance(refused, list)
    (finding,) = refused
    assert (finding.path, finding.code) == ("sources.shop", "SHADOW_NOT_READABLE")
    assert finding.suggestion


@settings(max_examples=200, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 9000), min_size=1, max_size=12),
    records=st.none() | st.integers(1, 40_000),
    fates=st.lists(st.sampled_from(["done", "failed", "lost", "crash", "late"]), max_size=40),
)
def test_whatever_dies_every_record_is_compared_once(sizes: list[int], records: int | None, fates: list[str]) -> None:
    """`crash`: after the host has answered and before that is kept; `late`: the answer comes when nobody waits."""
    plan = PLAN.model_copy(update={"records": records})
    rows, state, compared = batches(*sizes), STATE, [0] * sum(sizes)
    for fate in [*fates, *["done"] * 30]:
        waiting = {"shop": [row for row in rows if row.row > state.after["shop"]]}
        part = next_part(plan, state, waiting, NOW)
        if part is None:
            break
        kept = shadow.asked(state, part, uuid4(), 0.0)
        if fate == "crash":
            shadow.added(kept, found(part))
            continue
        if fate == "failed":
            state = shadow.failed(kept, [], refused=False).model_copy(update={"failures": 0})
        elif fate == "lost":
            state = kept.model_copy(update={"part": None})
        else:
            state = shadow.added(kept, found(part))
            for each in part.ranges:
                for offset in range(each.start, each.end):
                    compared[offset] += 1
        if fate == "late":
            assert shadow.added(state, found(part)) == state
    wanted = min(sum(sizes), records or sum(sizes))
    assert (sum(compared), max(compared), state.counts.records) == (wanted, 1, wanted)
