"""Executors on a real standalone cluster: a kill there costs nothing, and what cannot run there never starts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest

from controlplane.install.services.ports import LOOPBACK, free_port
from pipelines.domain.ledger.journal import Done, Planned
from pipelines.domain.ledger.ledger import total
from pipelines.domain.runs.protocol import AgentFinding, Exit, boottime
from tests.agent.conftest import MakePipeline
from tests.agent.harness import Pipeline, Run
from tests.agent.topics import Topics
from tests.chaos.extent import WHOLE, at_most, some
from tests.counts import is_balanced, not_once
from tests.spark_cluster import SparkCluster, spark_cluster
from tests.waiting import wait_for

LONG = 240.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with spark_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture
def on_cluster(make_pipeline: MakePipeline, cluster: SparkCluster) -> Callable[..., Pipeline]:
    """A pipeline whose executors are the cluster's; keywords are keys of its launcher, or `on` of the cluster."""

    def make(delivery: dict[str, Any] | None = None, on: dict[str, Any] | None = None, **launcher: Any) -> Pipeline:
        pipeline = make_pipeline(**(delivery or {}))
        pipeline.definition["placement"] = {"launcher": cluster.launcher(**launcher)}
        pipeline.cluster = cluster.placed(**(on or {}))
        return pipeline

    return make


def read_all(run: Run) -> None:
    run.wait_status(lambda s: bool(s.queries) and all(query.lag == 0 for query in s.queries), "all records", LONG)


def finish(pipeline: Pipeline, run: Run) -> None:
    """Wait for the last record, and stop in good order."""
    read_all(run)
    assert run.stop(60).exit_code == Exit.CLEAN
    pipeline.ingest()


def each_is_there_once(pipeline: Pipeline, topics: Topics) -> None:
    """Read the sink back: nothing is missing, nothing doubled or announced to be, and the books balance to the
    record."""
    assert not_once(topics.numbers(), range(topics.produced)) == {}
    assert pipeline.possible_duplicates == 0
    counts = total(done.counts for ledger in pipeline.ledger.values() for done in ledger.done)
    assert is_balanced(counts)
    assert counts.read == counts.delivered == topics.produced


def refusal(run: Run) -> tuple[AgentFinding, float]:
    """Wait for the end of a run that was just started, and return its first finding and when it was there; nothing was
    read."""
    started = boottime()
    record = run.wait_exit(LONG)
    assert record.exit_code == Exit.INIT_FAILED, run.log[-3000:]
    assert run.status is not None
    assert not run.of_kind(Done)
    return run.status.findings[0], record.boottime - started


PYTHON = {"type": "python", "class": "tests.agent.interceptors:Various"}


def test_executors_of_a_cluster_move_all_records_and_one_that_is_killed_costs_none(
    topics: Topics, cluster: SparkCluster, on_cluster: Callable[..., Pipeline]
) -> None:
    """Undisturbed, while an executor and a worker are killed, and over the end of the driver, which takes executors
    along before the next run reads, also one that does not hear of it."""
    topics.produce(20_000)
    pipeline = on_cluster({"max_events_per_batch": 10_000})
    pipeline.definition["sources"]["shop"]["interceptors"] = [PYTHON]
    pipeline.interceptors = [PYTHON["class"]]
    run = pipeline.start()
    run.wait_delivered(20_000, LONG)
    assert len(cluster.executors()) == 2
    assert [each["name"] for each in cluster.applications()] == [f"headgate {topics.name} run 1"]
    assert not_once(topics.numbers(), range(20_000)) == {}

    topics.produce(60_000)
    run.wait_delivered(30_000, LONG)
    cluster.executors()[0].kill()
    run.wait_delivered(50_000, LONG)
    if WHOLE:
        cluster.workers.pop().process.kill()
    run.wait_delivered(80_000, LONG)
    if WHOLE:
        cluster.add_worker()
    wait_for(lambda: len(cluster.executors()) == 2, "an executor on the new worker", LONG)

    topics.produce(60_000)
    run.wait_delivered(100_000, LONG)
    old = cluster.executors()
    worker = cluster.workers[0]
    stuck = [*worker.executors(), psutil.Process(worker.process.pid)]
    for process in stuck:  # the executor does not hear of its driver's end, and nobody ends it
        process.suspend()
    run.kill("driver")
    run.wait_exit(60)
    run = pipeline.start()
    wait_for(lambda: "waiting for the executors of run 1" in run.log, "the fence", LONG)
    assert not run.of_kind(Planned)
    for process in stuck:
        process.resume()
    run.wait_delivered(1, LONG)
    assert not any(executor.is_running() for executor in old)
    finish(pipeline, run)
    each_is_there_once(pipeline, topics)
    wait_for(lambda: not cluster.executors(), "the executors to be gone")
    wait_for(lambda: not cluster.applications(), "the application to be gone")


