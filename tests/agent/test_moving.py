"""Records on their way: delivered, counted, paused, resumed, stopped."""

from __future__ import annotations

import json
import time
from pathlib import Path

from pipelines.domain.journal import Done, PhaseChanged, Positions
from pipelines.domain.states import AgentPhase, Command
from tests.agent.conftest import MakePipeline
from tests.agent.topics import Pacer, Topics
from tests.counts import not_once
from tests.waiting import wait_for


def test_every_record_arrives_once_with_its_origin_and_balanced_books(
    topics: Topics, make_pipeline: MakePipeline
) -> None:
    topics.produce(2000, key=b"k", headers={"colour": b"\xff\x00", "timestamp": b"1"})
    interceptors = [
        {"type": "timestamp"},
        {"type": "static", "key": "datacenter", "value": "prague"},
        {"type": "static", "key": "colour", "value": "never"},
        {"type": "regex_filter", "regex": "7 ", "exclude_events": True},
    ]
    pipeline = make_pipeline(source={"interceptors": interceptors})
    run = pipeline.start()
    status = run.wait_delivered(1800)
    (query,) = status.queries
    assert (query.read, query.delivered, query.filtered) == (2000, 1800, 200)
    idle = run.wait_status(lambda s: s.phase is AgentPhase.RUNNING and s.queries[0].lag == 0, "idle and running")
    assert idle.progress >= 1
    wait_for(lambda: sum(topics.mirrored().values()) == 2000, "the mirror")
    assert run.stop().exit_code == 0

    out = topics.read()
    assert set(out.numbers) == {number for number in range(2000) if number % 10 != 7}
    assert out.duplicates == 0
    headers = out.headers[5]
    assert headers["headgate.origin"] == f"{topics.name}/shop/lake/{topics.source}/1/1".encode()
    assert headers["datacenter"] == b"prague"
    assert headers["colour"] == b"\xff\x00"
    assert abs(int(headers["timestamp"]) / 1000 - time.time()) < 120
    assert out.keys[5] == b"k"

    done = run.of_kind(Done)
    assert all(batch.counts.balanced for batch in done)
    assert {change.new for entry in run.of_kind(Positions) for change in entry.changes} == {0}
    assert [phase.phase for phase in run.of_kind(PhaseChanged)] == [
        "PREFLIGHT", "STARTING", "RUNNING", "STOPPING", "STOPPED",
    ]  # fmt: skip


def test_a_pause_is_proven_holds_still_and_resumes_without_loss(topics: Topics, make_pipeline: MakePipeline) -> None:
    pacer = Pacer(topics, 1000)
    pacer.start()
    run = make_pipeline().start()
    run.wait_delivered(1000)
    paused = run.obey(Command.PAUSE)
    assert paused.phase is AgentPhase.PAUSED
    assert paused.pause_proof is not None
    assert paused.pause_proof.holds
    produced = topics.produced
    wait_for(lambda: topics.produced > produced + 2000, "records piling up")
    later = run.wait_status(lambda s: (s.queries[0].lag or 0) > 2000, "the lag to show")
    assert [c.next_offset for c in later.queries[0].cursor] == [c.next_offset for c in paused.queries[0].cursor]
    assert sum(topics.read().numbers.values()) == paused.queries[0].delivered

    resumed = run.obey(Command.RUN)
    assert resumed.phase is not AgentPhase.PAUSED
    count = pacer.end()
    run.wait_delivered(count)
    assert run.stop().exit_code == 0
    out = topics.read()
    assert (out.missing(count), out.duplicates) == (set(), 0)


def test_stops_at_full_rate_are_exact_and_the_next_run_continues(topics: Topics, make_pipeline: MakePipeline) -> None:
    topics.produce(600_000)
    pipeline = make_pipeline(max_events_per_batch=20_000)
    for stop in (Command.STOP, Command.DRAIN_AND_STOP):
        run = pipeline.start()
        run.wait_delivered(40_000)
        run.order(stop, kill_in=30)
        record = run.wait_exit()
        assert (record.exit_code, record.rung) == (0, "token")
    run = pipeline.start()
    run.wait_read(topics.ends(topics.source), 240)
    assert run.stop().exit_code == 0
    pipeline.ingest()
    assert not not_once(topics.numbers(), range(600_000))
    assert pipeline.announced_duplicates == 0


def test_two_channels_have_cursors_of_their_own(topics: Topics, make_pipeline: MakePipeline, tmp_path: Path) -> None:
    topics.produce(1000)
    pipeline = make_pipeline()
    pipeline.definition["channels"]["audit"] = {"type": "direct"}
    pipeline.definition["sinks"]["audit"] = {"type": "file", "channel": "audit", "path": str(tmp_path / "out")}
    pipeline.definition["channels"]["eye"] = {"type": "direct"}
    pipeline.definition["sinks"]["eye"] = {"type": "logger", "channel": "eye"}
    run = pipeline.start()
    run.wait_delivered(3000)
    assert run.stop().exit_code == 0
    assert topics.read().missing(1000) == set()
    lines = [json.loads(line) for path in (tmp_path / "out").glob("*.json") for line in path.read_text().splitlines()]
    assert sorted(int(line["body"][:10]) for line in lines) == list(range(1000))
    assert "sinks.eye: " in run.log
    assert 0 < run.log.count("sinks.eye: " + topics.source) < 1000
