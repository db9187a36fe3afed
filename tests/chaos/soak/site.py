"""What a soak works on: an installation, a broker of its own, pipelines under load and their user."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from controlplane.devstack import topics
from controlplane.devstack.demo import Demo
from tests.chaos.installation import PROJECT, Installation
from tests.chaos.soak import measuring
from tests.chaos.soak.broker import Broker
from tests.chaos.soak.load import HUGE, POISON_HEADER, Load
from tests.chaos.soak.measuring import Group
from tests.chaos.soak.observer import Task, Watched
from tests.chaos.soak.truth import Patience

RATE = 150.0
SLACK_SECONDS = 15
_PARTITIONS = 4
_LIFECYCLE = {
    "drain_timeout": "20s",
    "cancel_interval": "10s",
    "cancel_timeout": "40s",
    "restart_backoff_max": "10s",
    "restart_reset_after": "10s",
    "max_restarts": 1000,
}
"""What would wait for minutes waits for seconds: a soak has a fault every few seconds."""
_HASTE = {"write_timeout": "5s", "options": {"request.timeout.ms": 2500}}
"""A sink that is away is noticed when a write was given up."""
FINAL = {"SUCCEEDED", "FAILED", "CANCELLED", "SUPERSEDED"}


class User:
    """Someone with a token who asks once and is told no; nothing is tried again here."""

    def __init__(self, url: str, token: str) -> None:
        headers = {"Authorization": f"Token {token}"}
        self._http = httpx2.Client(base_url=f"{url}/api/v1", headers=headers, timeout=15.0)

    def get(self, path: str) -> dict[str, Any]:
        """Raises httpx2.HTTPError."""
        found: dict[str, Any] = self._http.get(path).raise_for_status().json()
        return found

    def post(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Raises httpx2.HTTPError."""
        made: dict[str, Any] = self._http.post(path, json=body or {}).raise_for_status().json()
        return made

    def act(self, pipeline: str, action: str, **body: Any) -> str:
        """Ask for an action; returns what came of the request."""
        try:
            return str(self.post(f"/pipelines/{pipeline}/{action}", body)["state"])
        except httpx2.HTTPStatusError as error:
            return f"refused with {error.response.status_code}"
        except httpx2.HTTPError as error:
            return f"no answer: {type(error).__name__}"


@dataclass
class Flow:
    """A pipeline with its load."""

    demo: Demo
    load: Load

    @property
    def name(self) -> str:
        return self.demo.name


@dataclass
class Site:
    """Everything that a fault can strike."""

    installation: Installation
    broker: Broker
    user: User
    flows: dict[str, Flow] = field(default_factory=dict)

    @property
    def runs(self) -> Path:
        return self.installation.state / "runs"

    @property
    def database(self) -> Path:
        return self.installation.state / "headgate.sqlite3"

    def groups(self, pipeline: str) -> list[Group]:
        """The living runs of a pipeline, the newest last."""
        found = measuring.groups(self.runs, measuring.processes())
        own = [group for group in found if group.run.parent.name == pipeline]
        return sorted(own, key=lambda group: int(group.run.name) if group.run.name.isdigit() else 0)

    def task(self, patience: Patience) -> Task:
        """What the observer is told."""
        return Task(
            state=str(self.installation.state),
            url=self.installation.url,
            token=self.installation.token,
            direct=self.broker.servers,
            source=self.broker.source.servers,
            sink=self.broker.sink.servers,
            pipelines=tuple(_watched(flow.demo) for flow in self.flows.values()),
            slack=int(RATE * SLACK_SECONDS) + 1000,
            patience=patience,
        )


def _watched(demo: Demo) -> Watched:
    return Watched(demo.name, demo.source, demo.sink, f"headgate.{demo.name}")


@contextmanager
def prepared(installation: Installation, directory: Path, names: Sequence[str]) -> Iterator[Site]:
    """A broker, and pipelines that run under load; all of it is ended at the end."""
    broker = Broker(directory)
    site = Site(installation, broker, User(installation.url, installation.token))
    try:
        for name in names:
            site.flows[name] = _flow(site, name)
        yield site
    finally:
        for flow in site.flows.values():
            site.user.act(flow.name, "stop", drain=False)
        _stopped(site)
        broker.close()


def _stopped(site: Site, within: float = 60.0) -> None:
    deadline = time.monotonic() + within
    while any(site.groups(name) for name in site.flows) and time.monotonic() < deadline:
        time.sleep(0.5)


def _flow(site: Site, name: str) -> Flow:
    demo = Demo(name, site.broker.servers, batch=5000)
    config = {"max.message.bytes": str(3 * HUGE)}
    topics.create(demo.servers, [demo.source], partitions=_PARTITIONS, config=config)
    topics.create(demo.servers, [demo.sink], partitions=_PARTITIONS, config={})
    definition = demo.definition()
    definition["sources"]["orders"]["bootstrap_servers"] = site.broker.source.servers
    definition["sinks"]["clean"] |= {
        "bootstrap_servers": site.broker.sink.servers,
        "partition_header": POISON_HEADER,
        **_HASTE,
    }
    definition["delivery"]["trigger_interval_ms"] = 1000
    definition["lifecycle"] = _LIFECYCLE
    definition["placement"] = {"launcher": {"type": "local", "driver_memory": "1g"}}
    site.installation.api.post("/pipelines", {"definition": definition})
    load = Load(site.broker.servers, demo.source, RATE, _PARTITIONS)
    load.start()
    site.installation.api.act(name, "start", timeout=180)
    return Flow(demo, load)


@contextmanager
def observed(site: Site, directory: Path, patience: Patience) -> Iterator[Path]:
    """Run the observer; yields the file of its looks."""
    task, looks = directory / "observer.json", directory / "looks.jsonl"
    site.task(patience).store(task)
    looks.unlink(missing_ok=True)
    argv = [sys.executable, "-m", "tests.chaos.soak.observer", str(task), str(looks)]
    with (directory / "observer.log").open("wb") as log:
        process = subprocess.Popen(argv, cwd=PROJECT, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield looks
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(30)
        process.kill()
        process.wait(10)
        task.unlink()