def test_an_unreachable_master_is_a_finding_within_ten_seconds(on_cluster: Callable[..., Pipeline]) -> None:
    finding, seconds = refusal(on_cluster(on={"master": f"spark://{LOOPBACK}:{free_port()}"}).start_refused())
    assert (finding.path, finding.code, finding.retryable) == ("placement.launcher.cluster", "MASTER_UNREACHABLE", True)
    assert "Connection refused" in finding.message
    assert seconds < at_most(10)


def test_a_frozen_master_is_a_finding_too(cluster: SparkCluster, on_cluster: Callable[..., Pipeline]) -> None:
    process = psutil.Process(cluster.process.pid)
    process.suspend()
    try:
        finding, _ = refusal(on_cluster().start_refused())
    finally:
        process.resume()
    assert finding.code == "MASTER_UNREACHABLE"
    assert "does not answer" in finding.message


def too_few_slots(on_cluster: Callable[..., Pipeline]) -> None:
    """With numbers."""
    executors = {"count": 3, "cores": 1, "memory": "512m"}
    finding, _ = refusal(on_cluster(executors=executors, slots_timeout=15).start())
    assert (finding.path, finding.code) == ("placement.launcher.executors", "INSUFFICIENT_SLOTS")
    # how many of the two that the cluster has room for come within the time depends on the machine
    assert re.search("[0-2] of 3 executors with 1 cores and 512m", finding.message)
    assert "The cluster has 2 cores; 0 of them are free." in finding.message
    assert finding.retryable


def no_interpreter(on_cluster: Callable[..., Pipeline]) -> None:
    """With the host."""
    finding, _ = refusal(on_cluster(on={"python": "/opt/no/such/python"}).start())
    assert (finding.path, finding.code) == ("placement.launcher.python", "EXECUTOR_PYTHON")
    assert f"Python on {LOOPBACK}" in finding.message
    assert "/opt/no/such/python" in finding.message


def interceptor_that_fails_there(on_cluster: Callable[..., Pipeline]) -> None:
    """It works in the driver."""
    pipeline = on_cluster()
    config = {"does": "raise", "where": "executor"}
    bad = {"type": "python", "class": "tests.agent.interceptors:Misbehaves", "config": config}
    pipeline.definition["sources"]["shop"]["interceptors"] = [bad]
    pipeline.interceptors = ["tests.agent.interceptors:Misbehaves"]
    finding, _ = refusal(pipeline.start())
    assert finding.code == "INTERCEPTOR_FAILED"
    assert "this host is not on the list" in finding.message


@pytest.mark.parametrize("wrong", some([too_few_slots, no_interpreter, interceptor_that_fails_there], 3))
def test_what_is_wrong_with_the_executors_is_a_finding_and_nothing_is_read(
    topics: Topics, on_cluster: Callable[..., Pipeline], wrong: Callable[[Callable[..., Pipeline]], None]
) -> None:
    topics.produce(10)
    wrong(on_cluster)
    assert topics.numbers() == {}
