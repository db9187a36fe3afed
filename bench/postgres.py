"""A PostgreSQL of the system's own binaries, for one case."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

from bench.records import Delivered
from controlplane.install.services.child import Service
from controlplane.install.services.child import running as running_service
from controlplane.install.services.ports import LOOPBACK, free_port

TABLE = "events"
_TIMEOUT = 120.0
_INSTALL = "PostgreSQL's server is not installed: `apt-get update && apt-get install -y postgresql` as root, then again"


@dataclass(frozen=True)
class Server:
    """A running server with one table; `dsn` is its address."""

    dsn: str

    def empty(self) -> None:
        """Make the schema anew, with the keys of finished batches: another run's batches have the same numbers."""
        with psycopg.connect(self.dsn, autocommit=True, connect_timeout=10) as connection:
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")
            columns = sql.SQL('topic text, partition int, "offset" bigint, body text')
            connection.execute(sql.SQL("CREATE TABLE {} ({})").format(sql.Identifier(TABLE), columns))

    def read(self, delivered: Delivered) -> None:
        """Every row's body."""
        with psycopg.connect(self.dsn, connect_timeout=10) as connection, connection.cursor("bodies") as cursor:
            cursor.itersize = 50_000
            for (value,) in cursor.execute(sql.SQL("SELECT body FROM {}").format(sql.Identifier(TABLE))):
                delivered.add(value.encode(), 0)


def missing() -> str | None:
    """What to install where the server's programs are not here."""
    return None if _binaries() else _INSTALL


@contextmanager
def running(directory: Path) -> Iterator[Server]:
    """A server on a free port with its data below `directory`, until the end of the block."""
    binaries = _binaries()
    if binaries is None:
        raise FileNotFoundError(_INSTALL)
    data = directory / "postgres"
    data.mkdir()
    prefix = _as_unprivileged(directory, data)
    init = [*prefix, str(binaries / "initdb"), "-D", str(data), "-U", "bench", "-A", "trust", "--no-sync"]
    subprocess.run(init, check=True, capture_output=True, timeout=_TIMEOUT, cwd=data)
    port = free_port()
    command = [*prefix, str(binaries / "postgres"), "-D", str(data), "-h", LOOPBACK, "-p", str(port)]
    command += ["-c", "unix_socket_directories=", "-c", "max_wal_size=4GB", "-c", "shared_buffers=256MB"]
    dsn = f"postgresql://bench@{LOOPBACK}:{port}/postgres"
    with running_service(Service("postgres", command, is_ready=lambda: _answers(dsn)), directory / "postgres.log"):
        yield Server(dsn)


def _binaries() -> Path | None:
    """The directory of initdb and postgres: on PATH, else Debian's of the newest version."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    installed = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    newest = max(installed, key=lambda file: int(file.parts[-3].partition(".")[0]), default=None)
    return newest.parent if newest else None


def _as_unprivileged(directory: Path, data: Path) -> list[str]:
    """PostgreSQL refuses to run as root: then it gets the first account that is meant for it."""
    if os.geteuid() != 0:
        return []
    names = {entry.pw_name for entry in pwd.getpwall()}
    user = "postgres" if "postgres" in names else "nobody"
    shutil.chown(data, user)
    directory.chmod(0o711)
    return ["setpriv", f"--reuid={user}", f"--regid={pwd.getpwnam(user).pw_gid}", "--clear-groups"]


def _answers(dsn: str) -> bool:
    try:
        psycopg.connect(dsn, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True
