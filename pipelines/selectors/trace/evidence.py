"""What the ledger proves of one record."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from pipelines.domain.base.states import DeadLetterState, LedgerState
from pipelines.domain.ledger.ledger import COUNTERS
from pipelines.domain.trace.conclusion import proven
from pipelines.domain.trace.covering import Row, covering
from pipelines.domain.trace.protocol import ChannelLedger, LedgerRow, LetterRow
from pipelines.domain.trace.question import Place
from pipelines.models import DeadLetter, LedgerBatch, Pipeline, Position, Revision

MOST_ROWS = 50
"""Rows that are shown of one record: each reading of it is one in each channel."""
MOST_LETTERS = 50

Query = tuple[str, str]


def ledger_of(pipeline: Pipeline, place: Place, known: list[Query]) -> list[ChannelLedger]:
    """By channel, for the channels of `known`, and for others that have had the partition."""
    covered = covering(_rows(pipeline), place)
    found: dict[Query, list[LedgerRow]] = defaultdict(list)
    newest = sorted(covered.rows)[-MOST_ROWS:]
    for batch in LedgerBatch.objects.filter(pk__in=newest).select_related("run__revision", "operation").order_by("pk"):
        found[(batch.source, batch.channel)].append(_row(batch))
    positions, letters = _positions(pipeline, place), _letters(pipeline, place)
    queries = dict.fromkeys([*known, *sorted({*positions, *found, *letters})])
    return [
        ChannelLedger(
            source=query[0],
            channel=query[1],
            offset=place.offset,
            position=positions.get(query),
            first=covered.first.get(query),
            rows=found.get(query, []),
            letters=letters.get(query, []),
        )
        for query in queries
    ]


def _rows(pipeline: Pipeline) -> Iterator[Row]:
    """Replayed batches are known by the source of their replay."""
    values = LedgerBatch.objects.filter(pipeline=pipeline).order_by("pk")
    for pk, source, channel, state, open_ended, ranges in values.values_list(
        "pk", "source", "channel", "state", "open_ended", "ranges"
    ).iterator():
        yield Row(pk, (source, channel), open_ended and state == LedgerState.PLANNED, ranges)


def _row(batch: LedgerBatch) -> LedgerRow:
    state = LedgerState(batch.state)
    counts = {name: getattr(batch, name) for name in COUNTERS}
    return LedgerRow(
        id=batch.pk,
        run=batch.run.number,
        revision=batch.run.revision.number,
        source=batch.source,
        channel=batch.channel,
        state=state,
        first_batch=batch.first_batch,
        last_batch=batch.last_batch,
        merged=batch.last_batch > batch.first_batch,
        counts=counts,
        sink=batch.sink,
        attempts=batch.attempts,
        planned_at=batch.operation.created_at if batch.operation else batch.planned_at,
        done_at=batch.done_at,
        operation=batch.operation_id,
        proves=proven(state, counts),
    )


def _positions(pipeline: Pipeline, place: Place) -> dict[Query, int]:
    rows = Position.objects.filter(pipeline=pipeline, topic=place.topic, partition=place.partition)
    return {
        (source, channel): offset for source, channel, offset in rows.values_list("source", "channel", "next_offset")
    }


def _letters(pipeline: Pipeline, place: Place) -> dict[Query, list[LetterRow]]:
    rows = DeadLetter.objects.filter(
        pipeline=pipeline, topic=place.topic, partition=place.partition, offset=place.offset
    )
    found: dict[Query, list[LetterRow]] = defaultdict(list)
    for each in rows.select_related("run").defer("body", "key", "headers", "repair").order_by("-pk")[:MOST_LETTERS]:
        found[(each.source, each.channel)].insert(0, _letter(each))
    return found


def _letter(letter: DeadLetter) -> LetterRow:
    return LetterRow(
        id=letter.dead_letter_id,
        source=letter.source,
        channel=letter.channel,
        component=letter.component,
        cause=letter.cause,
        at=letter.at,
        run=letter.run.number,
        state=DeadLetterState(letter.state),
        settled_at=letter.settled_at,
        settled_by=letter.settled_by,
        sent_at=letter.sending_since,
    )


def place_of_letter(pipeline: Pipeline, letter: str) -> Place | None:
    """The place of the record that a dead letter was made of, as long as the letter is kept."""
    rows = DeadLetter.objects.filter(pipeline=pipeline, dead_letter_id=letter)
    found = rows.values("topic", "partition", "offset").first()
    return Place(**found) if found else None


def definitions(pipeline: Pipeline, numbers: list[int]) -> dict[int, dict[str, object]]:
    """The definitions of some revisions."""
    rows = Revision.objects.filter(pipeline=pipeline, number__in=numbers)
    return dict(rows.values_list("number", "definition"))
