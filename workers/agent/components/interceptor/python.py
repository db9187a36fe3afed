"""Python interceptors: tried in a process of the driver's, then on every slot of the executors, then run in batches."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TimedOut
from dataclasses import asdict
from typing import TYPE_CHECKING

from pipelines.domain.access.interceptors import ADVICE, NOT_ALLOWED, not_allowed
from pipelines.domain.ledger.ledger import Cause
from workers.agent.base.arrow import map_in_arrow
from workers.agent.base.event import HEADERS_TYPE, PROBLEM_TYPE, Event
from workers.agent.base.findings import Refused, blocked_by, refuse
from workers.agent.graph.component import ON_ERROR, InterceptorBuilder
from workers.agent.interceptors import search, trial
from workers.agent.interceptors.worker import Settings, mapper, running

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_GRACE = 5.0
"""Seconds that Python workers may take to come up, beside the initialisation."""
_one_at_a_time = threading.Lock()
_FAILED = "INTERCEPTOR_FAILED"


class Builder(InterceptorBuilder):
    """Leaves the JVM and comes back."""

    @property
    def causes(self) -> frozenset[Cause]:
        """Nobody knows what the class does."""
        return ON_ERROR[self.spec.on_error] | {"added", "filtered"}

    @property
    def _settings(self) -> Settings:
        return Settings(
            run=str(self.place.run or self.place.pipeline),
            path=self.place.path,
            number=self.place.number,
            class_name=self.spec.class_name,
            config=dict(self.spec.config),
            on_error=self.spec.on_error,
            init_timeout=self.spec.init_timeout,
            batch_timeout=self.spec.batch_timeout,
            directories=tuple(self.place.directories),
            control=str(self.place.run / "control.json") if self.place.run else None,
        )

    def probe(self) -> None:
        """Allowed, in directories that nobody else writes to, and initialised once in a process of its own."""
        if self.spec.class_name not in self.place.classes:
            raise refuse(f"{self.place.path}.class", NOT_ALLOWED, not_allowed(self.spec.class_name), ADVICE)
        if found := [*search.problems(self.place.directories)]:
            raise refuse(f"{self.place.path}.class", search.UNSAFE, " ".join(found), search.UNSAFE_ADVICE)
        if failure := trial.attempt(asdict(self._settings), self.spec.init_timeout):
            raise self._refused(failure)

    def initialise(self, spark: SparkSession) -> None:
        """Initialise it in as many Python workers as there are slots, all at once. The workers stay."""
        with _one_at_a_time:
            pool = ThreadPoolExecutor(1, thread_name_prefix="interceptor")
            future = pool.submit(self._everywhere, spark)
            try:
                future.result(self.spec.init_timeout + _GRACE)
            except TimedOut:
                message = f"The interceptor did not initialize within {self.spec.init_timeout:g} s on an executor."
                raise refuse(self.place.path, "INIT_TIMEOUT", message, "Raise its init_timeout.") from None
            except Exception as error:
                raise self._refused(str(error)) from error
            finally:
                pool.shutdown(wait=False)

    def stay_ready(self, spark: SparkSession) -> None:
        """Spark lets a Python worker go that was idle for a minute; those that are there need no initialisation."""
        self.initialise(spark)

    def _everywhere(self, spark: SparkSession) -> None:
        slots = spark.sparkContext.defaultParallelism
        settings = self._settings

        def initialise(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            from pyspark import BarrierTaskContext

            BarrierTaskContext.get().barrier()  # nobody gives its process back before all have one
            running(settings)
            yield from batches

        map_in_arrow(spark.range(slots, numPartitions=slots), initialise, "id long", barrier=True).collect()

    def _refused(self, failure: str) -> Refused:
        if blocked := blocked_by(failure):
            return Refused(blocked.finding)
        return refuse(self.place.path, _FAILED, f"The interceptor {self.spec.class_name}: {failure}"[:2000])

    def through(self, frame: DataFrame, event: Event) -> tuple[DataFrame, Event]:
        """The frame that the class makes, with copies and verdicts."""
        read = frame.select(*event.columns())
        partition = read.schema["partition"].dataType.simpleString()
        schema = (
            f"key binary, body binary, headers {HEADERS_TYPE}, topic string, partition {partition}, `offset` bigint, "
            f"copy int, added_by int, filtered_by int, problem {PROBLEM_TYPE}"
        )
        read = read.withColumn("offset", read["offset"].cast("bigint"))
        made = map_in_arrow(read, mapper(self._settings), schema)
        return made, Event.of(made)
