"""Tasks that Spark runs again inside one write because it has lost an executor, whatever `spark.task.maxFailures` says:
what the first run of such a task has written is there twice then.

They are counted. For a sink that can be asked what it has they fail before their first record, and the write with them:
the next attempt leaves out what is there.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from workers.agent.spark.session import is_local

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame

_CAUSE = "ExecutorLostFailure: a task had started to write"
_OF_A_TASK = "task launch worker for task"
_FIRST_RUN = r" for task \d+\.0 in stage \d+\.0 "
"""In the name of an executor's thread (`org.apache.spark.executor.Executor`, TaskRunner): `task <index>.<attempt> in
stage <id>.<attempt> (TID <id>)`."""
_ROW = (1 << 33) - 1
"""The part of `monotonically_increasing_id` that counts the rows of one task."""
_REPORT_TIMEOUT = 10.0


def refused(frame: DataFrame) -> DataFrame:
    """The same rows; on a cluster a task that is not in its first run fails at its first one."""
    if is_local(frame.sparkSession.sparkContext):
        return frame
    first_row = f.monotonically_increasing_id().bitwiseAND(f.lit(_ROW)) == 0
    thread = f.java_method(f.lit("java.lang.Thread"), f.lit("currentThread"))
    repeated = thread.contains(_OF_A_TASK) & ~thread.rlike(_FIRST_RUN)
    checked = f.when(repeated, f.raise_error(f.lit(_CAUSE))).otherwise(f.lit(True))
    return frame.where(f.when(first_row, checked).otherwise(f.lit(True)))


def count(context: SparkContext, group: str) -> int:
    """Tasks of a job group that were lost and run again within a write that succeeded; what they had written before
    may be there twice. Raises TimeoutError where Spark is silent."""
    if is_local(context):
        return 0
    tracker = context.statusTracker()
    numbers = tracker.getJobIdsForGroup(group)
    deadline = time.monotonic() + _REPORT_TIMEOUT
    while any((job := tracker.getJobInfo(number)) and job.status == "RUNNING" for number in numbers):
        if time.monotonic() > deadline:
            raise TimeoutError("Spark did not report the end of a finished write")
        time.sleep(0.005)
    jobs = [job for number in numbers if (job := tracker.getJobInfo(number))]
    stages = [stage for job in jobs for number in job.stageIds if (stage := tracker.getStageInfo(number))]
    return sum(stage.numFailedTasks for stage in stages)
