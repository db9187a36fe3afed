"""Journals become books exactly once, and whatever does not adjoin is counted and told at once."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.domain.base.positions import Frozen, PartitionRange
from pipelines.domain.base.states import RunState
from pipelines.domain.ledger import journal
from pipelines.domain.ledger.journal import Entry, EntryKind, JournalCorrupt, SinkPosition
from pipelines.domain.ledger.ledger import Counts
from pipelines.models import Event, LedgerBatch, Position, Run
from pipelines.selectors.lifecycle.supervision import ledger_heads, totals
from pipelines.services.ledger.journals import ingest
from tests.factories import RunFactory

pytestmark = pytest.mark.django_db
Q = {"source": "shop", "channel": "main"}


def rng(start: int, end: int, partition: int = 0) -> PartitionRange:
    return PartitionRange(topic="orders", partition=partition, start=start, end=end)


def planned(batch: int, *ranges: PartitionRange) -> journal.Planned:
    return journal.Planned(**Q, batch=batch, ranges=list(ranges))


def done(batch: int, *ranges: PartitionRange, **fields: Any) -> journal.Done:
    read = sum(r.end - r.start for r in ranges)
    counts = fields.pop("counts", Counts(read=read, delivered=read))
    return journal.Done(**Q, batch=batch, ranges=list(ranges), counts=counts, sink=fields.pop("sink", "out"), **fields)


KINDS = {
    journal.Planned: EntryKind.PLANNED,
    journal.Done: EntryKind.DONE,
    journal.Resolved: EntryKind.RESOLVED,
    journal.Positions: EntryKind.POSITIONS,
    journal.SinkFailed: EntryKind.SINK_FAILED,
    journal.SourceFailed: EntryKind.SOURCE_FAILED,
    journal.Exited: EntryKind.EXIT,
    journal.Replayed: EntryKind.REPLAYED,
    journal.SinkSwitched: EntryKind.SINK_SWITCHED,
}


def take(run: Run, *payloads: Frozen) -> bool:
    """Ingest payloads as the next entries of the run's journal."""
    entries = [
        Entry(n=run.journal_seq + i, epoch=run.number, at=1.0, kind=KINDS[type(p)], data=p.model_dump(mode="json"))
        for i, p in enumerate(payloads, start=1)
    ]
    taken = ingest(run=run, entries=entries, offset=run.journal_offset + 100)
    run.refresh_from_db()
    return taken is not None


@pytest.fixture
def run() -> Run:
    return RunFactory.create()


def batches(**filters: Any) -> list[LedgerBatch]:
    return list(LedgerBatch.objects.filter(**filters).order_by("first_batch"))


def test_adjoining_batches_that_come_together_are_one_row(run: Run) -> None:
    take(run, planned(0, rng(0, 10)), done(0, rng(0, 10)), planned(1, rng(10, 30)), done(1, rng(10, 30)))
    (row,) = batches()
    assert (row.first_batch, row.last_batch, row.read, row.delivered, row.state) == (0, 1, 30, 30, "done")
    assert row.ranges == [{"topic": "orders", "partition": 0, "start": 0, "end": 30}]
    assert (Position.objects.get().next_offset, run.journal_seq, run.journal_offset) == (30, 4, 100)


def test_batches_of_different_sinks_stay_apart(run: Run) -> None:
    take(run, done(0, rng(0, 10)), done(1, rng(10, 20), sink="other"))
    assert [row.sink for row in batches()] == ["out", "other"]


def test_taking_in_the_same_entries_twice_changes_nothing(run: Run) -> None:
    stale = Run.objects.get(pk=run.pk)
    assert take(run, done(0, rng(0, 10)))
    assert not take(stale, done(0, rng(0, 10)))
    assert sum(row.read for row in batches()) == 10


