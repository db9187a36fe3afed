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


def written_by_kept_plan(passes: Passes, options: Mapping[str, str], checked: Callable[[DataFrame], DataFrame]) -> bool:
    """Write all passes to Kafka by the plan of an earlier batch; false where none serves, and nothing was written."""
    if not all(attempt.plans for attempt, _ in passes):
        return False
    parts = tuple(part for attempt, columns in passes for part in attempt.parts(columns))
    write = Write(tuple(attempt.sink for attempt, _ in passes), parts, options)
    values = passes[0][0].by_kept_plan(write, lambda counted: checked(together(passes, counted)))
    for number, (attempt, _) in enumerate(passes if values else ()):
        attempt.counted_as(values or {}, f"{number}:")
    return values is not None


def together(passes: Passes, counted: Observation | str | None = None) -> DataFrame:
    """The records of all passes, which are of the same batch. Each has its own columns, and all have the same names and
    types, the first of which is never null. What becomes of each event in each channel is counted on the way, once:
    records are made behind the count, since an event that is counted once may become as many records as channels."""
    counted = counted or Observation()
    judgements = [(f"{n}:", attempt.counted_in(counted, f"{n}:")) for n, (attempt, _) in enumerate(passes)]
    (_, first), batch = judgements[0], passes[0][0]
    judged = {name: column for mark, each in judgements for name, column in each.judged(mark).items()}
    columns = [*map(f.col, first.own), *(column.alias(name) for name, column in judged.items())]
    counters = [column for mark, each in judgements for column in each.counters(mark)]
    frame = batch.frame.select(*columns).observe(counted, *first.sources, *counters)
    records = []
    for (mark, each), (_, own) in zip(judgements, passes, strict=True):
        record, arrives = f.struct(*own), each.arrives(mark)
        records.append(record if arrives is None else f.when(arrives, record))
    made: DataFrame = frame.select(f.inline(f.array(*records)))
    return made.where(f.col(made.columns[0]).isNotNull())
