"""PostgreSQL with a bound on every call: the server's own time limits, and a socket that is shut when they fail."""

from __future__ import annotations

import os
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from pipelines.domain.access.reach import ReachPolicy
from workers.agent.base.reach import allowed_addresses

_PORT = 5432
_ALLOWED = frozenset(
    {
        "channel_binding",
        "dbname",
        "host",
        "hostaddr",
        "password",
        "port",
        "sslmode",
        "target_session_attrs",
        "user",
    }
)
_GRACE = 5.0


class AddressRefused(ValueError):
    """The address of a database has parts that a definition may not set."""


@dataclass(frozen=True)
class Database:
    """How to reach a database; picklable, so it goes to the executors. Times are seconds. With `reach`, a connection is
    made to addresses that it allows, and to no others."""

    dsn: str = field(repr=False)
    ca: str | None = None
    connect_timeout: float = 10.0
    statement_timeout: float = 120.0
    reach: ReachPolicy | None = None

    def settings(self) -> dict[str, Any]:
        """The parts of the address. Raises AddressRefused where one opens files or changes what we set ourselves."""
        try:
            given = conninfo_to_dict(self.dsn)
        except psycopg.ProgrammingError as error:
            raise AddressRefused("the address cannot be read") from error
        if other := sorted(set(given) - _ALLOWED):
            raise AddressRefused(f"the address must not set {', '.join(other)}")
        hosts = str(given.get("hostaddr") or given.get("host") or "").split(",")
        if any(not host.strip() or host.strip().startswith(("/", "@")) for host in hosts):
            raise AddressRefused("the address names no host, or a socket of this machine")
        return dict(given)

    @contextmanager
    def connected(self) -> Iterator[psycopg.Connection[Any]]:
        """A connection whose every statement ends in `statement_timeout`. Raises psycopg.Error, and OutOfReach."""
        connection = self._connect()
        try:
            yield connection
        finally:
            connection.close()

    def _connect(self) -> psycopg.Connection[Any]:
        limit = round(self.statement_timeout * 1000)
        options = (
            f"-c statement_timeout={limit} -c lock_timeout={limit} -c idle_in_transaction_session_timeout={limit} "
            "-c client_min_messages=warning"
        )
        with self._authority() as tls:
            return psycopg.connect(
                "",
                connect_timeout=max(1, round(self.connect_timeout)),
                options=options,
                application_name="headgate",
                keepalives_idle=10,
                keepalives_interval=5,
                keepalives_count=3,
                tcp_user_timeout=limit,
                **{**self._pinned(), **tls},
            )

    def _pinned(self) -> dict[str, Any]:
        """The parts of the address with what its names mean now: libpq looks no name up again. Raises OutOfReach."""
        given = self.settings()
        if self.reach is None:
            return given
        try:
            places = [
                (name or number, address, str(port))
                for name, number, port in _places(given)
                for address in allowed_addresses(number or name, port, self.reach)
            ]
        except socket.gaierror as error:
            raise psycopg.OperationalError(f"failed to resolve host: {error.strerror}") from error
        hosts, addresses, all_ports = (",".join(part) for part in zip(*places, strict=True))
        return {**given, "host": hosts, "hostaddr": addresses, "port": all_ports}

    @contextmanager
    def _authority(self) -> Iterator[dict[str, str]]:
        """libpq reads authorities from a file, at the time of the connection."""
        if not self.ca:
            yield {}
            return
        descriptor, name = tempfile.mkstemp(prefix="headgate-", suffix=".pem")
        try:
            with os.fdopen(descriptor, "w") as file:
                file.write(self.ca)
            yield {"sslrootcert": name, "sslmode": "verify-full"}
        finally:
            Path(name).unlink()

    @contextmanager
    def bounded(self, connection: psycopg.Connection[Any], seconds: float | None = None) -> Iterator[None]:
        """Shut the connection's socket when the block takes longer: also a server that is frozen is left then.

        A shut socket raises psycopg.OperationalError in the call that waits for it.
        """
        handle = socket.socket(fileno=os.dup(connection.fileno()))
        timer = threading.Timer(self.statement_timeout + _GRACE if seconds is None else seconds, _shut, [handle])
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
            handle.close()


def _places(given: dict[str, Any]) -> list[tuple[str, str, int]]:
    """The (host, hostaddr, port) of each server in the parts of an address. Raises AddressRefused where their numbers
    differ, as libpq does."""
    parts = [str(given.get(key) or "").split(",") for key in ("host", "hostaddr", "port")]
    servers = max(map(len, parts[:2]))
    hosts, addresses, ports = (part * servers if len(part) == 1 else part for part in parts)
    try:
        return [
            (host, address, int(port or _PORT)) for host, address, port in zip(hosts, addresses, ports, strict=True)
        ]
    except ValueError as error:
        raise AddressRefused("the address must name a port, and a hostaddr, for each host or for all") from error


def _shut(handle: socket.socket) -> None:
    with suppress(OSError):
        handle.shutdown(socket.SHUT_RDWR)
