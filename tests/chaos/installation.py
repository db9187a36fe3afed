"""`manage.py up` in a directory of its own, as a user runs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from controlplane.devstack.client import Api
from controlplane.devstack.services import web_url, worker_service
from controlplane.install.services.child import Child, running
from controlplane.install.services.interrupt import Interrupt
from controlplane.install.services.kafka import bootstrap_servers
from controlplane.install.services.ports import free_port
from controlplane.install.services.redis import redis_url
from pipelines.domain.runs.protocol import ProcessIdentity
from tests.java import quick_java

PROJECT = Path(__file__).resolve().parents[2]
STARTED_WITHIN = 240.0
STOPPED_WITHIN = 120.0
_OF_THE_RUN = ("HEADGATE_CACHE", "HEADGATE_KAFKA_READER")
"""What the tests were started with, and the stack has, too."""


@dataclass(frozen=True)
class Installation:
    """The running stack. `state` is its state directory, `servers` its broker, `token` an administrator's,
    `environment` what a process of another host needs to work with it."""

    state: Path
    api: Api
    servers: str
    log: Path
    url: str
    token: str
    environment: Mapping[str, str] = field(default_factory=dict)

    def kill(self, service: str) -> int:
        """SIGKILL a service of the stack; returns its pid."""
        return self.signal(service, signal.SIGKILL)

    def signal(self, service: str, number: signal.Signals) -> int:
        """Send a signal to a service of the stack; returns its pid."""
        record = self.state / "up" / f"{service}.json"
        identity = ProcessIdentity.model_validate_json(record.read_bytes())
        os.kill(identity.pid, number)
        return identity.pid

    def rest(self, host: str = "", but: str = "") -> None:
        """Stop every pipeline but one, or every one of a host, without waiting for what was not read."""
        for pipeline in self.api.get("/pipelines?limit=200")["results"]:
            away = pipeline["name"] == but or (host and pipeline["host"] != host)
            if pipeline["desired_state"] != "STOPPED" and not away:
                self.api.act(pipeline["name"], "stop", timeout=STOPPED_WITHIN, drain=False)


def wait_for(condition: Callable[[], object], within: float, what: str) -> None:
    """Poll until the condition holds; fails after `within` seconds. Most conditions are questions to the API, which is
    left alone three quarters of the time."""
    deadline, started = time.monotonic() + within, time.monotonic()
    while not condition():
        now = time.monotonic()
        assert now < deadline, f"not within {within:g} s: {what}"
        time.sleep(min(1.0, max(0.1, 3 * (now - started))))
        started = time.monotonic()


@contextmanager
def installed(directory: Path, *options: str, **more: str) -> Iterator[Installation]:
    """Start the stack, with `options` of `up` and `more` variables, create a token, and stop everything at the end, in
    order."""
    web, redis, kafka = free_port(), free_port(), free_port()
    state, log = directory / "state", directory / "up.log"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HEADGATE_", "DJANGO_"))}
    more = {"JAVA_HOME": quick_java(directory / "java"), "HEADGATE_ALLOWED_ROOTS": tempfile.gettempdir(), **more}
    environment |= {"HEADGATE_STATE": str(state), "HEADGATE_HOST": "chaos", "PYTHONUNBUFFERED": "1", **more}
    environment |= {name: os.environ[name] for name in _OF_THE_RUN if name in os.environ}
    ports = ["--web-port", str(web), "--redis-port", str(redis), "--kafka-port", str(kafka)]
    with log.open("wb") as output:
        stack = subprocess.Popen(
            [sys.executable, "manage.py", "up", "--stop-agents", *ports, *options],
            cwd=PROJECT,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        ready = b"Headgate is at"
        wait_for(lambda: ready in log.read_bytes() or stack.poll() is not None, STARTED_WITHIN, "the stack is ready")
        assert stack.poll() is None, log.read_text()[-4000:]
        token = (
            subprocess.run(
                [sys.executable, "manage.py", "create_token", "admin"],
                cwd=PROJECT,
                env=environment,
                check=True,
                capture_output=True,
                text=True,
            )
            .stdout.strip()
            .splitlines()[-1]
        )
        shared = {
            "DJANGO_SETTINGS_MODULE": "controlplane.settings",
            "HEADGATE_DATABASE_URL": f"sqlite:///{state / 'headgate.sqlite3'}",
            "HEADGATE_REDIS_URL": redis_url(state / "redis", redis),
            "HEADGATE_SECRET_KEY_FILE": str(state / "secret_store.keys"),
            **more,
        }
        api = Api(web_url(web), token, Interrupt())
        yield Installation(state, api, bootstrap_servers(kafka), log, web_url(web), token, shared)
    finally:
        stack.terminate()
        try:
            stack.wait(STOPPED_WITHIN)
        finally:
            stack.kill()


@contextmanager
def another_host(installation: Installation, directory: Path, name: str) -> Iterator[Child]:
    """The worker of a second host, with a state directory of its own. Its pipelines are stopped before it ends."""
    api = installation.api

    def supervised() -> bool:
        hosts = cast("list[dict[str, Any]]", api.get("/hosts"))
        return any(host["name"] == name and host["supervised"] for host in hosts)

    key = (installation.state / "secret_key").read_text().strip()  # one for all processes of an installation
    environment = {**installation.environment, "HEADGATE_HOST": name, "HEADGATE_SECRET_KEY": key}
    environment["HEADGATE_STATE"] = str(directory / "state")
    directory.mkdir(parents=True, exist_ok=True)
    with running(worker_service(host=name, env=environment, is_ready=supervised), directory / "worker.log") as worker:
        try:
            yield worker
        finally:
            installation.rest(name)
