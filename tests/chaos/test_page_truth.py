"""What page, API and alerts say of a run that another process has damaged or halted is true within seconds."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest

from controlplane.cli.base.errors import ExitCode
from controlplane.devstack import topics
from controlplane.devstack.demo import PARTITIONS, TOPIC_CONFIG
from controlplane.devstack.ledger import read_back
from controlplane.install.services.kafka import running_kafka
from pipelines.domain.runs.protocol import JOURNAL, ProcessIdentity
from tests import command_line
from tests.chaos.extent import WHOLE, some
from tests.chaos.installation import Installation, wait_for
from tests.chaos.stream import MOVING_WITHIN, Stream, streaming
from tests.figures import RecordProperty
from tests.processes import words_of
from workers.adapters.processes import HostProcesses

TRUE_WITHIN = 10.0 if WHOLE else MOVING_WITHIN
"""Seconds. A machine that runs other tests beside this one may be late."""


def alerts(stream: Stream) -> set[str]:
    """Rules of the pipeline's alerts that are not resolved."""
    found = stream.installation.api.get(f"/alerts?pipeline={stream.demo.name}&state=OPEN")["results"]
    return {each["rule"] for each in found}


def conditions(stream: Stream) -> dict[str, str]:
    """Status of each condition."""
    status = stream.installation.api.get(f"/pipelines/{stream.demo.name}/status")
    return {each["type"]: each["status"] for each in status["conditions"]}


def send(processes: Iterable[ProcessIdentity], number: signal.Signals) -> None:
    """To those that have not ended."""
    for each in processes:
        with suppress(ProcessLookupError):
            os.kill(each.pid, number)


def seconds_until(true: Callable[[], bool], what: str) -> float:
    started = time.monotonic()
    wait_for(true, TRUE_WITHIN, what)
    return round(time.monotonic() - started, 1)


def damaged(stream: Stream) -> bool:
    """Whether everything says that the journal of the run is damaged."""
    return (
        stream.pipeline["phase"] in {"UNKNOWN", "BLOCKED"}
        and "journal_damaged" in alerts(stream)
        and conditions(stream)["LedgerBalanced"] == "Unknown"
    )


def resumes_from_the_ledger(stream: Stream) -> None:
    """Start it; where the guard has something to decide, decide for the ledger's positions first."""
    with suppress(RuntimeError):
        stream.act("start")
        return
    installation, name = stream.installation, stream.demo.name
    code, planned = headgate(installation, "positions", "plan", name, "--to", "ledger", "-o", "json")
    assert code == ExitCode.OK, planned
    assert headgate(installation, "positions", "apply", name, json.loads(planned)["hash"])[0] == ExitCode.OK
    stream.act("start")


def headgate(installation: Installation, *arguments: str) -> tuple[int, str]:
    return command_line.headgate(installation.url, installation.token, *arguments)


@pytest.mark.parametrize("damage", some(["directory", "journal"], 2))
def test_a_run_that_lost_its_journal_is_never_shown_as_healthy(
    installation: Installation, damage: str, record_property: RecordProperty
) -> None:
    with streaming(installation, name=f"lost-{damage}") as stream:
        run_dir = Path(stream.runs[0]["run_dir"])
        if damage == "directory":
            shutil.rmtree(run_dir, ignore_errors=True)
        else:
            os.truncate(run_dir / JOURNAL, 0)
        record_property("seconds until shown", seconds_until(lambda: damaged(stream), "the damage is shown"))
        stream.act("stop")
        assert stream.pipeline["phase"] == "STOPPED"
        assert stream.watch.alive() == set()
        resumes_from_the_ledger(stream)
        stream.nothing_is_missing()


