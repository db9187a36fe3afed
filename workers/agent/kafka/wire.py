"""Which brokers a Kafka server advertises, asked over a connection of its own.

A client of a library connects to brokers as soon as it hears of them, so it cannot be asked which they are before it
may. This one connects to one checked address of one server, and to nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import socket
import ssl
import struct
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from pipelines.domain.access.reach import ReachPolicy
from workers.agent.base.reach import OutOfReach, allowed_addresses

MOST_BYTES = 4 << 20
"""An answer that is larger is none."""
MOST_BROKERS = 10_000
_METADATA, _SASL_HANDSHAKE, _SASL_AUTHENTICATE = (3, 1), (17, 1), (36, 0)
"""Requests and their versions: the oldest that say what is needed, which every broker since 1.0 knows."""
_CLIENT = "headgate.reach"
_HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_MOST_ITERATIONS = 65_536


class Broker(NamedTuple):
    """A broker as it is advertised."""

    id: int
    host: str
    port: int


class NotTold(Exception):
    """A server did not say which brokers there are. No text of its own answer is in it. `lasting`: another try meets
    the same."""

    lasting = False


class NotKafka(NotTold):
    """It answers with something else."""

    lasting = True


class LoginRefused(NotTold):
    """It turns user, password or mechanism away."""

    lasting = True


def advertised(host: str, port: int, settings: Mapping[str, Any], reach: ReachPolicy, deadline: float) -> list[Broker]:
    """The brokers that one server advertises. `settings`: of the connection, as librdkafka wants them; `deadline`:
    monotonic. Raises OutOfReach where the server itself may not be reached, and NotTold."""
    try:
        with _connected(host, port, settings, reach, deadline) as connection:
            wire = _Wire(connection, deadline)
            if "SASL" in _protocol(settings):
                _log_in(wire, settings)
            return _brokers(wire.ask(_METADATA, struct.pack(">i", 0)))
    except OutOfReach:
        raise
    except OSError as error:
        raise NotTold(_words(error)) from error
    except (struct.error, ValueError) as error:
        raise NotKafka("the answer is not Kafka's") from error


def _words(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {error.reason or type(error).__name__}"
    if isinstance(error, TimeoutError):
        return "timed out"
    return error.strerror or "the connection was closed"


def _protocol(settings: Mapping[str, Any]) -> str:
    return str(settings.get("security.protocol", "PLAINTEXT")).upper()


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


@contextmanager
def _connected(
    host: str, port: int, settings: Mapping[str, Any], reach: ReachPolicy, deadline: float
) -> Iterator[socket.socket]:
    with _first_that_answers(allowed_addresses(host, port, reach), port, deadline) as plain:
        plain.settimeout(_left(deadline))
        if "SSL" not in _protocol(settings):
            yield plain
            return
        with _context(settings).wrap_socket(plain, server_hostname=host) as covered:
            yield covered


def _first_that_answers(addresses: list[str], port: int, deadline: float) -> socket.socket:
    failure: OSError = ConnectionError("it has no address")
    for address in addresses:
        try:
            return socket.create_connection((address, port), timeout=_left(deadline))
        except OSError as error:
            failure = error
    raise failure


def _context(settings: Mapping[str, Any]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if authorities := settings.get("ssl.ca.pem"):
        context.load_verify_locations(cadata=str(authorities))
    else:
        context.load_default_certs()
    if chain := settings.get("ssl.certificate.pem"):
        with _in_memory(f"{chain}\n{settings.get('ssl.key.pem', '')}") as path:
            context.load_cert_chain(path, password=str(settings.get("ssl.key.password", "")))
    return context


@contextmanager
def _in_memory(text: str) -> Iterator[str]:
    """A file that lies on no disk: the library reads keys from files alone."""
    with os.fdopen(os.memfd_create("headgate"), "w") as file:
        file.write(text)
        file.flush()
        yield f"/proc/self/fd/{file.fileno()}"


class _Wire:
    """Requests over one connection, each answered before the next."""

    def __init__(self, connection: socket.socket, deadline: float) -> None:
        self._connection = connection
        self._deadline = deadline
        self._number = 0

    def ask(self, request: tuple[int, int], body: bytes) -> _Answer:
        """Send a request; its answer."""
        self._number += 1
        frame = struct.pack(">hhi", *request, self._number) + _text(_CLIENT) + body
        self._connection.settimeout(_left(self._deadline))
        self._connection.sendall(struct.pack(">i", len(frame)) + frame)
        size = _Answer(self._exactly(4)).int32()
        if not 0 <= size <= MOST_BYTES:
            raise ValueError("an answer of that size")
        answer = _Answer(self._exactly(size))
        if answer.int32() != self._number:
            raise ValueError("an answer to something else")
        return answer

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            self._connection.settimeout(_left(self._deadline))
            part = self._connection.recv(min(65_536, size - len(data)))
            if not part:
                raise ConnectionError
            data += part
        return bytes(data)


class _Answer:
    """The parts of an answer in their order. Raises struct.error and ValueError where it is too short."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def _number(self, form: str) -> int:
        (number,) = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return int(number)

    def int16(self) -> int:
        return self._number(">h")

    def int32(self) -> int:
        return self._number(">i")

    def text(self) -> str:
        """Empty where there is none."""
        return self._taken(self.int16()).decode()

    def data(self) -> bytes:
        return self._taken(self.int32())

    def _taken(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + max(0, size)]
        if len(taken) < size:
            raise ValueError("an answer that is too short")
        self._at += len(taken)
        return taken


