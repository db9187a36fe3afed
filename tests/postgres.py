"""A PostgreSQL of a test's own: a cluster in a temporary directory, run by an unprivileged user, gone afterwards."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from controlplane.install.services.ports import LOOPBACK, free_port
from controlplane.install.tools.postgres import programs
from tests.waiting import wait_for

_USERS = ("postgres", "nobody")
_SETTINGS = {"listen_addresses": LOOPBACK, "fsync": "off", "max_connections": "50", "shared_buffers": "32MB"}


def _user() -> str | None:
    """PostgreSQL refuses to run as root; anybody else runs it as themselves."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in _USERS if name in known)


@contextmanager
def running_postgres() -> Iterator[str]:
    """Run a server on a free port; yields the address of its database."""
    home = Path(tempfile.mkdtemp(prefix="headgate-postgres-"))
    user = _user()
    if user:
        shutil.chown(home, user)
    try:
        with _server(home, user) as address:
            yield address
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def _server(home: Path, user: str | None) -> Iterator[str]:
    data, port = home / "data", free_port()
    initdb = [str(programs() / "initdb"), "-D", str(data), "-U", "headgate", "-A", "trust", "-E", "UTF8", "--no-sync"]
    subprocess.run(
        [*initdb, "--locale=C.UTF-8"], user=user, cwd=home, check=True, timeout=120, stdout=subprocess.DEVNULL
    )
    settings = [f"-c{name}={value}" for name, value in _SETTINGS.items()]
    command = [str(programs() / "postgres"), "-D", str(data), "-k", str(home), "-p", str(port), *settings]
    with (home / "log").open("w") as log:
        server = subprocess.Popen(command, user=user, cwd=home, stdout=log, stderr=log)
        try:
            address = f"postgresql://headgate@{LOOPBACK}:{port}/postgres"
            wait_for(lambda: server.poll() is not None or _answers(address), "PostgreSQL to answer", 60)
            yield address
        finally:
            server.send_signal(signal.SIGINT)  # ends without waiting for clients
            server.wait(30)


def _answers(address: str) -> bool:
    try:
        with psycopg.connect(address, connect_timeout=2):
            return True
    except psycopg.OperationalError:
        return False