def test_a_planned_batch_is_open_until_it_is_done(run: Run) -> None:
    ends = {"out": [SinkPosition(topic="lake", partition=0, offset=7, topic_id="one")]}
    entry = planned(0, rng(0, 10)).model_copy(update={"sink_ends": ends, "open_ended": True})
    take(run, entry)
    (row,) = batches()
    assert row.state == "planned"
    assert planned_heads(run) == [entry.attempted()]
    take(run, done(0, rng(0, 10), duplicates_max=3, attempts=2))
    (row,) = batches()
    assert (row.state, row.duplicates_max, row.attempts) == ("done", 3, 2)


def planned_heads(run: Run) -> list[journal.Planned | None]:
    return [head.planned for head in ledger_heads(run.pipeline_id, run.lineage, [("shop", "main")])]


def test_the_next_run_knows_how_often_an_open_batch_was_attempted(run: Run) -> None:
    first = planned(0, rng(0, 10))
    failed = journal.SinkFailed(**Q, batch=0, sink="out", attempt=1, cause="away")
    take(run, first, failed)
    take(run, journal.SourceFailed(**Q, batch=0, attempt=2, cause="away"))
    assert planned_heads(run) == [first.attempted(3)]
    take(run, first.attempted(3), failed)
    assert planned_heads(run) == [first.attempted(5)]


def test_a_batch_that_a_later_run_of_the_lineage_finishes_has_one_row(run: Run) -> None:
    take(run, planned(0, rng(0, 10)))
    run.state = "ENDED"
    run.save()
    later = RunFactory.create(pipeline=run.pipeline, number=run.number + 1, lineage=run.lineage)
    resolved = journal.Resolved(**Q, batch=0, delivered_before=4)
    take(later, resolved, planned(0, rng(0, 10)))
    (row,) = batches()
    assert (row.run_id, row.duplicates_max) == (later.pk, 4)
    take(later, done(0, rng(0, 10), duplicates_max=4))
    (row,) = batches()
    assert (row.run_id, row.state, row.duplicates_max, row.overlaps) == (later.pk, "done", 4, 0)
    assert Event.objects.filter(kind="batch.resolved").exists()


def test_a_batch_without_a_fixed_end_of_which_the_sink_holds_nothing_leaves_no_trace(run: Run) -> None:
    open_ended = journal.Planned(**Q, batch=0, ranges=[rng(5, 5)], open_ended=True)
    take(run, open_ended)
    take(run, journal.Resolved(**Q, batch=0, delivered_before=3))
    assert [batch.duplicates_max for batch in batches()] == [3]
    take(run, journal.Resolved(**Q, batch=0, delivered_before=0))
    assert batches() == []


def test_a_gap_is_counted_and_told(run: Run) -> None:
    take(run, done(0, rng(0, 10)), done(1, rng(15, 20)))
    assert [row.gaps for row in batches()] == [0, 5]
    event = Event.objects.get(kind="ledger.gap")
    assert "5 records were skipped" in event.message
    assert event.data == {"topic": "orders", "partition": 0, "expected": 10, "actual": 15}


def test_an_overlap_is_counted_and_told_across_passes(run: Run) -> None:
    take(run, done(0, rng(0, 10)))
    take(run, done(1, rng(7, 20)))
    assert [row.overlaps for row in batches()] == [0, 3]
    assert Event.objects.filter(kind="ledger.overlap").count() == 1


def test_a_new_partition_has_no_history_to_disagree_with(run: Run) -> None:
    take(run, done(0, rng(0, 10)), done(1, rng(10, 20), rng(0, 5, partition=1)))
    assert sum(row.gaps + row.overlaps for row in batches()) == 0
    assert {p.partition: p.next_offset for p in Position.objects.all()} == {0: 20, 1: 5}


def test_books_that_do_not_balance_are_told(run: Run) -> None:
    take(run, done(0, rng(0, 10), counts=Counts(read=10, delivered=8)))
    assert "2 records have no verdict" in Event.objects.get(kind="ledger.unbalanced").message


