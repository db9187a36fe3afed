"""An agent that keeps no books, to see what they cost: `python -m bench.without_ledger RUNDIR`, for `bench` alone.

It plans and records no batch, asks no sink for its ends and counts no rows; all else is the agent's own code. What it
delivers can be neither resumed nor accounted for, so no setting of Headgate leads here.
"""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from typing import Any

from pyspark.sql.classic.dataframe import DataFrame

from pipelines.domain.ledger.journal import Done, Planned
from workers.agent import __main__ as agent
from workers.agent.base.log import say
from workers.agent.components.sink import kafka
from workers.agent.graph import batch
from workers.agent.run_dir import journal_writer


def switch_off() -> None:
    """Replace the ledger's parts in this process. Raises AttributeError where the agent no longer has them."""
    append = journal_writer.Journal.append

    def append_all_but_batches(self: journal_writer.Journal, payload: Any) -> None:
        if not isinstance(payload, Planned | Done):
            append(self, payload)

    _replace(journal_writer.Journal, "append", append_all_but_batches)
    _replace(kafka.Builder, "ends", lambda self: [])
    _replace(DataFrame, "observe", lambda self, *counters: self)
    _replace(batch, "_values", lambda observation: {})


def _replace(owner: Any, name: str, value: Any) -> None:
    getattr(owner, name)
    setattr(owner, name, value)


if __name__ == "__main__":
    code = 1
    try:
        switch_off()
        code = agent.main(Path(sys.argv[1]))
    except BaseException:
        say(traceback.format_exc())
    os._exit(code)
