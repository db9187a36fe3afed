"""Rows of the audit to a syslog server, or to a collector by OTLP over HTTP. Each attempt is bounded as a whole."""

from __future__ import annotations

import os
import select
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from ipaddress import ip_network
from pathlib import Path

from pipelines.domain.access.audit.export import Exported
from pipelines.domain.access.audit.messages import otlp, syslog
from pipelines.domain.access.audit.settings import SyslogTarget
from pipelines.domain.base.addresses import Address
from pipelines.domain.base.causes import explain
from pipelines.domain.monitoring.webhooks import Reach
from workers.adapters.receivers.posts import HttpPosts, connected, left, look_up, printable
from workers.ports import NotForwarded

SECONDS = 20.0
"""For a whole attempt; less than a destination is held for."""
REFUSALS_MS = 100
"""How long a refusal of the last datagram is waited for."""
EVERYWHERE = Reach(http=True, networks=(ip_network("0.0.0.0/0"), ip_network("::/0")))
"""The administrator of the host chooses the receiver, and no user of Headgate."""


class SyslogReceiver:
    """`workers.ports.AuditReceiver`. `host`: the name in the messages; `authorities`: those of a server's certificate.

    By TCP and TLS each part has a connection of its own, which the server closes once it has read all of it: what it
    has not read is sent again. A datagram is only known to have left this host.
    """

    def __init__(
        self, target: SyslogTarget, *, host: str, authorities: Path | None = None, seconds: float = SECONDS
    ) -> None:
        self._target = target
        self._host = host
        self._authorities = authorities
        self._seconds = seconds
        # A look-up cannot be interrupted: one that hangs takes the place here, and not the time of the attempt.
        self._look_ups = ThreadPoolExecutor(1, thread_name_prefix="audit-names")

    def send(self, rows: Sequence[Exported]) -> None:
        messages = [syslog(row, self._host) for row in rows]
        deadline = time.monotonic() + self._seconds
        try:
            self._send(messages, deadline)
        except TimeoutError:
            raise NotForwarded(f"The server has not taken it within {self._seconds:g} s.") from None
        except (OSError, ValueError) as error:
            raise NotForwarded(printable(explain(error))) from None

    def _send(self, messages: Sequence[bytes], deadline: float) -> None:
        if self._target.scheme in ("udp", "unix"):
            self._send_datagrams(messages, deadline)
        else:
            self._send_stream(messages, deadline)

    def _send_datagrams(self, messages: Sequence[bytes], deadline: float) -> None:
        with closing(self._datagrams(deadline)) as made:
            for message in messages:
                made.settimeout(left(deadline))
                made.send(message)
                _raise_refusal(made)
            refused = select.poll()
            refused.register(made, select.POLLERR)
            refused.poll(REFUSALS_MS)
            _raise_refusal(made)

    def _datagrams(self, deadline: float) -> socket.socket:
        family, address = self._family_and_address(deadline)
        made = socket.socket(family, socket.SOCK_DGRAM)
        try:
            made.settimeout(left(deadline))
            made.connect(address)
        except OSError:
            made.close()
            raise
        return made

    def _family_and_address(self, deadline: float) -> tuple[socket.AddressFamily, str | tuple[str, int]]:
        if self._target.scheme == "unix":
            return socket.AF_UNIX, self._target.path
        found = self._addresses(deadline)[0]
        return socket.AF_INET if found.version == 4 else socket.AF_INET6, (str(found), self._target.port)

    def _send_stream(self, messages: Sequence[bytes], deadline: float) -> None:
        """Octet counting (RFC 6587), then the end, then the wait for the server's."""
        with closing(self._stream(deadline)) as made:
            made.settimeout(left(deadline))
            made.sendall(b"".join(b"%d %s" % (len(message), message) for message in messages))
            if isinstance(made, ssl.SSLSocket):
                _end_encryption(made)
            else:
                made.shutdown(socket.SHUT_WR)
            made.settimeout(left(deadline))
            while made.recv(4096):
                made.settimeout(left(deadline))

    def _stream(self, deadline: float) -> socket.socket:
        made = connected(self._addresses(deadline), self._target.port, deadline)
        if self._target.scheme == "tcp":
            return made
        try:
            context = ssl.create_default_context(cafile=str(self._authorities) if self._authorities else None)
            return context.wrap_socket(made, server_hostname=self._target.host)
        except OSError:
            made.close()
            raise

    def _addresses(self, deadline: float) -> list[Address]:
        found = self._look_ups.submit(look_up, self._target.host, self._target.port).result(timeout=left(deadline))
        if not found:
            raise OSError(f"{self._target.host} has no address.")
        return found


def _end_encryption(made: ssl.SSLSocket) -> None:
    """Say that nothing follows, and wait for the server to say so, or to close the connection."""
    try:
        made.unwrap()
    except ssl.SSLEOFError:
        return
    except OSError as error:
        if error.errno:  # 0 stands for the plain end of a connection
            raise


def _raise_refusal(made: socket.socket) -> None:
    if code := made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
        raise OSError(code, os.strerror(code))


class OtlpReceiver:
    """`workers.ports.AuditReceiver`: what a collector answers 2xx to has arrived."""

    def __init__(self, address: str, headers: Mapping[str, str], *, host: str, version: str) -> None:
        self._address = address
        self._headers = {"Content-Type": "application/json", **headers}
        self._host = host
        self._version = version
        self._posts = HttpPosts(EVERYWHERE, seconds=SECONDS)

    def send(self, rows: Sequence[Exported]) -> None:
        body = otlp(rows, host=self._host, version=self._version)
        answered = self._posts.post(self._address, self._headers, body)
        if not answered.accepted:
            raise NotForwarded(answered.error)
