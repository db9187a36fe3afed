"""The processes of `headgate up`, on the benchmark's own broker."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench.systems.base import Failed
from bench.usage import wait_until
from controlplane.devstack.client import Api, Refused
from controlplane.devstack.services import web_url
from controlplane.install.services.interrupt import Interrupt
from controlplane.install.services.ports import free_port
from controlplane.install.tools.paths import PROJECT

_READY = b"Headgate is at"
_START_TIMEOUT = 240.0
_STOP_TIMEOUT = 120.0
_TOKEN_TIMEOUT = 60.0
_KEPT = "HEADGATE_CACHE"
"""The one setting of the user's that counts here: where set-up has put the jars."""


@contextmanager
def control_plane(directory: Path) -> Iterator[Api]:
    """A whole control plane with a new database, until the end of the block; what it runs is stopped first.

    Raises Failed, with the end of its log, where it does not start, its API refuses something or the block has failed.
    """
    directory.mkdir(parents=True, exist_ok=True)
    web, log, environment = free_port(), directory / "up.log", _environment(directory / "state")
    ports = ["--web-port", str(web), "--redis-port", str(free_port())]
    with log.open("wb") as output:
        stack = subprocess.Popen(
            [sys.executable, "manage.py", "up", "--stop-agents", "--no-kafka", *ports],
            cwd=PROJECT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait_until(lambda: _READY in log.read_bytes() or stack.poll() is not None, _START_TIMEOUT)
        if _READY not in log.read_bytes():
            raise Failed("the control plane did not start")
        yield Api(web_url(web), _token(environment), Interrupt())
    except (Failed, Refused, RuntimeError, TimeoutError) as error:
        raise Failed("\n    ".join([str(error), *log.read_text(errors="replace").splitlines()[-15:]])) from error
    finally:
        stack.terminate()
        try:
            stack.wait(_STOP_TIMEOUT)
        finally:
            stack.kill()


def _environment(state: Path) -> dict[str, str]:
    """That of a new installation, whatever is set for another one."""
    ours = ("HEADGATE_", "DJANGO_")
    kept = {name: value for name, value in os.environ.items() if name == _KEPT or not name.startswith(ours)}
    return {**kept, "HEADGATE_STATE": str(state), "HEADGATE_HOST": "bench", "PYTHONUNBUFFERED": "1"}


def _token(environment: Mapping[str, str]) -> str:
    created = subprocess.run(
        [sys.executable, "manage.py", "create_token", "admin"],
        cwd=PROJECT,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
        timeout=_TOKEN_TIMEOUT,
    )
    return created.stdout.strip().splitlines()[-1]
