"""An outcome rests on the ledger where it proves one, else on what was evaluated again, and is never guessed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from pipelines.domain.base.states import DeadLetterState, LedgerState
from pipelines.domain.preview.outcomes import EventResult
from pipelines.domain.trace.conclusion import TOPIC_RECREATED, concluded, proven
from pipelines.domain.trace.protocol import (
    ChannelLedger,
    Evaluated,
    EventRow,
    Evidence,
    LedgerRow,
    LetterRow,
    SinkRecord,
    SinkSearch,
    TraceOutcome,
    Unknown,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MIXED = {"read": 9, "delivered": 5, "filtered": 4}


def row(state: LedgerState = LedgerState.DONE, *, last: int = 3, **more: Any) -> LedgerRow:
    counts = more.pop("counts", MIXED)
    fields: dict[str, Any] = {
        "id": 1,
        "run": 7,
        "revision": 2,
        "source": "shop",
        "channel": "lake",
        "state": state,
        "first_batch": 3,
        "last_batch": last,
        "merged": last > 3,
        "counts": counts,
        "sink": "lake",
        "attempts": 1,
        "planned_at": NOW,
        "done_at": NOW,
        "operation": None,
        "proves": proven(state, counts),
    }
    return LedgerRow(**fields | more)


def channel(*rows: LedgerRow, **more: Any) -> ChannelLedger:
    fields: dict[str, Any] = {"offset": 5, "position": 100, "first": 0, **more}
    return ChannelLedger(source="shop", channel="lake", rows=list(rows), **fields)


def again(verdict: str = "filtered", revision: int = 2, component: str = "sources.shop.interceptors[0]") -> Evaluated:
    result = EventResult(verdict) if verdict in set(EventResult) else EventResult.DELIVERED
    event = EventRow(copy_number=0, result=result, verdicts={"lake": verdict}, component=component)
    return Evaluated(revision=revision, source="shop", events=[event])


def outcome(ledger: ChannelLedger, *evaluated: Evaluated) -> tuple[TraceOutcome, Evidence, list[str]]:
    found, unknown = concluded(ledger, evaluated)
    return found.outcome, found.evidence, [each.code for each in unknown]


def test_what_is_known_of_the_topic_before_says_nothing_of_the_record() -> None:
    """The ledger's batch, all delivered, and what a sink has were of another record at the same offset."""
    changed = Unknown(about="revision 2", code=TOPIC_RECREATED, reason="It was created again.")
    ledger = channel(row(counts={"read": 9, "delivered": 9}))
    search = SinkSearch(
        row=1,
        channel="lake",
        sink="lake",
        records=[SinkRecord(topic="out", partition=0, offset=7, timestamp=None, copy_number=0)],
    )
    found, _ = concluded(ledger, [Evaluated(revision=2, source="shop", unknown=changed)], [search])
    assert (found.outcome, found.evidence) == (TraceOutcome.UNKNOWN, Evidence.NONE)
    assert found.searches == [search]


def test_a_dead_letter_is_a_proof() -> None:
    letter = LetterRow(
        id="1",
        channel="lake",
        component="sinks.lake",
        cause="too large",
        at=NOW,
        run=7,
        state=DeadLetterState.RETRIED,
        settled_at=NOW,
        settled_by="ana",
    )
    found, _ = concluded(channel(row(), letters=[letter]), [again()])
    assert (found.outcome, found.evidence, found.component) == ("dead_lettered", "ledger", "sinks.lake")


@pytest.mark.parametrize("verdict", ["delivered", "filtered", "routed_elsewhere"])
def test_a_batch_with_one_outcome_proves_it_without_the_record(verdict: str) -> None:
    ledger = channel(row(counts={"read": 9, verdict: 9}))
    assert outcome(ledger) == (verdict, Evidence.LEDGER, [])


def test_a_batch_that_was_not_finished_or_has_added_events_proves_nothing() -> None:
    assert proven(LedgerState.PLANNED, {"delivered": 0}) is None
    assert proven(LedgerState.ABANDONED, {"delivered": 3}) is None
    assert proven(LedgerState.DONE, {"read": 1, "added": 1, "delivered": 2}) is None


def test_what_the_ledger_does_not_prove_is_evaluated_again() -> None:
    found, _ = concluded(channel(row()), [again()])
    assert (found.outcome, found.evidence, found.component) == (
        "filtered",
        Evidence.EVALUATION,
        "sources.shop.interceptors[0]",
    )
    assert outcome(channel(row())) == ("unknown", Evidence.NONE, [])


def test_another_revision_says_nothing() -> None:
    assert outcome(channel(row()), again(revision=3)) == ("unknown", Evidence.NONE, [])


def test_an_evaluation_that_the_ledger_contradicts_is_no_outcome() -> None:
    assert outcome(channel(row()), again("unrouted")) == ("unknown", Evidence.NONE, ["EVALUATION_DISAGREES"])


