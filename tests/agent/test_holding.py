"""Sinks and brokers that are away: the batch is held, nothing is lost, and a stop is always possible."""

from __future__ import annotations

import time
from pathlib import Path

from controlplane.devstack.kafka import running_kafka
from pipelines.domain.journal import Done, SinkFailed
from pipelines.domain.states import AgentPhase, Command
from tests.agent.conftest import MakePipeline
from tests.agent.topics import Topics


def test_a_batch_is_held_while_its_sink_is_away_and_delivered_when_it_is_back(
    topics: Topics, make_pipeline: MakePipeline, tmp_path: Path
) -> None:
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
    with running_kafka(tmp_path / "sink", port=port):
        status = run.wait_delivered(200, 90)
        assert status.queries[0].holding is None
        run.wait_status(lambda s: s.phase is AgentPhase.RUNNING, "running")
        out = away.read()
        assert out.missing(200) == set()
        assert run.of_kind(SinkFailed)
        assert out.duplicates <= sum(done.duplicates_max for done in run.of_kind(Done))
        assert run.stop().exit_code == 0


def test_a_stop_gives_up_a_held_batch_at_once(topics: Topics, make_pipeline: MakePipeline, tmp_path: Path) -> None:
    topics.produce(100)
    directory = tmp_path / "out"
    run = make_pipeline(sink={"type": "file", "path": str(directory)}).start()
    run.wait_delivered(100)
    own = directory / ".headgate" / topics.name
    own.rename(tmp_path / "moved")
    own.write_text("in the way")
    topics.produce(100)
    run.wait_status(lambda s: s.queries[0].holding is not None, "held")
    started = time.monotonic()
    run.order(Command.STOP, kill_in=30)
    record = run.wait_exit()
    assert (record.exit_code, record.rung) == (0, "token")
    assert time.monotonic() - started < 15
