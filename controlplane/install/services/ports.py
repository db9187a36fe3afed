"""TCP ports of the local stack, all on the loopback interface."""

from __future__ import annotations

import secrets
import socket
from ipaddress import ip_address
from pathlib import Path

from controlplane.install.tools.errors import SetupError

LOOPBACK = "127.0.0.1"
_LOWEST, _HIGHEST = 20_000, 32_768
_KERNELS = Path("/proc/sys/net/ipv4/ip_local_port_range")
_TRIES = 50
_given: set[int] = set()


def free_port() -> int:
    """A port that nothing listens on at this moment, and that was not given before. It lies below those that the kernel
    gives to connections and to servers without a wish, which could have it before it is used."""
    highest = min(_HIGHEST, _first_of_the_kernel())
    for _ in range(_TRIES):
        port = _LOWEST + secrets.randbelow(max(1, highest - _LOWEST))
        if port not in _given and is_free(port):
            _given.add(port)
            return port
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def _first_of_the_kernel() -> int:
    try:
        return int(_KERNELS.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return _HIGHEST


def is_loopback(address: str) -> bool:
    """Whether an address to listen on is reached from this machine alone."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def is_free(port: int, address: str = LOOPBACK) -> bool:
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
        return True


def require_free(port: int, *, what: str, flag: str, variable: str, address: str = LOOPBACK) -> None:
    """Raise SetupError when the port is taken, naming the flag and the variable that choose another one."""
    if not is_free(port, address):
        raise SetupError(
            f"Port {port} on {address}, wanted for {what}, is in use.",
            f"Stop the program that uses it (`ss -ltnp sport = :{port}` shows which), "
            f"or choose another port: {flag} PORT, or {variable}=PORT.",
        )