def test_no_record_at_an_offset_is_said() -> None:
    missing = Evaluated(revision=2, source="shop", missing=True)
    assert outcome(channel(row()), missing) == ("no_record", Evidence.SOURCE, [])


def test_an_open_batch_is_in_flight_and_an_abandoned_one_unknown() -> None:
    assert outcome(channel(row(LedgerState.PLANNED)), again()) == ("in_flight", Evidence.LEDGER, ["BATCH_OPEN"])
    assert outcome(channel(row(LedgerState.ABANDONED)), again()) == ("unknown", Evidence.NONE, ["BATCH_ABANDONED"])


@pytest.mark.parametrize(
    ("more", "found", "code"),
    [
        ({"position": None, "first": None}, "not_read", "NO_POSITION"),
        ({"position": 5}, "not_read", "NOT_READ_YET"),
        ({"position": 6, "first": None}, "skipped", "SKIPPED"),
        ({"position": 90, "first": 50}, "skipped", "SKIPPED"),
        ({"position": 90, "first": 0}, "skipped", "SKIPPED"),
    ],
)
def test_a_record_without_a_batch_was_not_read_or_was_skipped(more: dict[str, Any], found: str, code: str) -> None:
    assert outcome(channel(**more)) == (found, Evidence.LEDGER, [code])


def test_the_batch_that_moved_the_position_decides_and_not_its_replay() -> None:
    replay = row(LedgerState.REPLAYED, counts={"read": 9, "delivered": 9}, revision=4)
    ledger = channel(row(counts={"read": 9, "filtered": 9}), replay)
    assert outcome(ledger)[0] == "filtered"


def test_what_the_sink_holds_is_more_than_an_evaluation_or_an_abandoned_batch() -> None:
    there = SinkRecord(topic="out", partition=2, offset=9)
    search = SinkSearch(row=1, channel="lake", sink="lake", records=[there], searched=3, complete=True)
    for ledger in (channel(row()), channel(row(LedgerState.ABANDONED))):
        found, unknown = concluded(ledger, [again("delivered")], [search])
        assert (found.outcome, found.evidence, found.searches, unknown) == ("delivered", Evidence.SINK, [search], [])
    other = search.model_copy(update={"row": 8})
    assert concluded(channel(row()), [again()], [other])[0].outcome == "filtered", "a search for another channel's row"


def test_a_record_that_the_whole_sink_does_not_have_is_not_delivered_by_evaluation() -> None:
    nothing = SinkSearch(row=1, channel="lake", sink="lake", searched=3, complete=True)
    found, unknown = concluded(channel(row()), [again("delivered")], [nothing])
    assert (found.outcome, [each.code for each in unknown]) == ("unknown", ["NOT_IN_SINK"])
    found, unknown = concluded(channel(row(counts={"read": 3, "delivered": 3})), [], [nothing])
    assert (found.outcome, found.evidence, [each.code for each in unknown]) == ("delivered", "ledger", ["NOT_IN_SINK"])
    in_part = nothing.model_copy(update={"complete": False})
    found, unknown = concluded(channel(row()), [again("delivered")], [in_part])
    assert (found.outcome, found.evidence, unknown) == ("delivered", "evaluation", [])


def test_merged_batches_are_said() -> None:
    assert outcome(channel(row(last=9)), again()) == ("filtered", Evidence.EVALUATION, ["BATCHES_MERGED"])


def searched(row_id: int = 1, *, found: bool, complete: bool = True) -> SinkSearch:
    records = [SinkRecord(topic="out", partition=0, offset=7)] if found else []
    return SinkSearch(row=row_id, channel="lake", sink="lake", records=records, complete=complete)


@pytest.mark.parametrize(
    ("search", "evidence", "words"),
    [
        (searched(found=True), Evidence.SINK, "has the record, and may get it again"),
        (searched(found=False), Evidence.LEDGER, "No sink has the record yet"),
        (searched(found=False, complete=False), Evidence.LEDGER, "not acknowledged."),
    ],
)
def test_what_a_sink_has_of_an_open_batch_is_not_delivered_yet(
    search: SinkSearch, evidence: Evidence, words: str
) -> None:
    ledger = channel(row(LedgerState.PLANNED, counts={}, sink="", done_at=None))
    found, (unknown,) = concluded(ledger, [], [search])
    assert (found.outcome, found.evidence, unknown.code) == (TraceOutcome.IN_FLIGHT, evidence, "BATCH_OPEN")
    assert "not finished" in unknown.reason
    assert words in unknown.reason


def test_what_a_sink_has_of_a_finished_batch_is_delivered_whatever_is_open_behind_it() -> None:
    ledger = channel(row(), row(LedgerState.PLANNED, id=2, counts={}))
    found, _ = concluded(ledger, [], [searched(2, found=True), searched(1, found=True)])
    assert (found.outcome, found.evidence) == (TraceOutcome.DELIVERED, Evidence.SINK)
