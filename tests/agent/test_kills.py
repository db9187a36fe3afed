"""Stops and kills at full rate: a stop is exact; where any process of a run is killed, nothing is missing, and what is
there twice was announced."""

from __future__ import annotations

import signal

from pipelines.domain.base.states import Command
from pipelines.domain.runs.protocol import Exit, boottime
from tests.agent.conftest import MakePipeline
from tests.agent.harness import holders
from tests.agent.topics import Topics
from tests.chaos.extent import WHOLE, at_most
from tests.figures import RecordProperty, report_arrival
from tests.waiting import wait_for

COUNT, BATCH = (1_000_000, 20_000) if WHOLE else (200_000, 5_000)


def test_killed_processes_at_full_rate_lose_nothing_and_double_nothing(
    topics: Topics, make_pipeline: MakePipeline, record_property: RecordProperty
) -> None:
    topics.produce(COUNT, size=100)
    pipeline = make_pipeline(max_events_per_batch=BATCH)
    for stop in (Command.STOP, Command.DRAIN_AND_STOP):
        run = pipeline.start()
        run.wait_delivered(2 * BATCH)
        run.order(stop, kill_in=30)
        record = run.wait_exit()
        assert (record.exit_code, record.stop_stage) == (0, "DRAIN")
    pipeline.ingest()
    assert pipeline.possible_duplicates == 0
    assert max(topics.numbers().values()) == 1

    run = pipeline.start()
    run.wait_delivered(2 * BATCH)
    run.kill("driver")
    killed = boottime()
    record = run.wait_exit()
    assert (record.signal, record.killed_by) == (signal.SIGKILL, None)
    assert record.boottime - killed < at_most(10), "nothing was waited for"

    run = pipeline.start()
    run.wait_delivered(2 * BATCH)
    run.kill("jvm")
    assert run.wait_exit().exit_code == Exit.JVM_LOST

    run = pipeline.start()
    run.wait_delivered(2 * BATCH)
    run.kill("keeper")
    token = run.token
    wait_for(lambda: not holders(token), "driver and JVM to follow the keeper", 60)
    assert run.entries()[-1].data["code"] == Exit.KEEPER_LOST
    pipeline.ingest()
    done = sum(batch.counts.read for batch in pipeline.ledger["shop", "lake"].done)
    assert done < COUNT, "records were left for every one of them"

    run = pipeline.start()
    run.wait_read(topics.ends(topics.source), 240)
    assert run.stop().exit_code == 0
    pipeline.ingest()
    found = topics.numbers()
    missing, duplicates = report_arrival(record_property, found, range(COUNT), pipeline.possible_duplicates)
    assert (missing, duplicates, pipeline.possible_duplicates) == (0, 0, 0)
