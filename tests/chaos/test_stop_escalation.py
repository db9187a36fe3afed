"""Components that do not obey a stop: it climbs, names who is at work, and costs nobody else anything.

HEADGATE_REAL_LADDER=1 takes the deadlines of the defaults, 30 s and 180 s, instead of 1 s and 5 s.
HEADGATE_CHAOS=1 runs all cases.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.base.states import Command
from pipelines.domain.ledger.journal import Done, Interrupted
from pipelines.domain.runs import protocol
from pipelines.domain.runs.protocol import Control, Dump, Dumps, ExitRecord, SparkSettings
from tests.agent.harness import ROOT, Pipeline, Run
from tests.agent.sources import bodies
from tests.agent.topics import EVERY_MS
from tests.chaos import hostile
from tests.chaos.extent import WHOLE, whole_only
from tests.counts import not_once
from tests.waiting import wait_for

REAL = "HEADGATE_REAL_LADDER" in os.environ
INTERVAL, TIMEOUT = (30.0, 180.0) if REAL else (1.0, 5.0)
STRICT = REAL or WHOLE
"""Rates and instants are compared where no other tests share the machine."""
LATEST = 1.1 * TIMEOUT if STRICT else TIMEOUT + 60
RATE = 500
MEASURED_OVER = 10.0 if STRICT else 0.0
"""Seconds. Over less, one batch that takes a little longer than the others is a tenth of the rate."""
HOSTILE = "tests.chaos.hostile:Hostile"
INTERCEPTOR = "sources.shop.interceptors[0]"


def sequence(*channels: str, **more: Any) -> dict[str, Any]:
    selector = {"type": "replicating", "channels": list(channels)}
    return {"type": "sequence", "rate": RATE, "body": "{n}", "selector": selector, **more}


def definition(name: str, sources: dict[str, Any], sinks: dict[str, Any]) -> dict[str, Any]:
    return {
        "api_version": "headgate/v1",
        "name": name,
        "sources": sources,
        "channels": {channel: {"type": "direct"} for channel in sinks},
        "sinks": {channel: {"channel": channel, **sink} for channel, sink in sinks.items()},
        "delivery": {"trigger_interval_ms": EVERY_MS},
        "lifecycle": {"cancel_interval": INTERVAL, "cancel_timeout": TIMEOUT},
        "placement": {"launcher": {"cores": 1}},
    }


@dataclass
class Flow:
    """What a channel has finished since a moment: records, and the longest time without a finished batch."""

    run: Run
    channel: str
    since: float = 0.0

    def finished(self, after: float) -> list[tuple[float, int]]:
        """When each batch was finished and how many records it had."""
        found = []
        for entry in self.run.entries():
            payload = entry.payload()
            if isinstance(payload, Done) and payload.channel == self.channel and entry.at >= after:
                found.append((entry.at, payload.counts.delivered))
        return found

    def start(self) -> Flow:
        """Count from the next batch on."""
        now = protocol.boottime()
        last = self.finished(0)[-1][0]
        self.since = wait_for(lambda: self.finished(last + 1e-6), f"a batch after {now}", 180)[0][0]
        return self

    def goes_on(self) -> None:
        """Two more batches are finished; on a machine that is not shared, at nine tenths of the rate at least."""
        before = len(self.finished(self.since))

        def enough() -> list[tuple[float, int]] | None:
            found = self.finished(self.since)
            return found if len(found) >= before + 2 and found[-1][0] - found[0][0] >= MEASURED_OVER else None

        batches = wait_for(enough, "two more batches", 240)
        if STRICT:
            times = [at for at, _ in batches]
            seconds = times[-1] - times[0]
            assert sum(count for _, count in batches[1:]) > 0.9 * RATE * seconds
            still = max(later - earlier for earlier, later in pairwise(times))
            assert still < max(3.0, seconds / 3), f"{self.channel} stood still for {still:.1f} s of {seconds:.1f} s"


class Case:
    """A pipeline with a hostile component in one channel and a neighbour in another."""

    def __init__(self, tmp: Path, spark: SparkSettings) -> None:
        self.tmp, self.flag = tmp, tmp / "flag"
        config = {"type": "python", "class": HOSTILE, "config": {"flag": str(self.flag)}}
        sink = {"type": "file", "path": str(tmp / "lake"), "roll": {"interval": 0}}
        sources = {"shop": sequence("lake", interceptors=[config]), "calm": sequence("audit")}
        self.pipeline = Pipeline(
            tmp / "state", definition("hostile", sources, {"lake": sink, "audit": {"type": "null"}}), spark
        )
        self.pipeline.interceptors = [HOSTILE]
        self.stopped_at = 0.0

    def start(self, how: str) -> Run:
        """Start it; in_driver and locked are done by its sink, in the driver's own process."""
        interceptor = self.pipeline.definition["sources"]["shop"]["interceptors"][0]
        in_driver = how in {"driver", "locked"}
        interceptor["config"]["how"] = "none" if in_driver else how
        if in_driver:
            self.pipeline.definition["sources"]["shop"].pop("interceptors")
            self.pipeline.definition["sinks"]["lake"] = {"type": "null", "channel": "lake"}
            run = self.pipeline.prepare()
            environment = {hostile.FLAG: str(self.flag), hostile.HOW: how}
            start_hostile(run, environment)
        else:
            run = self.pipeline.start()
        run.wait_status(lambda s: all(q.delivered > RATE for q in s.queries), "both channels", 300)
        return run

    def hang(self) -> None:
        """Let the component hang, and wait until it does."""
        self.flag.touch()
        wait_for(lambda: self.flag.with_suffix(".hanging").exists(), "the component hangs", 180)

    def stop(self, run: Run) -> ExitRecord:
        """As the supervisor orders it; returns how the run ended."""
        self.stopped_at = now = protocol.boottime()
        Control(
            seq=99,
            command=Command.STOP,
            boot_id=protocol.boot_id(),
            issued_at=now,
            reason="stop",
            term_at=now + INTERVAL,
            term_every=INTERVAL,
            kill_at=now + TIMEOUT,
        ).store(run.dir / protocol.CONTROL)
        return run.wait_exit(TIMEOUT + 60)

    def nothing_is_missing(self) -> None:
        """The next run delivers every record that was read, each exactly once."""
        self.flag.unlink()
        run = self.pipeline.start()
        run.wait_delivered(2 * RATE, 300)
        assert run.stop(60).exit_code == 0
        self.pipeline.ingest()
        found = bodies(self.tmp / "lake")
        assert not not_once(found, (str(number) for number in range(len(found))))


