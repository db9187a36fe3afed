"""Range readers as sources of Spark, for several queries of one agent."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSourceRegistration

from workers.agent.base.batch_limits import BatchLimits
from workers.agent.ranges.sequence import SequenceReader
from workers.agent.ranges.source import stream

CONFIG = {"topic": "numbers", "rate": 1000, "limit": 10, "body": "{n}", "partitions": 1, "began": 0.0}


def test_queries_that_start_at_once_share_no_source(session: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark writes to what a source was registered with while a query starts, without a lock."""
    registered, register = Barrier(2), DataSourceRegistration.register

    def meet(self: DataSourceRegistration, source: Any) -> None:
        register(self, source)
        registered.wait(60)

    monkeypatch.setattr(DataSourceRegistration, "register", meet)

    def source_of_query(_: int) -> Any:
        frame, _event = stream(
            session, SequenceReader, json.dumps(CONFIG), starts={}, limits=BatchLimits(None), path="sources.numbers"
        )
        return re.findall(r"headgate_ranges\w*", frame._jdf.queryExecution().logical().toString())[0]

    with ThreadPoolExecutor(2) as pool:
        assert len(set(pool.map(source_of_query, range(2)))) == 2