FIRST, SECOND = "sources.shop.interceptors[0]", "sources.shop.interceptors[1]"


def filtered(**parts: int) -> Counts:
    """Ten records, four of which these interceptors have filtered."""
    components = {path: {"filtered": number} for path, number in zip((FIRST, SECOND), parts.values(), strict=True)}
    return Counts(read=10, delivered=6, filtered=4, components=components)


def test_batches_of_one_row_add_up_what_each_component_has_counted(run: Run) -> None:
    take(run, done(0, rng(0, 10), counts=filtered(a=1, b=3)), done(1, rng(10, 20), counts=filtered(a=4, b=0)))
    (row,) = batches()
    assert row.components == {FIRST: {"filtered": 5}, SECOND: {"filtered": 3}}
    assert (row.unattributed, row.counts.balanced) == (0, True)


def test_components_that_count_less_or_more_than_their_sum_unbalance_the_ledger(run: Run) -> None:
    take(run, done(0, rng(0, 10), counts=filtered(a=1, b=1)), done(1, rng(10, 20), counts=filtered(a=4, b=2)))
    first, second = Event.objects.filter(kind="ledger.unbalanced").order_by("id")
    assert "Batch 0 of shop.main: the counts of its components differ from their sums by 2 records" in first.message
    assert "Batch 1 of" in second.message
    assert [row.unattributed for row in batches()] == [4], "what is missing in one batch is not made good by another"
    found = totals([run.pipeline_id])[run.pipeline_id]
    assert (found.difference, found.unattributed) == (0, 4)


def test_what_an_agent_of_an_earlier_version_has_counted_is_not_counted_by_component(run: Run) -> None:
    take(run, done(0, rng(0, 10), counts=Counts(read=10, delivered=6, filtered=4)))
    (row,) = batches()
    assert (row.components, row.counts.parts, row.unattributed) == (None, None, 0)
    assert not Event.objects.filter(kind="ledger.unbalanced").exists()


def test_a_position_that_was_set_is_no_gap(run: Run) -> None:
    change = journal.PositionChange(topic="orders", partition=0, new=100)
    take(run, journal.Positions(**Q, changes=[change], origin="start_from: latest"), done(0, rng(100, 110)))
    assert batches()[0].gaps == 0
    assert "start_from: latest" in Event.objects.get(kind="position.changed").message


def test_attempts_on_a_failing_sink_are_one_event_per_pass(run: Run) -> None:
    take(run, *[journal.SinkFailed(**Q, batch=0, sink="out", attempt=n, cause="away") for n in (1, 2, 3)])
    assert "attempt 3" in Event.objects.get(kind="sink.failed").message


def switched(batch: int, sink: str = "a", **fields: Any) -> journal.SinkSwitched:
    out = {"cause": "away", "penalty_ms": 2000, "failures": 1, "until": 1e9} | fields
    return journal.SinkSwitched(**Q, batch=batch, group="g", sink=sink, to="b", **out)


def test_every_switch_of_a_group_is_an_event_with_sink_cause_and_penalty(run: Run) -> None:
    take(run, switched(0), switched(4, failures=2, penalty_ms=4000))
    first, second = Event.objects.filter(kind="sink.switched").order_by("id")
    assert first.message.startswith("Sink a of the group g failed (1 in a row): away.")
    assert first.message.endswith("b is tried next. It is not tried for 2 s.")
    assert (second.data["sink"], second.data["cause"], second.data["penalty_ms"]) == ("a", "away", 4000)


def test_failures_without_a_penalty_are_one_event_per_pass(run: Run) -> None:
    take(run, *[switched(n, penalty_ms=0, failures=n + 1) for n in range(30)])
    assert "30 in a row" in Event.objects.get(kind="sink.switched").message


