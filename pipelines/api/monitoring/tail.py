"""The end of the stream in Redis, read once for all open pages of this process: one connection, and each entry decoded
once, however many listen."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import structlog
from django.conf import settings

from pipelines.api.monitoring.shared import PerLoop
from pipelines.foundation.dispatch import STREAM
from pipelines.foundation.entries import Entry, Unsealed, unseal
from pipelines.foundation.redis_py import AsyncRetry, NoBackoff, RedisError, aioredis
from pipelines.foundation.refusals import Refusals

BLOCK_MS = 1_000
REDIS_SECONDS = 3.0
RETRY_SECONDS = 1.0
AT_ONCE = 500
GATHER_SECONDS = 0.5
"""Between two reads of what comes entry by entry: agents report once a second, and each read costs every stream."""
_QUERIES = ',"queries":['
REMEMBERED = 5_000
"""Entries that a slow page may be behind before it has missed some."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class StreamEntry:
    """What goes to every page that may see it: the team that may (None: those who see every team), the pipeline that it
    is about, kind and content, and of an event its number and kind. Frames are made when they are first asked for."""

    team: int | None
    pipeline: str | None
    kind: str
    data: str
    event: tuple[int, str] | None

    @cached_property
    def frame(self) -> bytes:
        """On the wire."""
        return _framed(self.kind, self.data, self.event and self.event[0])

    @cached_property
    def brief(self) -> bytes:
        """The same without queries."""
        return self.frame if self.event else _framed(self.kind, _without_queries(self.data))


@dataclass(frozen=True)
class News:
    """What came since the last look. `number` is for the next one; `complete`: nothing was missed, Redis is there."""

    number: int
    entries: list[StreamEntry]
    complete: bool

    @cached_property
    def brief(self) -> bytes:
        """The figures of all pipelines without queries, joined once for every page that shows them all."""
        return b"".join(entry.brief for entry in self.entries if entry.event is None)

    @cached_property
    def events(self) -> list[StreamEntry]:
        """Those that are no figures."""
        return [entry for entry in self.entries if entry.event is not None]


def frame(kind: str, data: dict[str, Any], number: int | None = None) -> bytes:
    """One frame on the wire."""
    return _framed(kind, json.dumps(data, separators=(",", ":")), number)


def _framed(kind: str, data: str, number: int | None = None) -> bytes:
    head = f"id: {number}\n" if number is not None else ""
    return f"{head}event: {kind}\ndata: {data}\n\n".encode()


class Tail:
    """Follows the stream while somebody listens."""

    def __init__(self) -> None:
        self.listeners = 0
        self.task: asyncio.Task[None] | None = None
        self._heard: deque[StreamEntry] = deque(maxlen=REMEMBERED)
        self._number = 0
        self._connected = False
        self._changed = asyncio.Event()
        self._news = News(0, [], False)
        self._told: tuple[int, int, bool] | None = None
        self._refusals = Refusals("stream_entries_refused")

    async def after(self, number: int | None) -> News:
        """What came after `number`, waiting a second for it; with None nothing, but where the tail is now."""
        if number is None:
            if not self._connected:
                await self._change()
            return News(self._number, [], self._connected)
        if number == self._number and self._connected:
            await self._change()
        told = number, self._number, self._connected
        if told != self._told:
            behind = self._number - number
            entries = list(islice(self._heard, max(0, len(self._heard) - behind), None))
            self._told, self._news = told, News(self._number, entries, self._connected and len(entries) == behind)
        return self._news

    async def _change(self) -> None:
        """Until something has changed, or for a second."""
        try:
            async with asyncio.timeout(BLOCK_MS / 1000):
                await self._changed.wait()
        except TimeoutError:
            return

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def follow(self) -> None:
        """Read until cancelled; without Redis, try again every second."""
        while True:
            client = _client()
            try:
                await self._read(client)
            except (RedisError, OSError) as error:
                log.debug("stream_without_redis", cause=str(error))
            finally:
                self._connected = False
                self._notify()
                await client.aclose()
            await asyncio.sleep(RETRY_SECONDS)

    async def _read(self, client: Any) -> None:
        newest = await client.xrevrange(STREAM, count=1)
        position = newest[0][0] if newest else "0-0"
        self._connected = True
        self._notify()
        while True:
            found = await client.xread({STREAM: position}, count=AT_ONCE, block=BLOCK_MS)
            entries = found[0][1] if found else []
            if entries:
                position = entries[-1][0]
                heard = [entry for _, fields in entries for entry in self._decoded(fields)]
                self._heard.extend(heard)
                self._number += len(heard)
                self._notify()
            if 0 < len(entries) < AT_ONCE:
                await asyncio.sleep(GATHER_SECONDS)

    def _decoded(self, fields: dict[str, str]) -> list[StreamEntry]:
        """What this installation has written; what others write is skipped: the database has every event."""
        try:
            return [_stream_entry(entry) for entry in unseal(fields)]
        except Unsealed as error:
            self._refusals.add(str(error))
            return []


def _stream_entry(entry: Entry) -> StreamEntry:
    event = _event(entry.data) if entry.kind == "event" else None
    return StreamEntry(entry.team, entry.pipeline, entry.kind, entry.data, event)


def _without_queries(data: str) -> str:
    """The figures of a pipeline without its queries, which stand last. Nothing is parsed: a text that has these
    characters has them behind backslashes."""
    rest, found, _ = data.partition(_QUERIES)
    return rest + "}" if found else data


def _event(data: str) -> tuple[int, str]:
    """Its number and kind. Raises Unsealed where it has none."""
    try:
        content = json.loads(data)
        return int(content["id"]), str(content["kind"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise Unsealed("An entry of the event stream is malformed.") from error


def _client() -> Any:
    return aioredis.Redis.from_url(
        settings.HEADGATE.redis_url.get_secret_value(),
        socket_timeout=REDIS_SECONDS,
        socket_connect_timeout=REDIS_SECONDS,
        retry=AsyncRetry(NoBackoff(), 0),
        decode_responses=True,
        encoding_errors="replace",
        protocol=2,
    )


_tails = PerLoop(Tail)


@asynccontextmanager
async def following() -> AsyncIterator[Tail]:
    """The tail of this event loop; the last listener ends it."""
    tail = _tails.here()
    tail.listeners += 1
    if tail.task is None:
        tail.task = asyncio.create_task(tail.follow())
    try:
        yield tail
    finally:
        tail.listeners -= 1
        if not tail.listeners and tail.task is not None:
            tail.task.cancel()
            tail.task = None
