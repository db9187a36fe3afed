"""One pass over a batch for several channels: each event becomes a record of every channel that delivers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import Column, Observation
from pyspark.sql import functions as f

from workers.agent.graph.batch import Attempt
from workers.agent.graph.kept import Write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


Passes = Sequence[tuple[Attempt, Sequence[Column]]]


def written_by_kept_plan(passes: Passes, options: Mapping[str, str], records: Callable[[str], DataFrame]) -> bool:
    """Write one pass or several to Kafka by the plan of an earlier batch; false where none serves, and nothing was
    written. Columns are the same objects for every batch. `records`: what a plan is made of, counted under a name."""
    first, _ = passes[0]
    if first.plans is None or not all(attempt.plans for attempt, _ in passes):
        return False
    parts = tuple(part for attempt, columns in passes for part in attempt.parts(columns))
    write = Write(tuple(attempt.sink for attempt, _ in passes), parts, options)
    values = first.plans.write(write, first.given, records)
    if values is None:
        return False
    for number, (attempt, _) in enumerate(passes):
        attempt.counted_as(values, f"{number}:" if len(passes) > 1 else "")
    return True


def together(passes: Passes, counted: str | None = None) -> DataFrame:
    """The records of all passes, which are of the same batch. Each has its own columns, and all have the same names and
    types, the first of which is never null. What becomes of each event in each channel is counted on the way, once:
    records are made behind the count, since an event that is counted once may become as many records as channels."""
    own_or_named = counted or Observation()
    judgements = [(f"{n}:", attempt.counted_in(own_or_named, f"{n}:")) for n, (attempt, _) in enumerate(passes)]
    (_, first), batch = judgements[0], passes[0][0]
    judged = {name: column for mark, each in judgements for name, column in each.judged(mark).items()}
    columns = [*map(f.col, first.own), *(column.alias(name) for name, column in judged.items())]
    counters = [column for mark, each in judgements for column in each.counters(mark)]
    frame = batch.frame.select(*columns).observe(own_or_named, *first.sources, *counters)
    records = []
    for (mark, each), (_, own) in zip(judgements, passes, strict=True):
        record, arrives = f.struct(*own), each.arrives(mark)
        records.append(record if arrives is None else f.when(arrives, record))
    made: DataFrame = frame.select(f.inline(f.array(*records)))
    return made.where(f.col(made.columns[0]).isNotNull())
