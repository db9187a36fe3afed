"""One pass over a batch for several channels: each event becomes a record of every channel that delivers it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import Column, Observation
from pyspark.sql import functions as f

from workers.agent.graph.batch import Attempt

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def together(passes: Sequence[tuple[Attempt, Sequence[Column]]]) -> DataFrame:
    """The records of all passes, which are of the same batch. Each has its own columns, and all have the same names and
    types, the first of which is never null. What becomes of each event in each channel is counted on the way, once:
    records are made behind the count, since an event that is counted once may become as many records as channels."""
    counted = Observation()
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
