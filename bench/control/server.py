"""The real web server over the database of a case, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import psutil

from controlplane.install.services.child import Service, running
from controlplane.install.services.ports import LOOPBACK, free_port
from pipelines.domain.base.roles import Role
from pipelines.services.access import access


@contextmanager
def web(log: Path) -> Iterator[tuple[str, psutil.Process]]:
    """Its address and process, until the end of the block."""
    port = free_port()
    address = f"http://{LOOPBACK}:{port}"
    command = [
        sys.executable,
        "-m",
        "uvicorn",
        "controlplane.asgi:application",
        "--host",
        LOOPBACK,
        "--port",
        str(port),
        "--lifespan",
        "off",
        "--no-access-log",
        "--log-level",
        "warning",
    ]
    with running(Service("web", command, is_ready=lambda: _answers(address)), log) as child:
        yield address, psutil.Process(_pid(child.process))


def _pid(process: subprocess.Popen[bytes]) -> int:
    return process.pid


def _answers(address: str) -> bool:
    try:
        return httpx2.get(f"{address}/healthz", timeout=2).status_code == 200
    except httpx2.HTTPError:
        return False


def viewers(count: int) -> list[str]:
    """Access tokens of so many users who may look."""
    tokens = []
    for number in range(count):
        user = access.create_user(username=f"viewer-{number}", password=None, role=Role.VIEWER)
        tokens.append(access.create_token(user=user, name="bench", expires=None))
    return tokens
