"""The stream of events (server-sent events): from Redis as they happen, from the database what Redis did not carry.

A stream begins with `hello`, then sends `event` frames (their id is the event's, so that a client resumes by
Last-Event-ID) and `live` frames. The database is looked at on connecting, every ten seconds, and without Redis every
two seconds; a connection outlives Redis. It ends with the caller's session, token or role.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter, deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from time import monotonic
from typing import Any

import redis.asyncio as aioredis
import structlog
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db.models import Max
from django.http import StreamingHttpResponse
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from rest_framework.request import Request

from controlplane.shared import clock
from controlplane.shared.database import in_database
from controlplane.shared.dispatch import STREAM
from controlplane.shared.errors import TooManyRequests
from pipelines.api.permissions import role_of
from pipelines.models import AccessToken, Event
from pipelines.selectors.events import event_view, events
from pipelines.selectors.pipelines import live_frames

MEDIA_TYPE = "text/event-stream"
STREAMS_PER_USER = 12
STREAMS = 1_000
BLOCK_MS = 1_000
REDIS_SECONDS = 3.0
POLL_SECONDS = 2.0
CATCH_UP_SECONDS = 10.0
HEARTBEAT_SECONDS = 10.0  # a frame and no comment: a browser hides comments from the page, which has to notice silence
CHECK_SECONDS = 30.0
PAGE = 500
OVERLAP = 100
REMEMBERED = 5_000

log = structlog.get_logger(__name__)
open_streams: Counter[str] = Counter()


@dataclass(frozen=True)
class Subscription:
    """Who listens to what. `after`: the last event that the client knows."""

    user: str
    session_key: str | None
    token: str | None
    pipeline: str | None
    after: int


def admit(request: Request, pipeline: str | None, last_event_id: int | None) -> Subscription:
    """Admit one more stream; raises TooManyRequests where the caller, or everybody, has too many."""
    user = request.user.get_username()
    if open_streams[user] >= STREAMS_PER_USER or open_streams.total() >= STREAMS:
        raise TooManyRequests(
            f"{user} has {open_streams[user]} event streams open.",
            code="too_many_streams",
            hint="Close other tabs or clients.",
            retry_after=10,
        )
    newest = Event.objects.aggregate(newest=Max("id"))["newest"] or 0
    token = getattr(request.auth, "digest", None)
    return Subscription(
        user=user,
        session_key=None if token else request.session.session_key,
        token=token,
        pipeline=pipeline,
        after=newest if last_event_id is None else last_event_id,
    )


def still_allowed(subscription: Subscription) -> bool:
    """Whether the caller's user, role and session or token still hold."""
    user = User.objects.filter(username=subscription.user).first()
    if user is None or role_of(user) is None:
        return False
    if subscription.token is not None:
        return bool(AccessToken.objects.filter(digest=subscription.token).exists())
    if subscription.session_key is None:
        return True
    return Session.objects.filter(session_key=subscription.session_key, expire_date__gt=clock.now()).exists()


