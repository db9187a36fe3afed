"""The agents that count less, for the benchmark, still find what they replace, and deliver the same."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from bench import without
from pipelines.domain.ledger.ledger import Counts
from tests.agent.expressions import delivered
from tests.agent.test_counts_by_component import FILTER, PLANNED, Pipeline, events
from workers.agent.graph.batch import Batch
from workers.agent.graph.kept import Events

FILTERS: list[dict[str, Any]] = [{**FILTER, "regex": "a"}, {**FILTER, "regex": "b"}]


@pytest.mark.parametrize(
    ("what", "expected"),
    [("counts", Counts(read=4, delivered=2, filtered=2)), ("ledger", Counts())],
)
def test_the_same_is_delivered_and_less_is_counted(
    session: SparkSession, monkeypatch: pytest.MonkeyPatch, what: str, expected: Counts
) -> None:
    monkeypatch.setattr(without, "_replace", monkeypatch.setattr)
    without.WITHOUT[what]()
    pipeline = Pipeline(session, events("a", "b", "c", "d"), FILTERS)
    attempt = Batch(Events(pipeline.frame), PLANNED, pipeline.graph.classifier("shop", "lake")).attempt("sinks.lake")
    written = delivered(attempt.in_columns([f.col("body").alias("value")]))
    assert [bytes(row["value"]) for row in written] == [b"c", b"d"]
    assert attempt.counts == expected