def start_hostile(run: Run, environment: dict[str, str]) -> None:
    """As Run.start, with the agent of `hostile.py`, which is told by its own arguments what to do."""
    settings = [f"{name}={value}" for name, value in environment.items()]
    driver = ["/usr/bin/env", *settings, sys.executable, "-P", "-m", "tests.chaos.hostile", str(run.dir)]
    keep = f"from workers.keeper.keeper import main; sys.exit(main(Path({str(run.dir)!r}), {driver!r}))"
    code = f"import sys; from pathlib import Path; {keep}"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=20, start_new_session=True, input=b"")


def dumps(run: Run) -> list[Dump]:
    found = Dumps.load(run.dir / protocol.DUMPS)
    return found.taken if found else []


@pytest.fixture
def case(tmp_path: Path, spark_settings: SparkSettings) -> Iterator[Case]:
    made = Case(tmp_path, spark_settings)
    yield made
    made.pipeline.kill_all()


@pytest.fixture(scope="module")
def neighbour(tmp_path_factory: pytest.TempPathFactory, spark_settings: SparkSettings) -> Iterator[Run]:
    """Another pipeline on the same host, for all cases."""
    tmp = tmp_path_factory.mktemp("neighbour")
    pipeline = Pipeline(
        tmp, definition("neighbour", {"shop": sequence("lake")}, {"lake": {"type": "null"}}), spark_settings
    )
    run = pipeline.start()
    run.wait_delivered(RATE, 300)
    yield run
    pipeline.kill_all()


def obeys_in_the_end(case: Case, neighbour: Run, how: str) -> None:
    """An interrupt ends it: no kill, dumps with its name, neighbours as before, nothing missing."""
    run = case.start(how)
    case.hang()
    beside, other = Flow(run, "audit").start(), Flow(neighbour, "lake").start()
    beside.goes_on()
    record = case.stop(run)
    other.goes_on()
    assert (record.exit_code, record.killed_by, record.stop_stage) == (0, None, "INTERRUPT")
    assert {path for dump in dumps(run) for path in dump.stuck} == {INTERCEPTOR}
    assert run.of_kind(Interrupted)[0].stuck == [INTERCEPTOR]
    assert run.status is not None
    assert run.status.stuck
    case.nothing_is_missing()


@whole_only
def test_a_component_that_an_interrupt_ends_is_not_killed(case: Case, neighbour: Run) -> None:
    obeys_in_the_end(case, neighbour, "sleep")


@whole_only
def test_a_component_whose_close_hangs_is_interrupted_again_and_not_killed(case: Case, neighbour: Run) -> None:
    obeys_in_the_end(case, neighbour, "hook")


@pytest.mark.parametrize("how", ["masked", "driver"] if WHOLE else ["masked"])
def test_a_component_that_nothing_interrupts_is_killed_at_the_deadline(case: Case, neighbour: Run, how: str) -> None:
    """In a Python worker, and in the driver itself: a sleep in C with every signal blocked."""
    run = case.start(how)
    case.hang()
    beside, other = Flow(run, "audit").start(), Flow(neighbour, "lake").start()
    beside.goes_on()
    record = case.stop(run)
    other.goes_on()
    assert (record.signal, record.killed_by, record.stop_stage) == (signal.SIGKILL, "keeper", "KILL")
    assert TIMEOUT <= record.boottime - case.stopped_at < LATEST
    named = INTERCEPTOR if how == "masked" else "sinks.lake"
    taken = dumps(run)
    assert named in taken[0].stuck
    assert any(named in (run.dir / protocol.STACKS / name).read_text() for name in taken[0].files)
    if how == "masked":
        case.nothing_is_missing()


@whole_only
def test_the_watchdog_in_the_driver_needs_neither_the_interpreters_lock_nor_a_keeper(case: Case) -> None:
    """The stop is known to the driver when the component takes the lock; the keeper is frozen."""
    run = case.start("locked")
    keeper = run.pid("keeper")
    case.hang()
    os.kill(keeper, signal.SIGSTOP)
    now = protocol.boottime()
    order = Control(
        seq=99, command=Command.DRAIN_AND_STOP, boot_id=protocol.boot_id(), issued_at=now, kill_at=now + TIMEOUT
    )
    order.store(run.dir / protocol.CONTROL)
    run.wait_status(lambda s: s.command_seq == order.seq, "the driver knows of the stop")
    case.flag.with_suffix(".lock").touch()
    driver = run.pid("driver")
    wait_for(lambda: state(driver) in {"Z", None}, "the watchdog", TIMEOUT + 30)
    os.kill(keeper, signal.SIGCONT)
    record = run.wait_exit()
    assert (record.killed_by, record.stop_stage) == ("agent", "KILL")


def state(pid: int) -> str | None:
    """The state of a process as the kernel writes it; None where it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return None
