"""A relay in front of a TCP port, whose network can be cut, halved and slowed down."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

from controlplane.install.services.ports import LOOPBACK, free_port

_CHECK_EVERY = 0.02
_CHUNK = 1 << 16
_DRIBBLE_EVERY = 0.25


class Network(Enum):
    """PASSES everything. CUT: nothing arrives on either side, and no connection ends; what was sent arrives when it is
    whole again, as TCP repeats it. DEAF: what the server answers is lost in the same way. DRIBBLES: its answers come
    byte by byte."""

    PASSES = "passes"
    CUT = "cut"
    UNRESPONSIVE = "unresponsive"
    DRIBBLES = "dribbles"


class Proxy:
    """Relays `port` to `target`; `network` may be set at any time."""

    def __init__(self, target: int, port: int | None = None) -> None:
        self.port = port or free_port()
        self.network = Network.PASSES
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._writers: set[asyncio.StreamWriter] = set()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._listening = threading.Event()

    def start(self) -> None:
        """Listen."""
        self._thread.start()
        assert self._listening.wait(10)

    def stop(self) -> None:
        """Reset what is open, and listen no longer."""
        self.reset()
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)

    def reset(self) -> None:
        """End every connection with RST."""
        self._loop.call_soon_threadsafe(self._abort)

    def _abort(self) -> None:
        for writer in list(self._writers):
            with contextlib.suppress(OSError):
                raw: socket.socket = writer.get_extra_info("socket")
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.run_until_complete(self._end())
        self._loop.close()

    async def _end(self) -> None:
        """Nothing that still waits for a broken connection outlives the loop."""
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _serve(self) -> None:
        self._over = asyncio.Event()
        server = await asyncio.start_server(self._accept, LOOPBACK, self.port)
        self._listening.set()
        async with server:
            await self._over.wait()

    async def _accept(self, client_in: asyncio.StreamReader, client_out: asyncio.StreamWriter) -> None:
        try:
            server_in, server_out = await asyncio.open_connection(LOOPBACK, self._target)
        except OSError:
            client_out.transport.abort()
            return
        ends = {client_out, server_out}
        self._writers |= ends
        asked = self._pump(client_in, server_out, answers=False)
        answered = self._pump(server_in, client_out, answers=True)
        with contextlib.suppress(asyncio.CancelledError):  # asyncio's servers take it for an error of the handler
            await asyncio.gather(asked, answered)
        self._writers -= ends

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, answers: bool) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(_CHUNK):
                await self._pass(data, sink, answers=answers)
        sink.close()

    async def _pass(self, data: bytes, sink: asyncio.StreamWriter, *, answers: bool) -> None:
        while data:
            while self.network is Network.CUT or (answers and self.network is Network.UNRESPONSIVE):
                await asyncio.sleep(_CHECK_EVERY)
            slow = answers and self.network is Network.DRIBBLES
            sink.write(data[:1] if slow else data)
            await sink.drain()
            data = data[1:] if slow else b""
            if slow:
                await asyncio.sleep(_DRIBBLE_EVERY)


@contextmanager
def relaying(target: int, port: int | None = None) -> Iterator[Proxy]:
    """Run a proxy in front of a port."""
    proxy = Proxy(target, port)
    proxy.start()
    try:
        yield proxy
    finally:
        proxy.stop()
