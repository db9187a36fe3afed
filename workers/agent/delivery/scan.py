"""A batch of a stream as the reader of its source gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

_SCAN = "MicroBatchScanExec"
_AROUND = ("WholeStageCodegenExec", "ProjectExec", "InputAdapter")
_DEPTH = 5


def as_read(query: StreamingQuery | None, frame: DataFrame) -> DataFrame:
    """The batch that `query` has in hand, where its plan only reads: Spark puts a projection behind every scan, which
    copies each row before a batch is handed over (4.2, DataSourceV2Strategy). Otherwise the `frame` of the batch.

    A row is good up to the next one. Whoever evaluates the batch takes its columns at once or copies it (RDDScanExec).
    """
    from pyspark.sql import DataFrame

    if query is None:
        return frame
    plan = query._jsq.streamingQuery().lastExecution().executedPlan()
    scan = _scan(plan)
    if scan is None or not plan.output().equals(scan.output()):
        return frame
    spark = frame.sparkSession
    return DataFrame(spark._jsparkSession.internalCreateDataFrame(scan.execute(), scan.schema(), False), spark)


def _scan(plan: Any) -> Any:
    """The scan at the end of a plan that has nothing else but what Spark puts around it; None where it has."""
    for _ in range(_DEPTH):
        kind = plan.getClass().getSimpleName()
        if kind == _SCAN:
            return plan
        if kind not in _AROUND:
            return None
        plan = plan.child()
    return None
