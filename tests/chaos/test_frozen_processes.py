"""Processes that do not answer: shown as unknown, never doubled, and ended by whoever still can."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controlplane.devstack.demo import Demo
from pipelines.domain.runs.protocol import IDENTITY, Identity
from tests.chaos.installation import Installation, wait_for
from tests.chaos.stream import MOVING_WITHIN
from workers.adapters.processes import HostProcesses

QUICK = {
    "heartbeat_interval": 0.5,
    "heartbeat_timeout": 3,
    "drain_timeout": 2,
    "cancel_interval": 1,
    "cancel_timeout": 3,
}


class Agent:
    """A pipeline with short deadlines, and its processes."""

    def __init__(self, installation: Installation) -> None:
        self.api = installation.api
        self.demo = Demo("frozen", installation.servers)
        self.demo.create_topics()
        self.api.post("/pipelines", {"definition": self.demo.definition() | {"lifecycle": QUICK}})

    def is_up(self) -> None:
        """Start it, unless it runs."""
        if self.pipeline["phase"] != "RUNNING":
            self.act("start")

    def act(self, action: str, **body: Any) -> None:
        self.api.act(self.demo.name, action, timeout=MOVING_WITHIN, **body)

    @property
    def pipeline(self) -> dict[str, Any]:
        return self.api.get(f"/pipelines/{self.demo.name}")

    @property
    def run(self) -> dict[str, Any]:
        newest: dict[str, Any] = self.api.get(f"/pipelines/{self.demo.name}/runs")["results"][0]
        return newest

    @property
    def identity(self) -> Identity:
        identity = Identity.load(Path(self.run["run_dir"]) / IDENTITY)
        assert identity is not None
        return identity

    def signal(self, number: signal.Signals, *, keeper: bool = False) -> None:
        """To the driver, or to the keeper."""
        identity = self.identity
        assert identity.driver is not None
        os.kill(identity.keeper.pid if keeper else identity.driver.pid, number)

    def wait_for_phase(self, phase: str) -> None:
        wait_for(lambda: self.pipeline["phase"] == phase, MOVING_WITHIN, f"the phase is {phase}")


@pytest.fixture(scope="module")
def shared(installation: Installation) -> Iterator[Agent]:
    agent = Agent(installation)
    yield agent
    agent.act("stop", drain=False)


@pytest.fixture
def agent(shared: Agent) -> Agent:
    """One that runs; the test before has left it so, if nothing ended it."""
    shared.is_up()
    return shared


def test_a_silent_agent_is_unknown_and_never_replaced_and_comes_back(agent: Agent) -> None:
    number = agent.run["number"]
    agent.signal(signal.SIGSTOP)
    agent.wait_for_phase("UNKNOWN")
    agent.signal(signal.SIGCONT)
    agent.wait_for_phase("RUNNING")
    assert agent.run["number"] == number


def test_a_stop_of_a_frozen_driver_is_enforced_by_its_keeper(agent: Agent) -> None:
    token = agent.identity.token
    agent.signal(signal.SIGSTOP)
    agent.act("stop", drain=False)
    assert (agent.pipeline["phase"], agent.pipeline["stop_reason"]) == ("STOPPED", "WATCHDOG")
    assert (agent.run["outcome"], agent.run["stop_stage"]) == ("KILLED", "KILL")
    assert token not in HostProcesses().holders()


def test_a_stop_is_enforced_by_the_supervisor_when_the_keeper_is_frozen_too(agent: Agent) -> None:
    token = agent.identity.token
    agent.signal(signal.SIGSTOP, keeper=True)
    agent.signal(signal.SIGSTOP)
    agent.act("stop", drain=False)
    assert (agent.pipeline["phase"], agent.run["outcome"]) == ("STOPPED", "KILLED")
    assert token not in HostProcesses().holders()
