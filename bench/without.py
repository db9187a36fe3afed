"""An agent that counts less, to see what counting costs: `python -m bench.without WHAT RUNDIR`, for `bench` alone.

Without the `ledger` it plans and records no batch, asks no sink for its ends and counts no rows: what it delivers can
be neither resumed nor accounted for. Without `counts` it has the sums of the ledger alone, and neither the parts of
components nor bytes. All else is the agent's own code, and no setting of Headgate leads here.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as f
from pyspark.sql.classic.dataframe import DataFrame

from pipelines.domain.ledger.journal import Done, Planned
from pipelines.domain.ledger.ledger import Counts
from workers.agent import __main__ as agent
from workers.agent.base.log import say
from workers.agent.components.sink import kafka
from workers.agent.graph import batch
from workers.agent.run_dir import journal_writer


def without_ledger() -> None:
    """Replace the ledger's parts in this process. Raises AttributeError where the agent no longer has them."""
    append = journal_writer.Journal.append

    def append_all_but_batches(self: journal_writer.Journal, *payloads: Any) -> None:
        if kept := [each for each in payloads if not isinstance(each, Planned | Done)]:
            append(self, *kept)

    _replace(journal_writer.Journal, "append", append_all_but_batches)
    _replace(kafka.Builder, "ends", lambda self: [])
    _replace(DataFrame, "observe", lambda self, *counters: self)
    _replace(batch, "_values", lambda observation: {})


def without_counts() -> None:
    """Replace what counts by component and adds up bytes, as it was before there were either. Raises AttributeError
    where the agent no longer has it."""
    counted = batch.counted

    def sums_alone(values: Mapping[str, int]) -> tuple[Counts, int]:
        counts, held = counted(values)
        return counts.model_copy(update={"components": None}), held

    def judged(self: batch.Classification, mark: str = "") -> dict[str, Column]:
        return {} if self.chosen is None else {f"{mark}verdict": self.chosen}

    _replace(batch, "counted", sums_alone)
    _replace(batch.Classification, "judged", judged)
    _replace(batch.Classification, "counters", _sums)


def _sums(self: batch.Classification, mark: str = "") -> list[Column]:
    """A counter for each kind of verdict, whoever decides it."""
    if self.chosen is None:
        return [f.count(f.lit(1)).alias(f"{mark}{batch.DELIVERED}")]
    kinds: dict[str, list[int]] = defaultdict(list)
    for number, each in self.verdicts.items():
        kinds[each.counter].append(number)
    return [f.count_if(f.col(f"{mark}verdict").isin(found)).alias(mark + kind) for kind, found in kinds.items()]


def _replace(owner: Any, name: str, value: Any) -> None:
    getattr(owner, name)
    setattr(owner, name, value)


WITHOUT: dict[str, Callable[[], None]] = {"ledger": without_ledger, "counts": without_counts}

if __name__ == "__main__":
    code = 1
    try:
        WITHOUT[sys.argv[1]]()
        code = agent.main(Path(sys.argv[2]))
    except BaseException:
        say(traceback.format_exc())
    os._exit(code)
