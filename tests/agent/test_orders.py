"""Orders at awkward moments."""

from __future__ import annotations

import os
import signal
import time

from pipelines.domain.journal import Planned
from pipelines.domain.protocol import Exit
from pipelines.domain.states import AgentPhase, Command
from tests.agent.conftest import MakePipeline
from tests.agent.harness import alive
from tests.agent.topics import Topics
from tests.waiting import wait_for


def test_an_agent_that_starts_under_a_pause_comes_up_paused_and_moves_when_resumed(
    topics: Topics, make_pipeline: MakePipeline
) -> None:
    topics.produce(100)
    run = make_pipeline().prepare()
    seq = run.order(Command.PAUSE)
    run.start()
    paused = run.wait_status(lambda s: s.command_seq == seq and s.command_state == "done", "the pause")
    assert paused.phase is AgentPhase.PAUSED
    assert not run.of_kind(Planned)
    run.obey(Command.RUN)
    run.wait_delivered(100)
    run.obey(Command.PAUSE)
    os.kill(run.pid("driver"), signal.SIGTERM)
    assert run.wait_exit().exit_code == Exit.CLEAN
    out = topics.read()
    assert (out.missing(100), out.duplicates) == (set(), 0)


def test_a_stop_during_the_start_ends_it_at_once_and_nothing_was_read(
    topics: Topics, make_pipeline: MakePipeline
) -> None:
    topics.produce(100)
    run = make_pipeline().start()
    wait_for(lambda: run.identity and run.identity.driver, "the driver")
    started = time.monotonic()
    record = run.stop()
    assert (record.exit_code, record.rung) == (Exit.CLEAN, "token")
    assert time.monotonic() - started < 20
    assert not run.of_kind(Planned)


def test_a_stuck_run_is_killed_at_the_deadline_and_the_next_one_loses_nothing(
    topics: Topics, make_pipeline: MakePipeline
) -> None:
    topics.produce(100)
    pipeline = make_pipeline()
    run = pipeline.start()
    run.wait_delivered(100)
    os.kill(run.pid("jvm"), signal.SIGSTOP)
    topics.produce(100)
    run.order(Command.STOP, term_in=1, kill_in=3)
    record = run.wait_exit(15)
    assert record.rung in {"sigterm", "sigkill"}

    run = pipeline.start()
    run.wait_status(lambda s: bool(s.queries) and s.queries[0].lag == 0, "all records")
    assert run.stop().exit_code == Exit.CLEAN
    out = topics.read()
    assert (out.missing(200), out.duplicates) == (set(), 0)


def test_the_watchdog_in_the_driver_works_without_keeper_and_jvm(topics: Topics, make_pipeline: MakePipeline) -> None:
    topics.produce(100)
    run = make_pipeline().start()
    run.wait_delivered(100)
    driver = run.pid("driver")
    run.order(Command.PAUSE)
    run.wait_status(lambda s: s.phase is AgentPhase.PAUSED, "paused")
    for process in ("keeper", "jvm"):
        os.kill(run.pid(process), signal.SIGSTOP)
    run.order(Command.STOP, kill_in=0)
    wait_for(lambda: "Timeout" in (run.dir / "stacks/python.txt").read_text() or not alive(driver), "the watchdog", 15)
    os.kill(run.pid("keeper"), signal.SIGCONT)
    run.wait_exit(60)
