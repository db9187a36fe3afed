"""One batch of a query: what it reads, and the attempts to deliver it, counted in the same pass as the write."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.sql import Observation
from pyspark.sql import functions as f

from pipelines.domain.journal import Planned
from pipelines.domain.ledger import Counts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_COUNTS_TIMEOUT = 30.0


@dataclass(frozen=True)
class Batch:
    """The frame of a batch and its journal entry. `known` counts: of a sink that holds the batch already, or None."""

    frame: DataFrame
    planned: Planned

    def attempt(self) -> Attempt:
        """Try to deliver it; counts belong to one attempt only."""
        return Attempt(self)


class Attempt:
    """One pass over a batch: `events` is what passed the interceptors; `counts` once that frame was written."""

    def __init__(self, batch: Batch) -> None:
        self.planned = batch.planned
        self._read, self._passed = Observation(), Observation()
        read = batch.frame.observe(
            self._read, f.count(f.lit(1)).alias("read"), f.count_if(~f.col("kept")).alias("filtered")
        )
        self.events = read.where("kept").observe(self._passed, f.count(f.lit(1)).alias("delivered"))

    @cached_property
    def counts(self) -> Counts:
        """Row counts of the pass. Raises TimeoutError where Spark does not report them."""
        return Counts(**_values(self._read), **_values(self._passed))


def _values(observation: Observation) -> dict[str, Any]:
    future = observation._jo.future()  # type: ignore[union-attr]
    deadline = time.monotonic() + _COUNTS_TIMEOUT
    while not future.isCompleted():
        if time.monotonic() > deadline:
            raise TimeoutError("Spark did not report the row counts of a finished write")
        time.sleep(0.001)
    return dict(observation.get)