def open_stream(subscription: Subscription) -> StreamingHttpResponse:
    """The answer that goes on until the client leaves."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingHttpResponse(frames(subscription), content_type=MEDIA_TYPE, headers=headers)


async def frames(subscription: Subscription) -> AsyncIterator[bytes]:
    """Every frame of one stream; whatever ends it releases its place and its connections."""
    open_streams[subscription.user] += 1
    feed = Feed(subscription)
    try:
        yield frame("hello", {"server_time": clock.now().isoformat()})
        async for each in feed.run():
            yield each
    finally:
        open_streams[subscription.user] -= 1
        await feed.close()


def frame(kind: str, data: dict[str, Any], number: int | None = None) -> bytes:
    """One frame on the wire."""
    head = f"id: {number}\n" if number is not None else ""
    return f"{head}event: {kind}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


class Every:
    """Says once per period that something is due; the first time at once, or after a period."""

    def __init__(self, seconds: float, *, at_once: bool = False) -> None:
        self._seconds = seconds
        self._next = monotonic() + (0.0 if at_once else seconds)

    def due(self) -> bool:
        """Whether a period has passed since it was last due."""
        if monotonic() < self._next:
            return False
        self._next = monotonic() + self._seconds
        return True


class Feed:
    """Merges Redis and the database into frames, each event once."""

    def __init__(self, subscription: Subscription) -> None:
        self._subscription = subscription
        self._after = subscription.after
        self._floor = subscription.after
        self._sent: deque[int] = deque(maxlen=REMEMBERED)
        self._live: dict[str, dict[str, Any]] = {}
        self._position: str | None = None
        self._redis: Any = aioredis.Redis.from_url(
            settings.HEADGATE.redis_url.get_secret_value(),
            socket_timeout=REDIS_SECONDS,
            socket_connect_timeout=REDIS_SECONDS,
            retry=Retry(NoBackoff(), 0),
            decode_responses=True,
            protocol=2,
        )

    async def close(self) -> None:
        """Give the connection back."""
        await self._redis.aclose()

    async def run(self) -> AsyncIterator[bytes]:
        """Frames and heartbeats until the caller may no longer listen."""
        heartbeat, catch_up, check = Every(HEARTBEAT_SECONDS), Every(CATCH_UP_SECONDS), Every(CHECK_SECONDS)
        while True:
            connected = self._position is not None
            entries = await self._read()
            if self._position is None or not connected or catch_up.due():
                async for each in self._catch_up():
                    yield each
            for entry in entries:
                if shown := self._from_redis(entry):
                    yield shown
            if heartbeat.due():
                yield frame("heartbeat", {"server_time": clock.now().isoformat()})
            if check.due() and not await in_database(lambda: still_allowed(self._subscription)):
                return
            if self._position is None:
                await asyncio.sleep(POLL_SECONDS)

    async def _read(self) -> list[dict[str, str]]:
        """What Redis has that is new, waiting a second for it; without Redis nothing, and no position."""
        try:
            if self._position is None:
                newest = await self._redis.xrevrange(STREAM, count=1)
                self._position = newest[0][0] if newest else "0-0"
                return []
            found = await self._redis.xread({STREAM: self._position}, count=PAGE, block=BLOCK_MS)
        except (RedisError, OSError) as error:
            log.debug("stream_without_redis", cause=str(error))
            self._position = None
            return []
        entries = found[0][1] if found else []
        if entries:
            self._position = entries[-1][0]
        return [fields for _, fields in entries]

    def _from_redis(self, entry: dict[str, str]) -> bytes | None:
        data = json.loads(entry["data"])
        if self._subscription.pipeline not in (None, data.get("pipeline")):
            return None
        return self._event(data) if entry["kind"] == "event" else frame("live", data)

    def _event(self, data: dict[str, Any]) -> bytes | None:
        """An event that was not sent yet. Numbers may come out of order, for transactions end in any order."""
        number = data["id"]
        if number <= self._floor or number in self._sent:
            return None
        self._sent.append(number)
        self._after = max(self._after, number)
        return frame("event", data, number)

    async def _catch_up(self) -> AsyncIterator[bytes]:
        """Events that Redis did not carry, page by page, and while it is away the figures of what moves."""
        begin = max(self._floor, self._after - OVERLAP)
        while True:
            found = await in_database(lambda begin=begin: self._page(begin))  # type: ignore[misc]
            for data in found:
                if shown := self._event(data):
                    yield shown
            if len(found) < PAGE:
                break
            begin = found[-1]["id"]
        if self._position is None:
            for data in await in_database(lambda: live_frames(self._subscription.pipeline)):
                if self._live.get(data["pipeline"]) != data:
                    self._live[data["pipeline"]] = data
                    yield frame("live", data)

    def _page(self, begin: int) -> list[dict[str, Any]]:
        rows = events(pipeline=self._subscription.pipeline).filter(id__gt=begin).order_by("id")[:PAGE]
        return [event_view(row).model_dump(mode="json") for row in rows]
