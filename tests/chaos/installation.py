"""`manage.py up` in a directory of its own, as a user runs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from controlplane.devstack.client import Api
from controlplane.devstack.interrupt import Interrupt
from controlplane.devstack.kafka import bootstrap_servers
from controlplane.devstack.ports import free_port
from controlplane.devstack.services import web_url
from pipelines.domain.protocol import ProcessIdentity

PROJECT = Path(__file__).resolve().parents[2]
STARTED_WITHIN = 240.0
STOPPED_WITHIN = 120.0


@dataclass(frozen=True)
class Installation:
    """The running stack. `state` is its state directory, `servers` its broker, `token` an administrator's."""

    state: Path
    api: Api
    servers: str
    log: Path
    url: str
    token: str

    def kill(self, service: str) -> int:
        """SIGKILL a service of the stack; returns its pid."""
        record = self.state / "up" / f"{service}.json"
        identity = ProcessIdentity.model_validate_json(record.read_bytes())
        os.kill(identity.pid, signal.SIGKILL)
        return identity.pid


def wait_for(condition: Callable[[], object], within: float, what: str) -> None:
    """Poll until the condition holds; fails after `within` seconds."""
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, f"not within {within:g} s: {what}"
        time.sleep(0.1)


@contextmanager
def installed(directory: Path) -> Iterator[Installation]:
    """Start the stack, create a token, and stop everything at the end, in order."""
    web, redis, kafka = free_port(), free_port(), free_port()
    state, log = directory / "state", directory / "up.log"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HEADGATE_", "DJANGO_"))}
    environment |= {"HEADGATE_STATE": str(state), "HEADGATE_HOST": "chaos", "PYTHONUNBUFFERED": "1"}
    if "HEADGATE_CACHE" in os.environ:
        environment["HEADGATE_CACHE"] = os.environ["HEADGATE_CACHE"]
    ports = ["--web-port", str(web), "--redis-port", str(redis), "--kafka-port", str(kafka)]
    with log.open("wb") as output:
        stack = subprocess.Popen(
            [sys.executable, "manage.py", "up", "--stop-agents", *ports],
            cwd=PROJECT, env=environment, stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        ready = b"Headgate is at"
        wait_for(lambda: ready in log.read_bytes() or stack.poll() is not None, STARTED_WITHIN, "the stack is ready")
        assert stack.poll() is None, log.read_text()[-4000:]
        token = subprocess.run(
            [sys.executable, "manage.py", "create_token", "admin"],
            cwd=PROJECT, env=environment, check=True, capture_output=True, text=True,
        ).stdout.strip().splitlines()[-1]  # fmt: skip
        yield Installation(
            state, Api(web_url(web), token, Interrupt()), bootstrap_servers(kafka), log, web_url(web), token
        )
    finally:
        stack.terminate()
        try:
            stack.wait(STOPPED_WITHIN)
        finally:
            stack.kill()
