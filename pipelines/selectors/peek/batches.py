"""Which batches have delivered records, by what the records say that they were made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pipelines.domain.base.states import LedgerState
from pipelines.domain.peek.protocol import PeekedRecord, RecordOrigin
from pipelines.models import LedgerBatch, Pipeline

MOST_ROWS = 5_000
"""Newest rows of the ledger that are looked through, of each channel."""


def with_batches(pipeline: Pipeline, records: Iterable[PeekedRecord]) -> list[PeekedRecord]:
    """The same records, with run and batch where the ledger has one of their origins. The newest batch of an offset is
    the one that delivered it."""
    found = list(records)
    own = [each.origin for each in found if each.origin and each.origin.pipeline == pipeline.name]
    known: dict[RecordOrigin, RecordOrigin] = {}
    for source, channel in {(each.source, each.channel) for each in own}:
        of_channel = {each for each in own if (each.source, each.channel) == (source, channel)}
        known |= _matched(pipeline, source, channel, of_channel)
    return [each.model_copy(update={"origin": known[each.origin]}) if each.origin in known else each for each in found]


def _matched(
    pipeline: Pipeline, source: str, channel: str, origins: set[RecordOrigin]
) -> Iterator[tuple[RecordOrigin, RecordOrigin]]:
    left = set(origins)
    rows = LedgerBatch.objects.filter(pipeline=pipeline, source=source, channel=channel, state=LedgerState.DONE)
    columns = ("run__number", "first_batch", "last_batch", "done_at", "ranges")
    for run, first, last, done_at, ranges in rows.order_by("-pk").values_list(*columns)[:MOST_ROWS].iterator():
        batch = {"run": run, "first_batch": first, "last_batch": last, "delivered_at": done_at}
        held = {each for each in left if any(_holds(item, each) for item in ranges)}
        yield from ((each, each.model_copy(update=batch)) for each in held)
        left -= held
        if not left:
            return


def _holds(item: Mapping[str, int | str], origin: RecordOrigin) -> bool:
    place = origin.place
    same = (item["topic"], item["partition"]) == (place.topic, place.partition)
    return same and int(item["start"]) <= place.offset < int(item["end"])