def test_an_agent_that_is_halted_is_unknown_with_what_continues_it(
    installation: Installation, record_property: RecordProperty
) -> None:
    with streaming(installation, name="halted") as stream:
        processes = HostProcesses().holders()[stream.identity.token]
        send(processes, signal.SIGSTOP)
        try:
            seconds = seconds_until(
                lambda: stream.pipeline["phase"] == "UNKNOWN" and "unknown" in alerts(stream), "it is shown"
            )
            record_property("seconds until shown", seconds)
            assert "kill -CONT" in stream.pipeline["headline"]
            before = stream.pipeline["live"]
            assert before["stale"]
            wait_for(
                lambda: stream.pipeline["live"]["lag_records"] > before["lag_records"], MOVING_WITHIN, "the lag grows"
            )
        finally:
            send(processes, signal.SIGCONT)
        stream.goes_on(stream.read)
        wait_for(lambda: not alerts(stream), MOVING_WITHIN, "the alert is resolved")
        stream.delivered_once()


class Brokers:
    """Two brokers that the test takes away and brings back: `source` and `sink`. `hanging`: one that is away takes
    connections and never answers, as it does with a halted process or a network that drops everything."""

    def __init__(self, directory: Path, *, hanging: bool) -> None:
        self._directory, self.hanging = directory, hanging
        self._running = {name: ExitStack() for name in ("source", "sink")}
        self.servers = {name: self.start(name) for name in self._running}

    def start(self, name: str) -> str:
        port = int(self.servers[name].rpartition(":")[2]) if hasattr(self, "servers") else None
        return self._running[name].enter_context(running_kafka(self._directory / name, port=port))

    def close(self) -> None:
        for running in self._running.values():
            running.close()

    def take_away(self, name: str) -> None:
        if self.hanging:
            self._process(name).suspend()
        else:
            self._running[name].close()

    def bring_back(self, name: str) -> None:
        if self.hanging:
            self._process(name).resume()
        else:
            self.start(name)

    def _process(self, name: str) -> psutil.Process:
        place = str(self._directory / name)
        return next(each for each in psutil.process_iter() if any(place in word for word in words_of(each)))


@pytest.fixture(params=some(["stopped", "hanging"], 2))
def brokers(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Brokers]:
    made = Brokers(tmp_path, hanging=request.param == "hanging")
    yield made
    made.close()


def says_away(stream: Stream, component: str) -> bool:
    """Whether everything says that this component is failing, and that no other is."""
    pipeline = stream.pipeline
    components = stream.installation.api.get(f"/pipelines/{stream.demo.name}/status")["components"]
    return (
        pipeline["phase"] == "DEGRADED"
        and component in pipeline["headline"]
        and {each["name"] for each in components if each["state"] == "failed"} == {component}
        and "degraded" in alerts(stream)
        and conditions(stream)["Stable"] == "False"
    )


def test_the_side_that_is_away_is_the_one_that_is_named(
    installation: Installation, brokers: Brokers, record_property: RecordProperty
) -> None:
    """A stop does not wait for what was away before it."""
    name = "hanging" if brokers.hanging else "away"
    topic = f"{name}.clean"
    topics.create(brokers.servers["sink"], [topic], partitions=PARTITIONS, config=TOPIC_CONFIG)
    sink = {"type": "kafka", "bootstrap_servers": brokers.servers["sink"], "topic": topic}
    with streaming(installation, name=name, sink=sink, servers=brokers.servers["source"]) as stream:
        brokers.take_away("sink")
        seconds = {"sink": seconds_until(lambda: says_away(stream, "sinks.clean"), "the sink is named")}
        brokers.bring_back("sink")
        stream.goes_on(stream.read)
        wait_for(lambda: not alerts(stream), MOVING_WITHIN, "the alert is resolved")
        stream.producer.stop()
        brokers.take_away("source")
        seconds["source"] = seconds_until(lambda: says_away(stream, "sources.orders"), "the source is named")
        started = time.monotonic()
        stream.act("stop")
        seconds["stop"] = round(time.monotonic() - started, 1)
        record_property("seconds until shown", seconds["sink"])
        record_property("seconds until the source is shown", seconds["source"])
        record_property("seconds of the stop", seconds["stop"])
        brokers.bring_back("source")
        stream.act("start")
        produced = stream.run_out()
        found = read_back(topics.read_all(brokers.servers["sink"], topic), produced)
        assert (found.missing, found.foreign) == (0, 0)
        assert found.duplicates <= stream.ledger["duplicates_max"]
        stream.balances(produced)
