"""Files of whole batches: events wait for each other, and neither a backlog, a crash nor a stop waits with them."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.base.states import AgentPhase, Command
from tests.agent.conftest import MakePipeline
from tests.agent.harness import Pipeline, Run
from tests.agent.sources import MakeSourcePipeline, bodies, make_source_pipeline
from tests.agent.test_channels import numbers_in
from tests.agent.topics import Pacer, Topics
from tests.chaos.extent import WHOLE, some
from tests.counts import not_once
from tests.waiting import wait_for

__all__ = ["make_source_pipeline"]

HOUR = 3600
"""An interval that no test waits for: what happens all the same does not wait."""
BATCH = 5000


def files_in(directory: Path) -> list[Path]:
    """The finished ones."""
    return sorted(directory.glob("*.json"))


def pipeline_to(make: MakePipeline, out: Path, **roll: Any) -> Pipeline:
    """From the topic to files."""
    return make(sink={"type": "file", "path": str(out), "roll": roll}, max_events_per_batch=BATCH)


def wait_lag(run: Run, lag: int) -> None:
    """Until so many events wait, in good health."""
    waiting = run.wait_status(lambda s: s.queries[0].lag == lag, f"{lag} events to wait")
    assert (waiting.phase, waiting.queries[0].holding) == (AgentPhase.RUNNING, None)


def test_a_backlog_waits_for_nothing_and_what_is_left_waits_without_keeping_a_stop(
    make_pipeline: MakePipeline, topics: Topics, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    pipeline = pipeline_to(make_pipeline, out, interval=HOUR)
    topics.produce(4 * BATCH)
    run = pipeline.start()
    run.wait_read(topics.ends(topics.source))
    assert len(files_in(out)) == 4

    topics.produce(300)
    wait_lag(run, 300)
    seen = run.wait_status(lambda s: bool(s.queries[0].progress_heartbeat), "a heartbeat").queries[0]
    run.wait_status(
        lambda s: s.queries[0].progress_heartbeat > seen.progress_heartbeat + 2 and s.queries[0].lag == 300,
        "progress while events wait",
    )
    run.obey(Command.PAUSE)
    run.obey(Command.RUN)
    wait_lag(run, 300)
    run.order(Command.DRAIN_AND_STOP)
    assert run.wait_exit().exit_code == 0
    assert len(files_in(out)) == 4

    topics.produce(50)
    run = pipeline.start()
    run.wait_read(topics.ends(topics.source))
    assert run.stop().exit_code == 0
    assert len(files_in(out)) == 5
    assert not not_once(numbers_in(out), range(topics.produced))


def test_a_trickle_makes_a_file_for_each_interval(make_pipeline: MakePipeline, topics: Topics, tmp_path: Path) -> None:
    out = tmp_path / "out"
    pipeline = pipeline_to(make_pipeline, out, interval=5)
    run = pipeline.start()
    feed = Pacer(topics, 100)
    feed.start()
    run.wait_delivered(2000)
    feed.end()
    run.wait_read(topics.ends(topics.source))
    assert run.stop().exit_code == 0
    times = [entry.at for entry in run.entries()]
    assert len(files_in(out)) <= (times[-1] - times[0]) / 5 + 2
    assert not not_once(numbers_in(out), range(topics.produced))


FAULTS = some(["agent.staged", "agent.committed", "agent.planned", "agent.delivered"], 4)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_crash_leaves_no_half_and_no_double(
    make_pipeline: MakePipeline, topics: Topics, tmp_path: Path, fault: str
) -> None:
    out = tmp_path / "out"
    pipeline = pipeline_to(make_pipeline, out, interval=HOUR, size=100_000)
    topics.produce(3 * BATCH)
    assert pipeline.start(crash_at=fault).wait_exit().signal == signal.SIGKILL
    assert sum(numbers_in(out).values()) in (0, BATCH), "all of a batch, or nothing"
    run = pipeline.start()
    run.wait_read(topics.ends(topics.source))
    assert run.stop().exit_code == 0
    assert not not_once(numbers_in(out), range(topics.produced))
    sizes = [path.stat().st_size for path in files_in(out)]
    assert max(sizes) < 130_000
    assert len(sizes) <= sum(sizes) / 100_000 + 6


def _lines(numbers: Iterable[int]) -> str:
    return "".join(f"line {number}\n" for number in numbers)


@pytest.mark.parametrize("kind", ["taildir", *(["spooldir", "sequence"] if WHOLE else [])])
def test_other_sources_keep_to_it_too(make_source_pipeline: MakeSourcePipeline, tmp_path: Path, kind: str) -> None:
    source = _source(kind, tmp_path / "in")
    pipeline = make_source_pipeline(source, delivery={"max_events_per_batch": 10_000})
    pipeline.definition["sinks"]["lake"]["roll"] = {"interval": HOUR}
    run = pipeline.start()
    run.wait_delivered(30_000)
    assert len(files_in(tmp_path / "out")) <= 4
    if kind == "taildir":
        with (tmp_path / "in" / "a.log").open("a") as file:
            file.write(_lines(range(30_000, 30_010)))
        wait_for(lambda: run.status and run.status.queries[0].lag, "lines to wait")
        assert run.stop().exit_code == 0
        run = pipeline.start()
        run.wait_delivered(10)
    assert run.stop().exit_code == 0
    count = 30_010 if kind == "taildir" else 30_000
    assert not not_once(bodies(tmp_path / "out"), (f"line {number}" for number in range(count)))


def _source(kind: str, directory: Path) -> dict[str, Any]:
    directory.mkdir()
    if kind == "sequence":
        return {"type": "sequence", "rate": 0, "limit": 30_000, "body": "line {n}"}
    (directory / "a.log.part").write_text(_lines(range(30_000)))
    shutil.move(directory / "a.log.part", directory / "a.log")
    if kind == "taildir":
        return {"type": "taildir", "file_groups": {"logs": {"directory": str(directory), "pattern": r"a\.log"}}}
    return {"type": "spooldir", "directory": str(directory)}
