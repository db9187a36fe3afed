"""The agents of this state directory: stopped through the API, and at the end by identity."""

from __future__ import annotations

from pathlib import Path
from time import monotonic, sleep

from controlplane.devstack.client import Api, Refused
from controlplane.devstack.console import Console
from pipelines.domain.runs.protocol import IDENTITY, Identity
from workers.adapters.processes import HostProcesses

STOP_TIMEOUT = 60.0  # seconds for one pipeline
KILL_TIMEOUT = 10.0  # seconds for all processes that were killed


def running_pipelines(state: Path) -> dict[str, set[str]]:
    """Name of each pipeline with living processes, and the run tokens that these carry."""
    alive = HostProcesses().holders()
    found: dict[str, set[str]] = {}
    for file in (state / "runs").glob(f"*/*/{IDENTITY}"):
        identity = Identity.load(file)
        if identity is not None and identity.token in alive:
            found.setdefault(file.parent.parent.name, set()).add(identity.token)
    return found


def stop_pipelines(api: Api, state: Path, console: Console) -> None:
    """Ask every pipeline with a living agent to stop, and wait. What refuses is left to `end_agents`."""
    for name in sorted(running_pipelines(state)):
        console.say(f"Stopping the pipeline {name}.")
        try:
            api.act(name, "stop", timeout=STOP_TIMEOUT, drain=False)
        except (Refused, RuntimeError, TimeoutError) as error:
            console.say(f"{name} did not stop cleanly: {error}")


def end_agents(state: Path, console: Console) -> None:
    """Kill what is left of the agents of this state directory, each process after its identity was checked, and wait
    until the system has taken it away."""
    left = running_pipelines(state)
    processes, killed = HostProcesses(), []
    for token, holders in processes.holders().items():
        name = next((name for name, tokens in left.items() if token in tokens), None)
        if name is not None:
            ended = [process for process in holders if processes.kill(process, token)]
            killed += ended
            console.say(f"Killed {len(ended)} processes of {name} that had not ended.")
    deadline = monotonic() + KILL_TIMEOUT
    while any(map(processes.is_alive, killed)) and monotonic() < deadline:
        sleep(0.05)