def _text(value: str) -> bytes:
    return struct.pack(">h", len(value.encode())) + value.encode()


def _brokers(answer: _Answer) -> list[Broker]:
    count = answer.int32()
    if not 0 <= count <= MOST_BROKERS:
        raise ValueError("that many brokers")
    return [_broker(answer) for _ in range(count)]


def _broker(answer: _Answer) -> Broker:
    found = Broker(answer.int32(), answer.text(), answer.int32())
    answer.text()  # its rack
    return found


def _log_in(wire: _Wire, settings: Mapping[str, Any]) -> None:
    mechanism = str(settings.get("sasl.mechanism", "GSSAPI"))
    if wire.ask(_SASL_HANDSHAKE, _text(mechanism)).int16():
        raise LoginRefused(f"it does not offer {mechanism}")
    user, password = str(settings.get("sasl.username", "")), str(settings.get("sasl.password", ""))
    if mechanism in _HASHES:
        _scram(wire, _HASHES[mechanism], user, password)
    else:
        _said(wire, f"\0{user}\0{password}".encode())


def _said(wire: _Wire, message: bytes) -> bytes:
    """The server's next message of a log-in."""
    answer = wire.ask(_SASL_AUTHENTICATE, struct.pack(">i", len(message)) + message)
    refused = answer.int16()
    answer.text()  # its reason, in the server's words
    if refused:
        raise LoginRefused("it does not know the user, or the password is wrong")
    return answer.data()


def _scram(wire: _Wire, name: str, user: str, password: str) -> None:
    """RFC 5802, without channel binding."""
    nonce = secrets.token_urlsafe(24)
    escaped = user.replace("=", "=3D").replace(",", "=2C")
    first = f"n={escaped},r={nonce}"
    offered = _said(wire, f"n,,{first}".encode()).decode()
    parts = dict(part.split("=", 1) for part in offered.split(","))
    iterations = int(parts.get("i", "0"))
    if not parts.get("r", "").startswith(nonce) or not 0 < iterations <= _MOST_ITERATIONS:
        raise ValueError("no log-in of this kind")
    salted = hashlib.pbkdf2_hmac(name, password.encode(), base64.b64decode(parts.get("s", "")), iterations)
    last = f"c=biws,r={parts['r']}"
    signed = f"{first},{offered},{last}".encode()
    key = hmac.digest(salted, b"Client Key", name)
    signature = hmac.digest(hashlib.new(name, key).digest(), signed, name)
    proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
    _said(wire, f"{last},p={base64.b64encode(proof).decode()}".encode())
