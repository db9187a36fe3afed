"""The start of a run's queries, side by side, from the positions that were agreed upon."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from pipelines.domain.definitions.document.spec import Delivery
from pipelines.domain.ledger.ledger import Counts
from workers.agent.base.batch_limits import BatchLimits
from workers.agent.delivery.real_time import COUNTED, Flow, Query, RealTimeQuery
from workers.agent.graph import compile as compiler
from workers.agent.graph.batch import Classifier, counted
from workers.agent.positions.checkpoint import Offsets
from workers.agent.positions.held import Held
from workers.agent.spark.session import generate_code

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_IDLE_CHECK_MS = 250
"""How soon a source that had nothing new is looked at again; each look takes a few milliseconds of a core."""
_SHARE_OF_LOOKS = 0.5
"""Of the latency that is aimed at: what may pass from one look to the next."""
OnEnd = Callable[[Any, BaseException | None], None]


def set_pace(spark: SparkSession, delivery: Delivery) -> None:
    """How often queries look at a source that had nothing new, or too little."""
    target = delivery.target_latency
    if target is not None:
        delay = min(_IDLE_CHECK_MS, round(1000 * target * _SHARE_OF_LOOKS))
    else:
        delay = 10 if delivery.trigger_interval_ms == 0 else _IDLE_CHECK_MS
    spark.conf.set("spark.sql.streaming.pollingDelay", f"{delay}ms")


@dataclass(frozen=True)
class Starting:
    """Starts queries; `on_end` hears how each of them ended."""

    spark: SparkSession
    graph: compiler.Graph
    on_end: OnEnd

    def start(self, queries: Sequence[Query], starts: Mapping[str, Offsets]) -> None:
        """Start all of them. Raises whatever keeps one from starting.

        A query begins with the settings of the session. One with batches reads its first one interpreted: to load the
        compiler takes longer than most of them."""
        generate_code(self.spark, any(isinstance(query, RealTimeQuery) for query in queries))
        with ThreadPoolExecutor(max_workers=min(8, len(queries))) as pool:
            for future in [pool.submit(self._start, query, starts[query.name]) for query in queries]:
                future.result()
        generate_code(self.spark, True)

    def _start(self, query: Query, starts: Offsets) -> None:
        if isinstance(query, RealTimeQuery):
            frame = compiler.flow(self.spark, self.graph, query.read, starts)

            def written(held: Held | None, columns: Sequence[Column]) -> DataFrame:
                found = self._classifier(query).classification(frame, "", None, held)
                return found.written(frame, COUNTED, columns)

            query.start(Flow(self.spark, written, partial(self._recount, query)), self.on_end)
        else:
            definition = self.graph.definition
            read = query.read
            limits = BatchLimits(
                definition.max_events(read), definition.batch_interval(read), definition.full_batch(read)
            )
            endless = compiler.endless(self.spark, self.graph, read, starts, limits)
            query.start(endless, definition.delivery.trigger_interval_ms, self.on_end)

    def _recount(self, query: RealTimeQuery, starts: Offsets, ends: Offsets) -> Counts:
        frame = compiler.past(self.spark, self.graph, query.read, starts, ends)
        from pyspark.sql import Observation

        observed = Observation()
        self._classifier(query).classification(frame, "", None).delivered(frame, observed).count()
        return counted(observed.get)[0]

    def _classifier(self, query: RealTimeQuery) -> Classifier:
        return self.graph.classifier(query.read.source, query.read.channels[0])
