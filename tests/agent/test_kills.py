"""Stops and kills at full rate: a stop is exact; where any process of a run is killed, at whatever instant, nothing is
missing and nothing is there twice."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Mapping

import pytest

from pipelines.domain.base.states import Command
from pipelines.domain.ledger.journal import Resolved
from pipelines.domain.runs.protocol import Exit, boottime
from tests.agent.conftest import MakePipeline
from tests.agent.harness import PATIENCE, Pipeline, Run, holders
from tests.agent.topics import Pacer, Topics
from tests.chaos.extent import SEEDS, at_most, whole_only
from tests.counts import not_once
from tests.figures import RecordProperty, report_arrival
from tests.waiting import wait_for

COUNT, BATCH = 200_000, 5_000
WHOLE_COUNT, WHOLE_BATCH = 1_000_000, 50_000
VICTIMS = ("keeper", "driver", "jvm", "all")
KILLS, REAL_TIME_KILLS = 10, 6
STARTS_WITHIN = 8.0
"""Seconds in which an agent starts; in a third of its lives it is killed at some time before that."""
RATE = 4000


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
    assert done(pipeline) < COUNT, "records were left for every one of them"
    everything_is_there_once(pipeline, topics, COUNT, record_property)


@whole_only
@pytest.mark.parametrize("seed", SEEDS)
def test_ten_kills_at_random_instants_of_one_stream_lose_nothing_and_double_nothing(
    seed: int, topics: Topics, make_pipeline: MakePipeline, record_property: RecordProperty
) -> None:
    """Some hit an agent that starts, some one that reads the sink's tail, most one that delivers."""
    dice = random.Random(f"kills {seed}")
    pipeline = make_pipeline(max_events_per_batch=WHOLE_BATCH)
    lives: list[Run] = []
    left: list[int] = []
    for _ in range(KILLS):
        topics.produce(WHOLE_COUNT // KILLS, size=100)
        run = pipeline.start()
        lives.append(run)
        if dice.random() < 1 / 3:
            time.sleep(dice.uniform(0, STARTS_WITHIN))
            kill(run, dice)
        else:
            kill_in_mid_stream(run, dice, topics)
        left.append(topics.produced - topics.delivered())
    everything_is_there_once(pipeline, topics, WHOLE_COUNT, record_property)
    looked = [found.delivered_before for run in lives for found in run.of_kind(Resolved)]
    print(f"after each kill {left} records were left; looks at the sink's tail found {looked}")
    assert any(looked), "a batch was broken off"
    record_property("tries", KILLS)


@whole_only
@pytest.mark.parametrize("seed", SEEDS)
def test_kills_at_random_instants_of_real_time_mode_lose_nothing_and_double_nothing(
    seed: int, topics: Topics, make_pipeline: MakePipeline, record_property: RecordProperty
) -> None:
    """Every other one hits the instant at which Spark has committed a batch and begins the next."""
    dice = random.Random(f"real time {seed}")
    pacer = Pacer(topics, RATE)
    pacer.start()
    pipeline = make_pipeline(mode="real_time", batch_duration=5)
    commits = pipeline.checkpoint("shop", "lake") / "commits"
    for number in range(REAL_TIME_KILLS):
        run = pipeline.start()
        if number % 2:
            before = {path.name for path in commits.iterdir()} if commits.is_dir() else set()
            wait_for(
                lambda before=before: (
                    commits.is_dir() and {p.name for p in commits.iterdir() if p.name.isdigit()} - before
                ),  # type: ignore[misc]
                "Spark's commit of a batch",
            )
            time.sleep(dice.uniform(0, 0.2))
        else:
            time.sleep(dice.uniform(0, 2 * STARTS_WITHIN))
        kill(run, dice)
    run = pipeline.start()
    count = pacer.end()
    wait_for(lambda: topics.delivered() >= count, "all records")
    run.order(Command.DRAIN_AND_STOP, kill_in=60)
    assert run.wait_exit().exit_code == 0
    pipeline.ingest()
    counted(pipeline, topics, count, record_property)
    record_property("tries", REAL_TIME_KILLS)


def kill_in_mid_stream(run: Run, dice: random.Random, topics: Topics) -> None:
    """When a share of what is left is in the sink."""
    before = topics.delivered()
    goal = before + dice.randint(1, topics.produced - before)
    wait_for(lambda: "jvm" in run.processes().values(), "a JVM")
    processes = run.processes()
    deadline = time.monotonic() + PATIENCE
    while topics.delivered() < goal and run.exit is None:
        assert time.monotonic() < deadline, f"{goal} records in the sink"
    kill(run, dice, processes)


def kill(run: Run, dice: random.Random, processes: Mapping[int, str] | None = None) -> None:
    """SIGKILL one of a run's processes, or all of them at once; of a run that only starts, what there is of it."""
    whom = dice.choice(VICTIMS)
    killed = run.kill_what_there_is(whom, processes)
    print(f"{whom}: killed {killed or 'nothing'} in {run.status and run.status.phase}")
    wait_for(lambda: not holders(run.token), "the others to follow", 60)


def done(pipeline: Pipeline) -> int:
    """Records of the batches that the ledger has as done."""
    return sum(batch.counts.read for batch in pipeline.ledger["shop", "lake"].done)


def everything_is_there_once(pipeline: Pipeline, topics: Topics, count: int, record_property: RecordProperty) -> None:
    """Let a last run deliver the rest, and read the sink back."""
    run = pipeline.start()
    run.wait_read(topics.ends(topics.source), 240)
    assert run.stop().exit_code == 0
    pipeline.ingest()
    counted(pipeline, topics, count, record_property)


def counted(pipeline: Pipeline, topics: Topics, count: int, record_property: RecordProperty) -> None:
    """Each of `count` records is in the sink once, and the ledger has each of them once."""
    found: Counter[int] = topics.numbers()
    missing, duplicates = report_arrival(record_property, found, range(count), pipeline.possible_duplicates)
    assert (missing, duplicates, pipeline.possible_duplicates) == (0, 0, 0), not_once(found, range(count))
    assert done(pipeline) == count
