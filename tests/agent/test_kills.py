"""SIGKILL to every process of a run and at every point of a batch: nothing is missing, doubles were announced."""

from __future__ import annotations

import json
import signal
from collections import Counter
from pathlib import Path

import pytest

from pipelines.domain.journal import Replayed, Resolved
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


@pytest.mark.parametrize(
    ("point", "already_there"),
    [("planned", 0), ("delivered", 1000), ("done", None)],
    ids=["planned", "delivered", "done"],
)
def test_a_crash_within_a_batch_is_counted_exactly(
    topics: Topics, make_pipeline: MakePipeline, point: str, already_there: int | None
) -> None:
    topics.produce(3000)
    pipeline = make_pipeline(max_events_per_batch=1000)
    assert pipeline.start(crash_at=point).wait_exit(60).signal == signal.SIGKILL
    run = finish(pipeline)
    resolved = [(entry.delivered_before, entry.complete) for entry in run.of_kind(Resolved)]
    assert resolved == ([] if already_there is None else [(already_there, True)])
    assert len(run.of_kind(Replayed)) == (1 if already_there is None else 0)
    out = topics.read()
    assert out.missing(3000) == set()
    assert out.duplicates == pipeline.announced_duplicates == (already_there or 0)


@pytest.mark.parametrize("point", ["staged", "manifest", "delivered"])
def test_the_file_sink_writes_every_record_exactly_once_whatever_is_killed(
    topics: Topics, make_pipeline: MakePipeline, tmp_path: Path, point: str
) -> None:
    topics.produce(3000)
    directory = tmp_path / "out"
    pipeline = make_pipeline(sink={"type": "file", "path": str(directory)}, max_events_per_batch=1000)
    assert pipeline.start(crash_at=point).wait_exit(60).signal == signal.SIGKILL
    finish(pipeline)
    numbers = Counter(
        int(json.loads(line)["body"][:10])
        for path in directory.glob("*.json")
        for line in path.read_text().splitlines()
    )
    assert numbers == Counter(range(3000))
    assert pipeline.announced_duplicates == 0
    assert not list((directory / ".headgate").rglob("*.staging"))
