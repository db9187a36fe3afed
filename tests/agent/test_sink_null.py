"""The null sink evaluates and counts every event, and keeps none."""

from __future__ import annotations

from pyspark.sql import SparkSession

from tests.agent.sinks import Given, numbered, planned, sink
from tests.counts import is_balanced
from workers.agent.graph.component import Resolution


def test_every_event_is_counted_and_none_is_kept(session: SparkSession) -> None:
    made = sink(session, "null")
    counts = made.write([*numbered(50), Given(None), Given(b"\xff")])
    assert (counts.read, counts.delivered, is_balanced(counts)) == (52, 52, True)
    assert made.refused() == {}
    assert made.builder.ends() == []
    assert made.builder.resolve(planned(0, 52)) == Resolution(delivered_before=0)
    assert made.write(numbered(3), batch=1).delivered == 3
