"""Executors on a real standalone cluster: a kill there costs nothing, and what cannot run there never starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pipelines.domain.journal import Done
from pipelines.domain.ledger import total
from pipelines.domain.protocol import AgentFinding, Exit, boottime
from tests.agent.conftest import MakePipeline
from tests.agent.harness import Pipeline, Run, wait_for
from tests.agent.topics import Topics
from tests.spark_cluster import SparkCluster, spark_cluster

LONG = 240.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with spark_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture
def on_cluster(make_pipeline: MakePipeline, cluster: SparkCluster) -> Callable[..., Pipeline]:
    """A pipeline whose executors are the cluster's; keywords are keys of its launcher."""

    def make(delivery: dict[str, Any] | None = None, **launcher: Any) -> Pipeline:
        pipeline = make_pipeline(**(delivery or {}))
        pipeline.definition["placement"] = {"launcher": cluster.launcher(**launcher)}
        return pipeline

    return make


def read_all(run: Run) -> None:
    run.wait_status(lambda s: bool(s.queries) and all(query.lag == 0 for query in s.queries), "all records", LONG)


def finish(pipeline: Pipeline, run: Run) -> None:
    """Wait for the last record, and stop in good order."""
    read_all(run)
    assert run.stop(60).exit_code == Exit.CLEAN
    pipeline.ingest()


def nothing_is_missing(pipeline: Pipeline, topics: Topics) -> None:
    """Read the sink back: everything is there, doubles were announced, and the books balance to the record."""
    out = topics.read()
    assert not out.missing(topics.produced)
    assert out.duplicates <= pipeline.announced_duplicates
    counts = total(done.counts for book in pipeline.books.values() for done in book.done)
    assert counts.balanced
    assert counts.read == counts.delivered == topics.produced


def refusal(pipeline: Pipeline, timeout: float = 120) -> tuple[AgentFinding, float]:
    """Start, and return the first finding and when it was there; nothing was read."""
    run = pipeline.start()
    began = boottime()
    record = run.wait_exit(timeout)
    assert record.exit_code == Exit.INIT_FAILED, run.log[-3000:]
    assert run.status is not None
    assert not run.of_kind(Done)
    return run.status.findings[0], record.boottime - began


def test_a_pipeline_moves_all_records_on_the_executors_of_a_cluster(
    topics: Topics, cluster: SparkCluster, on_cluster: Callable[..., Pipeline]
) -> None:
    topics.produce(100_000)
    pipeline = on_cluster({"max_events_per_batch": 20_000})
    run = pipeline.start()
    run.wait_delivered(1, LONG)
    assert len(cluster.executors()) == 2
    assert [each["name"] for each in cluster.applications()] == [f"headgate {topics.name} run 1"]
    finish(pipeline, run)
    nothing_is_missing(pipeline, topics)
    assert topics.read().duplicates == 0
    wait_for(lambda: not cluster.executors(), "the executors to be gone")
    assert cluster.applications() == []
