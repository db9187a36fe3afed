"""What becomes of events that an interceptor cannot process, by its `on_error`."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as f

from workers.agent.base import json_text
from workers.agent.base.event import Event
from workers.agent.base.findings import blocking_text
from workers.agent.graph.component import Place

_CAUSE = "cause"


def with_errors(event: Event, error: Column, on_error: str, place: Place) -> Event:
    """The event with its verdict; `error` says what is wrong with it, null where nothing is. What was decided before
    counts."""
    if on_error == "dead_letter":
        return event.failed_where(error.isNotNull(), place.path, error)
    if on_error == "drop":
        return event.keep_where(error.isNull(), place.number)
    return event.with_body(f.when(error.isNotNull() & event.undecided, _failing(error, place)).otherwise(event.body))


def _failing(error: Column, place: Place) -> Column:
    """Raises what blocks the pipeline, with the cause in it."""
    before, after = blocking_text(place.path, "INTERCEPTOR_FAILED", _CAUSE).split(f'"{_CAUSE}"')
    return f.raise_error(f.concat(f.lit(before), json_text.quoted(error), f.lit(after))).cast("binary")
