"""Orders at awkward moments."""

from __future__ import annotations

import os
import signal
import time

from pipelines.domain.base.states import AgentPhase, Command
from pipelines.domain.ledger.journal import Planned
from pipelines.domain.runs.protocol import Exit
from tests.agent.conftest import MakePipeline
from tests.agent.harness import alive
from tests.agent.topics import EVERY_MS, Pacer, Topics
from tests.chaos.extent import at_most
from tests.counts import not_once
from tests.waiting import wait_for


def test_a_pause_is_proven_holds_still_and_resumes_without_loss(topics: Topics, make_pipeline: MakePipeline) -> None:
    """An agent that starts under one comes up paused and moves when it is resumed; one that is paused hears SIGTERM."""
    pacer = Pacer(topics, 1000)
    pacer.start()
    run = make_pipeline(trigger_interval_ms=EVERY_MS).prepare()
    seq = run.order(Command.PAUSE)
    run.start()
    paused = run.wait_status(lambda s: s.command_seq == seq and s.command_state == "done", "the pause")
    assert paused.phase is AgentPhase.PAUSED
    assert not run.of_kind(Planned)

    run.obey(Command.RUN)
    run.wait_delivered(1000)
    paused = run.obey(Command.PAUSE)
    assert paused.phase is AgentPhase.PAUSED
    assert paused.pause_proof is not None
    assert paused.pause_proof.holds
    produced = topics.produced
    wait_for(lambda: topics.produced > produced + 2000, "records piling up")
    later = run.wait_status(lambda s: (s.queries[0].lag or 0) > 2000, "the lag to show")
    assert [c.next_offset for c in later.queries[0].positions] == [c.next_offset for c in paused.queries[0].positions]
    assert sum(topics.read().numbers.values()) == paused.queries[0].delivered

    resumed = run.obey(Command.RUN)
    assert resumed.phase is not AgentPhase.PAUSED
    count = pacer.end()
    run.wait_delivered(count)
    run.obey(Command.PAUSE)
    os.kill(run.pid("driver"), signal.SIGTERM)
    assert run.wait_exit().exit_code == Exit.CLEAN
    assert not_once(topics.read().numbers, range(count)) == {}


def test_a_stop_during_the_start_ends_it_at_once_and_nothing_was_read(
    topics: Topics, make_pipeline: MakePipeline
) -> None:
    topics.produce(100)
    run = make_pipeline().start()
    wait_for(lambda: run.identity and run.identity.driver, "the driver")
    started = time.monotonic()
    record = run.stop()
    assert (record.exit_code, record.stop_stage) == (Exit.CLEAN, "DRAIN")
    assert time.monotonic() - started < at_most(20)
    assert not run.of_kind(Planned)


def test_a_stuck_run_is_killed_at_the_deadline_and_the_next_one_loses_nothing_and_has_a_watchdog(
    topics: Topics, make_pipeline: MakePipeline
) -> None:
    """The keeper kills the first, whose JVM hangs; its own watchdog the second, whose keeper hangs as well."""
    topics.produce(100)
    pipeline = make_pipeline()
    run = pipeline.start()
    run.wait_delivered(100)
    os.kill(run.pid("jvm"), signal.SIGSTOP)
    topics.produce(100)
    run.order(Command.STOP, term_in=1, kill_in=3)
    record = run.wait_exit(at_most(15))
    assert record.stop_stage in {"INTERRUPT", "KILL"}

    run = pipeline.start()
    run.wait_status(lambda s: bool(s.queries) and s.queries[0].lag == 0, "all records")
    driver = run.pid("driver")
    run.obey(Command.PAUSE)
    assert not_once(topics.read().numbers, range(200)) == {}
    for process in ("keeper", "jvm"):
        os.kill(run.pid(process), signal.SIGSTOP)
    run.order(Command.STOP, kill_in=0)
    dump = run.dir / "stacks/python.txt"
    wait_for(lambda: "Timeout" in dump.read_text() or not alive(driver), "the watchdog", at_most(15))
    os.kill(run.pid("keeper"), signal.SIGCONT)
    run.wait_exit(60)