def test_penalties_go_on_in_the_next_run_until_the_sink_came_back(run: Run) -> None:
    take(run, switched(0), switched(0, sink="c", failures=3), switched(2, failures=2))
    take(run, switched(3, cause="accepts batches again", penalty_ms=0, failures=0, until=0.0))
    assert Event.objects.get(kind="sink.recovered").message.endswith("accepts batches again; b takes the batches.")
    take(run, switched(9, sink="d", failures=5, until=2e9))
    (head, other) = ledger_heads(run.pipeline_id, run.lineage, [("shop", "main"), ("shop", "other")])
    assert [(each.sink, each.failures, each.until) for each in head.penalties] == [("c", 3, 1e9), ("d", 5, 2e9)]
    assert other.penalties == []


def test_the_drivers_last_word_is_kept(run: Run) -> None:
    take(run, journal.Exited(code=14, reason="the keeper has ended"))
    assert (run.exit_code, run.exit_reason) == (14, "the keeper has ended")


def test_entries_of_another_epoch_are_refused(run: Run) -> None:
    entry = Entry(n=1, epoch=run.number + 1, at=1.0, kind=EntryKind.EXIT, data={"code": 0, "reason": ""})
    with pytest.raises(JournalCorrupt, match="epoch"):
        ingest(run=run, entries=[entry], offset=10)


def test_an_entry_that_is_not_what_it_says_takes_nothing_in(run: Run) -> None:
    good = Entry(n=1, epoch=run.number, at=1.0, kind=EntryKind.DONE, data=done(0, rng(0, 10)).model_dump(mode="json"))
    bad = Entry(n=2, epoch=run.number, at=1.0, kind=EntryKind.DONE, data={"batch": -1})
    with pytest.raises(JournalCorrupt, match="entry 2"):
        ingest(run=run, entries=[good, bad], offset=10)
    run.refresh_from_db()
    assert (run.journal_seq, batches()) == (0, [])


def test_the_heads_of_a_launch_are_the_ledgers_last_word(run: Run) -> None:
    take(run, done(0, rng(0, 10)), done(1, rng(10, 20)), planned(2, rng(20, 25)))
    (head, empty) = ledger_heads(run.pipeline_id, run.lineage, [("shop", "main"), ("shop", "other")])
    assert (head.done_batch, head.positions[0].offset) == (1, 20)
    assert head.planned == planned(2, rng(20, 25)).attempted()
    assert (empty.done_batch, empty.positions, empty.planned) == (None, [], None)


def test_a_head_is_incomplete_from_a_damaged_journal_until_the_next_run_has_finished_a_batch(run: Run) -> None:
    def heads() -> list[bool]:
        found = ledger_heads(run.pipeline_id, run.lineage, [("shop", "main"), ("shop", "other")])
        return [each.incomplete for each in found]

    take(run, done(0, rng(0, 10)))
    Run.objects.filter(pk=run.pk).update(state=RunState.ENDED, journal_whole=True)
    assert heads() == [False, False]
    Run.objects.filter(pk=run.pk).update(journal_whole=False)
    assert heads() == [True, True]
    number = run.number + 1
    following = RunFactory.create(pipeline=run.pipeline, number=number, epoch=number, lineage=run.lineage)
    assert heads() == [True, True]
    take(following, done(1, rng(10, 20)))
    assert heads() == [False, True]


def test_a_new_lineage_has_positions_and_no_batches(run: Run) -> None:
    take(run, done(0, rng(0, 10)))
    (head,) = ledger_heads(run.pipeline_id, run.lineage + 1, [("shop", "main")])
    assert (head.done_batch, head.positions[0].offset) == (None, 10)


def test_a_thousand_batches_cost_a_fixed_number_of_queries(run: Run, django_assert_max_num_queries: Any) -> None:
    payloads: list[Frozen] = []
    for n in range(1000):
        payloads += [planned(n, rng(n, n + 1)), done(n, rng(n, n + 1))]
    with django_assert_max_num_queries(10):
        take(run, *payloads)
    assert batches()[0].read == 1000
