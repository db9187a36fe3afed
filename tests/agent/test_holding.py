"""Sinks and brokers that are away: the batch is held, nothing is lost, and a stop is always possible."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from controlplane.install.services.kafka import running_kafka
from pipelines.domain.base.states import AgentPhase, Command
from pipelines.domain.ledger.journal import Done, Exited, Planned, SinkFailed, SourceFailed
from pipelines.domain.runs.protocol import SparkSettings, Status
from tests.agent.conftest import MakePipeline, define
from tests.agent.harness import Pipeline, Run
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


SLOW = "tests.agent.interceptors:Slow"
SECONDS = 0.01
"""Of each record: four partitions, two at a time, so that the last two are read some seconds after the first."""


def held_by(component: str) -> Callable[[Status], bool]:
    """Whether the agent says that this component alone keeps the batch from its end."""

    def named(status: Status) -> bool:
        failing = {each.name for each in status.components if each.state != "ready"}
        holding = status.queries[0].holding
        return holding is not None and holding.component == component and failing == {component}

    return named


def make_slow(make_pipeline: MakePipeline, **parts: dict[str, Any]) -> Pipeline:
    """A pipeline whose batch of 2,400 records takes some ten seconds."""
    slow = {"type": "python", "class": SLOW, "config": {"seconds": str(SECONDS)}}
    parts["source"] = {**parts.get("source", {}), "interceptors": [slow]}
    pipeline = make_pipeline(**parts)
    pipeline.interceptors = [SLOW]
    return pipeline


def drains_at_once(run: Run, away: str) -> None:
    """A drain does not wait for the component that is away, and says so."""
    started = time.monotonic()
    run.order(Command.DRAIN_AND_STOP, term_in=60, kill_in=90)
    record = run.wait_exit()
    assert (record.exit_code, record.stop_stage) == (0, "DRAIN")
    assert time.monotonic() - started < at_most(15)
    assert f"{away} is failing" in run.of_kind(Exited)[0].reason


def test_a_source_that_goes_away_inside_a_batch_is_named_and_no_sink_is_blamed(
    topics: Topics, make_pipeline: MakePipeline, tmp_path: Path
) -> None:
    """Before the batch has failed, and after it; a stop does not wait for it, and nothing is missing."""
    with running_kafka(tmp_path / "source") as servers:
        port = int(servers.rpartition(":")[2])
        away = Topics(servers, topics.name)
        away.produce(2400)
        pipeline = make_slow(make_pipeline, source=away.as_source())
        run = pipeline.start()
        wait_for(lambda: run.of_kind(Planned), "a batch has begun")
    run.wait_status(held_by("sources.shop"), "the source is named while the batch waits for it")
    wait_for(lambda: run.of_kind(SourceFailed), "the batch has failed")
    assert held_by("sources.shop")(run.wait_status(lambda s: s.queries[0].holding is not None, "held"))
    assert run.of_kind(SinkFailed) == []
    drains_at_once(run, "sources.shop")
    with running_kafka(tmp_path / "source", port=port):
        run = pipeline.start()
        run.wait_delivered(2400)
        assert run.stop().exit_code == 0
    pipeline.ingest()
    out = topics.read()
    assert out.missing(2400) == set()
    assert out.duplicates <= pipeline.possible_duplicates


def test_a_drain_does_not_wait_for_a_sink_that_was_away_before_it(
    topics: Topics, make_pipeline: MakePipeline, tmp_path: Path
) -> None:
    """With the time limits of a sink as they are by default: no attempt has failed yet when it is known to be away."""
    topics.produce(2400)
    with running_kafka(tmp_path / "sink") as servers:
        port = int(servers.rpartition(":")[2])
        away = Topics(servers)
        pipeline = make_slow(make_pipeline, sink=away.as_sink())
        run = pipeline.start()
        wait_for(lambda: run.of_kind(Planned), "a batch has begun")
    run.wait_status(held_by("sinks.lake"), "the sink is named while the write goes on")
    assert run.of_kind(SinkFailed) == []
    drains_at_once(run, "sinks.lake")
    with running_kafka(tmp_path / "sink", port=port):
        run = pipeline.start()
        run.wait_delivered(2400)
        assert run.stop().exit_code == 0
        pipeline.ingest()
        out = away.read()
    assert out.missing(2400) == set()
    assert out.duplicates <= pipeline.possible_duplicates
