"""Records in quarantine: dead letters before any interceptor or sink sees them, in their place in the books."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as f

from pipelines.domain.definitions.document.spec import Read
from pipelines.domain.runs.crashes import QUARANTINE, Quarantined
from workers.agent.base.event import Event


def of_read(ranges: Sequence[Quarantined], read: Read) -> list[Quarantined]:
    """Those of a read's channels."""
    return [each for each in ranges if each.source == read.source and each.channel in read.channels]


def marked(event: Event, ranges: Sequence[Quarantined]) -> Event:
    """The event, with a problem where its record is in quarantine; the first problem of an event counts."""
    if not ranges:
        return event
    cause = f.coalesce(*(f.when(_within(each), f.lit(each.cause)) for each in ranges))
    return event.failed_where(reduce(or_, map(_within, ranges)), QUARANTINE, cause)


def _within(each: Quarantined) -> Column:
    place = (f.col("topic") == each.topic) & (f.col("partition") == each.partition)
    return place & (f.col("offset") >= each.start) & (f.col("offset") < each.end)
