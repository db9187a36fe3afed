"""Real-time mode: exact at boundaries, and every record that comes twice is counted."""

from __future__ import annotations

from pipelines.domain.journal import Done, Planned
from pipelines.domain.states import AgentPhase, Command
from tests.agent.conftest import MakePipeline
from tests.agent.harness import Pipeline
from tests.agent.topics import Pacer, Topics
from tests.waiting import wait_for

INTERCEPTORS = [
    {"type": "timestamp"},
    {"type": "regex_filter", "regex": "7 ", "exclude_events": True},
]


def real_time(make_pipeline: MakePipeline) -> Pipeline:
    return make_pipeline(source={"interceptors": INTERCEPTORS}, mode="real_time", batch_duration=5)


def wanted(count: int) -> set[int]:
    return {number for number in range(count) if number % 10 != 7}


def test_a_pause_waits_for_the_boundary_and_loses_and_doubles_nothing(
    topics: Topics, make_pipeline: MakePipeline
) -> None:
    pacer = Pacer(topics, 500)
    pacer.start()
    pipeline = real_time(make_pipeline)
    run = pipeline.start()
    wait_for(lambda: len(topics.read().numbers) > 500, "records before the first boundary")
    paused = run.obey(Command.PAUSE)
    assert paused.phase is AgentPhase.PAUSED
    (proven,) = paused.queries
    assert sum(topics.read().numbers.values()) == proven.delivered
    produced = topics.produced
    wait_for(lambda: topics.produced > produced + 1000, "records piling up")
    assert sum(topics.read().numbers.values()) == proven.delivered
    run.obey(Command.RUN)
    count = pacer.end()
    wait_for(lambda: set(topics.read().numbers) == wanted(count), "the rest")
    run.order(Command.DRAIN_AND_STOP, kill_in=60)
    assert run.wait_exit().exit_code == 0
    pipeline.ingest()
    out = topics.read()
    assert (out.duplicates, pipeline.announced_duplicates) == (0, 0)
    done = run.of_kind(Done)
    assert all(batch.counts.balanced for batch in done)
    assert sum(batch.counts.filtered for batch in done) == count - len(wanted(count))


def test_every_record_that_a_killed_driver_sends_twice_is_counted(topics: Topics, make_pipeline: MakePipeline) -> None:
    pacer = Pacer(topics, 500)
    pacer.start()
    pipeline = real_time(make_pipeline)
    for _ in range(2):
        run = pipeline.start()
        wait_for(lambda run=run: run.of_kind(Done), "a boundary")  # type: ignore[misc]
        finished = len(topics.read().numbers)
        wait_for(lambda before=finished: len(topics.read().numbers) > before + 1000, "records after it")  # type: ignore[misc]
        run.kill("driver")
        run.wait_exit()
    run = pipeline.start()
    count = pacer.end()
    wait_for(lambda: set(topics.read().numbers) == wanted(count), "all records")
    run.order(Command.DRAIN_AND_STOP, kill_in=60)
    assert run.wait_exit().exit_code == 0
    assert all(planned.open_ended for planned in run.of_kind(Planned))
    pipeline.ingest()
    out = topics.read()
    assert set(out.numbers) == wanted(count)
    assert out.duplicates > 0
    assert out.duplicates == pipeline.announced_duplicates


def test_too_few_slots_are_found_before_anything_is_read(topics: Topics, make_pipeline: MakePipeline) -> None:
    topics.produce(10)
    pipeline = real_time(make_pipeline)
    pipeline.definition["placement"] = {"launcher": {"cores": 2}}
    run = pipeline.start()
    record = run.wait_exit()
    assert record.exit_code == 11
    status = run.status
    assert status is not None
    assert [(finding.path, finding.code) for finding in status.findings] == [
        ("placement.launcher.cores", "INSUFFICIENT_SLOTS")
    ]
    assert topics.read().numbers == {}
