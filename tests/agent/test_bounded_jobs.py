"""A job of Spark ends in its time, and leaves those before and behind it alone."""

from __future__ import annotations

import time

import pytest
from pyspark.sql import SparkSession

from workers.agent.base.located import within

SLOW = "java_method('java.lang.Thread', 'sleep', 100L) AS slept"


def test_a_job_that_takes_too_long_is_cancelled_and_the_next_one_is_not(session: SparkSession) -> None:
    endless = session.range(10_000, numPartitions=2).selectExpr(SLOW)
    began = time.monotonic()
    with pytest.raises(TimeoutError, match=r"longer than 0\.5 s"), within(session, 0.5):
        endless.collect()
    assert time.monotonic() - began < 100, "it would take 500 s"
    with pytest.raises(TimeoutError), within(session, -1.0):
        endless.collect()
    with within(session, 60.0):
        assert session.range(3).count() == 3
    with pytest.raises(ValueError, match="mine"), within(session, 60.0):
        raise ValueError("mine")
    assert session.sparkContext.getLocalProperty("spark.jobGroup.id") is None
