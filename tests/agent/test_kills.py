"""SIGKILL to every process of a run and at every point of a batch: nothing is missing, doubles were announced."""

from __future__ import annotations

import signal

from pipelines.domain.protocol import boottime
from tests.agent.conftest import MakePipeline
from tests.agent.harness import Pipeline, Run, holders, wait_for
from tests.agent.topics import Topics


def finish(pipeline: Pipeline) -> Run:
    """Start again, and run until nothing is left to read."""
    run = pipeline.start()
    run.wait_status(lambda s: bool(s.queries) and s.queries[0].lag == 0, "all records", 90)
    assert run.stop().exit_code == 0
    pipeline.ingest()
    return run


def test_killed_processes_at_full_rate_lose_nothing_and_double_what_was_announced(
    topics: Topics, make_pipeline: MakePipeline
) -> None:
    count = 1_000_000
    topics.produce(count, size=100)
    pipeline = make_pipeline(max_events_per_batch=25_000)

    run = pipeline.start()
    run.wait_delivered(50_000)
    run.kill("driver")
    killed = boottime()
    record = run.wait_exit(5)
    assert (record.signal, record.killed_by) == (signal.SIGKILL, None)
    assert record.boottime - killed < 2

    run = pipeline.start()
    run.wait_delivered(50_000)
    run.kill("jvm")
    assert run.wait_exit(5).exit_code == 13

    run = pipeline.start()
    run.wait_delivered(50_000)
    run.kill("keeper")
    token = run.token
    wait_for(lambda: not holders(token), "driver and JVM to follow the keeper", 15)
    assert run.entries()[-1].data["code"] == 14

    finish(pipeline)
    out = topics.read()
    assert out.missing(count) == set()
    assert out.duplicates == pipeline.announced_duplicates
