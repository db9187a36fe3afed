"""A real server, in this process or as a program of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from controlplane.devstack.services import web_argv
from tests.db.conftest import server as server
from tests.waiting import wait_for


@dataclass(frozen=True)
class Web:
    """The web server as `headgate web` runs it, over a state of its own, with tokens of viewer and administrator."""

    port: int
    token: str
    admin: str

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"


@pytest.fixture(scope="session")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """One server for all tests of a process."""
    state = tmp_path_factory.mktemp("web")
    env = os.environ | {"HEADGATE_STATE": str(state / "state"), "DJANGO_SETTINGS_MODULE": "controlplane.settings"}
    env.pop("HEADGATE_DATABASE_URL", None)

    def manage(*arguments: str) -> str:
        argv = [sys.executable, "manage.py", *arguments]
        return subprocess.run(argv, env=env, check=True, capture_output=True, text=True, timeout=120).stdout

    manage("migrate", "--verbosity", "0")
    manage("add_secret_key")
    token, admin = (manage("create_token", role, "--role", role).split()[-1] for role in ("viewer", "admin"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with Path(state / "log").open("wb") as log:
        process = subprocess.Popen(web_argv(address="127.0.0.1", port=port), env=env, stdout=log, stderr=log)
        try:
            wait_for(lambda: _answers(port), "the web server answers", timeout=60)
            yield Web(port, token, admin)
        finally:
            process.terminate()
            process.wait(20)


def _answers(port: int) -> bool:
    try:
        return httpx2.get(f"http://127.0.0.1:{port}/healthz", timeout=2).status_code == 200
    except httpx2.HTTPError:
        return False
