"""A bootstrap server of Kafka that advertises what a test wants, and a port that counts who connects to it."""

from __future__ import annotations

import socket
import socketserver
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

LOOPBACK = "127.0.0.1"
_METADATA, _API_VERSIONS, _SASL_HANDSHAKE = 3, 18, 17
_UNSUPPORTED = 35
_SUPPORTED = {_METADATA: (0, 1), _API_VERSIONS: (0, 0)}


class Bootstrap:
    """`advertised`: (id, host, port) of each broker; `silent`: it closes every connection; `asked`: the requests that
    it has answered, by their key."""

    def __init__(self, server: str) -> None:
        self.server = server
        self.advertised: Sequence[tuple[int, str, int]] = ()
        self.silent = False
        self.asked: list[int] = []

    @property
    def port(self) -> int:
        return int(self.server.rpartition(":")[2])

    def answer(self, key: int, version: int, body: bytes) -> bytes:
        """Of the oldest versions alone; a log-in is turned away."""
        self.asked.append(key)
        if key == _API_VERSIONS:
            known = b"".join(struct.pack(">hhh", each, *versions) for each, versions in _SUPPORTED.items())
            return struct.pack(">hi", _UNSUPPORTED if version else 0, len(_SUPPORTED)) + known
        if key == _SASL_HANDSHAKE:
            return struct.pack(">hi", _UNSUPPORTED, 0)
        return self._metadata(_topics(body))

    def _metadata(self, topics: Sequence[str]) -> bytes:
        brokers = b"".join(
            struct.pack(">i", number) + _text(host) + struct.pack(">ih", port, -1)
            for number, host, port in self.advertised
        )
        leader = self.advertised[0][0]
        partition = struct.pack(">hiiiiii", 0, 0, leader, 1, leader, 1, leader)
        described = b"".join(
            struct.pack(">h", 0) + _text(topic) + struct.pack(">bi", 0, 1) + partition for topic in topics
        )
        counted = struct.pack(">i", len(self.advertised)) + brokers + struct.pack(">i", leader)
        return counted + struct.pack(">i", len(topics)) + described


def _text(value: str) -> bytes:
    return struct.pack(">h", len(value.encode())) + value.encode()


def _topics(body: bytes) -> list[str]:
    count, at, found = *struct.unpack_from(">i", body), 4, []
    for _ in range(max(0, count)):
        (size,) = struct.unpack_from(">h", body, at)
        found.append(body[at + 2 : at + 2 + size].decode())
        at += 2 + size
    return found


@contextmanager
def bootstrap() -> Iterator[Bootstrap]:
    """Run one on a free port; it advertises itself until it is told something else."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            while not made.silent and (head := self._exactly(4)):
                frame = self._exactly(*struct.unpack(">i", head))
                key, version, number, client = struct.unpack_from(">hhih", frame)
                answer = struct.pack(">i", number) + made.answer(key, version, frame[10 + max(0, client) :])
                self.request.sendall(struct.pack(">i", len(answer)) + answer)

        def _exactly(self, size: int) -> bytes:
            data: bytes = self.request.recv(size, socket.MSG_WAITALL)
            return data if len(data) == size else b""

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False

    with Server((LOOPBACK, 0), Handler) as server:
        made = Bootstrap(f"{LOOPBACK}:{server.server_address[1]}")
        made.advertised = ((1, LOOPBACK, made.port),)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield made
        finally:
            server.shutdown()


class Guarded:
    """A port that nobody should connect to. `connections`: how many did."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.connections = 0


@contextmanager
def guarded() -> Iterator[Guarded]:
    """Listen on a free port, and count."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        made = Guarded(listener.getsockname()[1])

        def count() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                made.connections += 1
                connection.close()

        threading.Thread(target=count, daemon=True).start()
        try:
            yield made
        finally:
            listener.shutdown(socket.SHUT_RDWR)
