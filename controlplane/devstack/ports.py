"""TCP ports of the local stack, all on the loopback interface."""

from __future__ import annotations

import socket

from controlplane.provision.errors import SetupError

LOOPBACK = "127.0.0.1"


def free_port() -> int:
    """A port that nothing listens on at this moment."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def require_free(port: int, *, what: str, flag: str, variable: str) -> None:
    """Raise SetupError when the port is taken, naming the flag and the variable that choose another one."""
    if not is_free(port):
        raise SetupError(
            f"Port {port} on {LOOPBACK}, wanted for {what}, is in use.",
            f"Stop the program that uses it (`ss -ltnp sport = :{port}` shows which), "
            f"or choose another port: {flag} PORT, or {variable}=PORT.",
        )
