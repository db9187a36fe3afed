"""Sinks and brokers that are away: the batch is held, nothing is lost, and a stop is always possible."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from controlplane.install.services.kafka import running_kafka
from pipelines.domain.base.states import AgentPhase, Command
from pipelines.domain.ledger.journal import Done, SinkFailed
from pipelines.domain.runs.protocol import SparkSettings
from tests.agent.conftest import MakePipeline, define
from tests.agent.harness import Pipeline
from tests.agent.topics import Topics
from tests.chaos.extent import at_most
from tests.waiting import wait_for


@pytest.fixture
def make_own_pipeline(tmp_path: Path, spark_settings: SparkSettings) -> Iterator[Callable[[Topics], Pipeline]]:
    """A pipeline on a broker of the test's own."""
    made: list[Pipeline] = []

    def make(topics: Topics) -> Pipeline:
        sink = topics.as_sink() | {"write_timeout": "2s"}
        definition = define(topics, sink=sink, delivery={"max_events_per_batch": 2000})
        made.append(Pipeline(tmp_path / "state", definition, spark_settings))
        return made[-1]

    yield make
    for pipeline in made:
        pipeline.kill_all()


def test_a_batch_is_held_while_its_sink_is_away_and_delivered_when_it_is_back(
    topics: Topics, make_pipeline: MakePipeline, tmp_path: Path
) -> None:
    """When the sink is away once more, a stop gives the batch up at once."""
    topics.produce(100)
    with running_kafka(tmp_path / "sink") as servers:
        port = int(servers.rpartition(":")[2])
        away = Topics(servers)
        sink = away.as_sink() | {"write_timeout": "2s", "options": {"request.timeout.ms": 1000}}
        run = make_pipeline(sink=sink).start()
        run.wait_delivered(100)
    topics.produce(100)
    held = run.wait_status(lambda s: s.queries[0].holding is not None and s.queries[0].holding.attempts >= 2, "held")
    assert held.phase is AgentPhase.DEGRADED
    assert held.queries[0].delivered == 100
    wait_for(lambda: sum(topics.mirrored().values()) == 100, "the group to stand where the sink does (KS-013)")
    with running_kafka(tmp_path / "sink", port=port):
        status = run.wait_delivered(200, 90)
        assert status.queries[0].holding is None
        run.wait_status(lambda s: s.phase is AgentPhase.RUNNING, "running")
        wait_for(lambda: sum(topics.mirrored().values()) == 200, "the group to follow")
        out = away.read()
        assert out.missing(200) == set()
        assert run.of_kind(SinkFailed)
        assert out.duplicates <= sum(done.duplicates_max for done in run.of_kind(Done))

    topics.produce(100)
    run.wait_status(lambda s: s.queries[0].holding is not None, "held once more")
    started = time.monotonic()
    run.order(Command.STOP, kill_in=30)
    record = run.wait_exit()
    assert (record.exit_code, record.stop_stage) == (0, "DRAIN")
    assert time.monotonic() - started < at_most(15)


def test_a_broker_that_restarts_under_source_and_sink_costs_no_record(
    make_own_pipeline: Callable[[Topics], Pipeline], tmp_path: Path
) -> None:
    with running_kafka(tmp_path / "own") as servers:
        port = int(servers.rpartition(":")[2])
        topics = Topics(servers)
        topics.produce(50_000)
        pipeline = make_own_pipeline(topics)
        run = pipeline.start()
        run.wait_delivered(10_000)
    run.wait_status(lambda s: s.phase is AgentPhase.DEGRADED, "degraded")
    with running_kafka(tmp_path / "own", port=port):
        run.wait_status(lambda s: s.phase is AgentPhase.RUNNING and s.queries[0].lag == 0, "all records", 120)
        topics.produce(1000)
        run.wait_delivered(51_000, 60)
        assert run.stop().exit_code == 0
        pipeline.ingest()
        out = topics.read()
        assert out.missing(51_000) == set()
        assert out.duplicates <= pipeline.possible_duplicates
