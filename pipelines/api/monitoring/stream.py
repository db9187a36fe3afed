"""The stream of events (server-sent events): from Redis as they happen, from the database what Redis did not carry.

A stream begins with `hello`, then sends `event` frames (their id is the event's, so that a client resumes by
Last-Event-ID) and `live` frames. The database is looked at on connecting, every ten seconds, and without Redis every
two seconds; a connection outlives Redis. It has what exists for the caller, and ends with the session, the token, or
any of the caller's roles: whoever may still listen opens another one.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import Any
from uuid import uuid4

from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import Error
from django.db.models import Max, Q
from django.http import StreamingHttpResponse
from rest_framework.request import Request

from pipelines.api.http.permissions import access_by
from pipelines.api.http.requests import StreamQuery
from pipelines.api.monitoring.shared import Period, PerLoop, Shared
from pipelines.api.monitoring.tail import News, StreamEntry, Tail, following, frame
from pipelines.domain.access.teams import Access
from pipelines.domain.monitoring.webhooks import wants
from pipelines.foundation import clock
from pipelines.foundation.availability import is_unavailable
from pipelines.foundation.database import in_database
from pipelines.foundation.errors import TooManyRequests
from pipelines.models import AccessToken, Event
from pipelines.selectors.lifecycle.pipelines import live_frames
from pipelines.selectors.monitoring.events import event_schema, events
from pipelines.services.access import sessions

MEDIA_TYPE = "text/event-stream"
STREAMS_PER_USER = 12
STREAMS = 1_000
POLL_SECONDS = 2.0
CATCH_UP_SECONDS = 10.0
HEARTBEAT_SECONDS = 10.0  # a frame and no comment: a browser hides comments from the page, which has to notice silence
CHECK_SECONDS = 2.0  # with one wait for news, less than the five seconds in which a stream ends after its right to be
OPENING_SECONDS = 10.0
PAGE = 500
OVERLAP = 100
NONE = "-"
"""Of a subscription: no pipeline, which has no such name."""
REMEMBERED = 5_000

open_streams: Counter[str] = Counter()
_opening: dict[str, tuple[str, float]] = {}
"""Places that were given to users, and until when: between admission and the first frame a client may leave."""
_places = Lock()


@dataclass(frozen=True)
class Caller:
    """Who listens: the user, and the session or the digest of the token."""

    user: str
    session_key: str | None
    token: str | None


@dataclass(frozen=True)
class Subscription:
    """Who listens to what. `access`: what exists for the caller; `after`: the last event that the client knows;
    `place`: what it holds until it begins; `kinds`: patterns of the kinds of events that it gets, empty for all;
    `queries`: the one pipeline whose figures have those of its queries, NONE for no pipeline, None for each."""

    place: str
    caller: Caller
    access: Access
    pipeline: str | None
    after: int
    kinds: tuple[str, ...] = ()
    queries: str | None = None


def admit(request: Request, access: Access, wanted: StreamQuery, last_event_id: int | None) -> Subscription:
    """Admit one more stream; raises TooManyRequests where the caller, or everybody, has too many."""
    user = request.user.get_username()
    place = _take_place(user)
    newest = Event.objects.aggregate(newest=Max("id"))["newest"] or 0
    token = getattr(request.auth, "digest", None)
    return Subscription(
        place=place,
        caller=Caller(user, None if token else request.session.session_key, token),
        access=access,
        pipeline=wanted.pipeline,
        after=newest if last_event_id is None else last_event_id,
        kinds=tuple(wanted.kinds),
        queries=wanted.queries,
    )


def _take_place(user: str) -> str:
    """Count one more stream of this user, in one step with the look at how many there are. Raises TooManyRequests."""
    with _places:
        for place in [place for place, (_, until) in _opening.items() if until < monotonic()]:
            del _opening[place]
        taken = open_streams + Counter(of for of, _ in _opening.values())
        if taken[user] >= STREAMS_PER_USER or taken.total() >= STREAMS:
            raise TooManyRequests(
                f"{user} has {taken[user]} event streams open.",
                code="too_many_streams",
                hint="Close other tabs or clients.",
                retry_after=10,
            )
        place = uuid4().hex
        _opening[place] = (user, monotonic() + OPENING_SECONDS)
        return place


def access_now(caller: Caller) -> Access | None:
    """What the caller may reach by now; None without the user, or where the session or token has ended."""
    user = User.objects.filter(username=caller.user).first()
    if user is None:
        return None
    if caller.token is not None:
        held = AccessToken.objects.filter(digest=caller.token)
        token = held.filter(Q(expiry=None) | Q(expiry__gt=clock.now())).first()
        return access_by(user, token) if token else None
    return access_by(user, None) if _goes_on(caller.session_key, user) else None


def _goes_on(session_key: str | None, user: User) -> bool:
    if session_key is None:
        return True
    session = Session.objects.filter(session_key=session_key, expire_date__gt=clock.now()).first()
    # A changed password ends sessions by this hash; Django looks at it with each request, and this is one that goes on.
    content = session.get_decoded() if session else {}
    return content.get(HASH_SESSION_KEY) == user.get_session_auth_hash() and not sessions.is_over(content)


def open_stream(subscription: Subscription) -> StreamingHttpResponse:
    """The answer that goes on until the client leaves."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingHttpResponse(frames(subscription), content_type=MEDIA_TYPE, headers=headers)


async def frames(subscription: Subscription) -> AsyncIterator[bytes]:
    """Every frame of one stream; whatever ends it releases its place."""
    with _places:
        _opening.pop(subscription.place, None)
        open_streams[subscription.caller.user] += 1
    try:
        yield frame("hello", {"server_time": clock.now().isoformat()})
        async with following() as tail:
            async for each in Feed(subscription, tail).run():
                yield each
    finally:
        with _places:
            open_streams[subscription.caller.user] -= 1


def _wait_for(error: Error) -> bool:
    """True where the database is away or locked: the stream goes on, and what it missed comes later. Raises others."""
    if is_unavailable(error):
        return True
    raise error


_access = PerLoop(Shared)
_pages = PerLoop(Shared)


class Sent:
    """The newest numbers of events that were sent."""

    def __init__(self) -> None:
        self._order: deque[int] = deque()
        self._numbers: set[int] = set()

    def __contains__(self, number: int) -> bool:
        return number in self._numbers

    def add(self, number: int) -> None:
        """Remember one; the oldest is forgotten for it."""
        self._order.append(number)
        self._numbers.add(number)
        if len(self._order) > REMEMBERED:
            self._numbers.discard(self._order.popleft())


class Feed:
    """Merges Redis and the database into frames, each event once."""

    def __init__(self, subscription: Subscription, tail: Tail) -> None:
        self._subscription = subscription
        self._tail = tail
        self._after = subscription.after
        self._floor = subscription.after
        self._sent = Sent()
        self._live: dict[str, dict[str, Any]] = {}

    async def run(self) -> AsyncIterator[bytes]:
        """Frames and heartbeats until the caller may no longer listen; what came together is sent together."""
        heartbeat, catch_up, check = Period(HEARTBEAT_SECONDS), Period(CATCH_UP_SECONDS), Period(CHECK_SECONDS)
        number, complete = None, False
        while True:
            news = await self._tail.after(number)
            missed, due = False, catch_up.due()
            behind = not (complete and news.complete)
            if due or behind:
                try:
                    async for each in self._catch_up(None if behind else catch_up.number, figures=not news.complete):
                        yield each
                except Error as error:
                    missed = _wait_for(error)
            number, complete = news.number, news.complete and not missed
            if shown := self._of(news):
                yield shown
            if heartbeat.due():
                yield frame("heartbeat", {"server_time": clock.now().isoformat()})
            if check.due() and not await self._allowed(check.number):
                return
            if not complete:
                await asyncio.sleep(POLL_SECONDS)

    async def _allowed(self, period: float) -> bool:
        """A database that is away says nothing against the caller; it is asked again in the next period."""
        caller = self._subscription.caller
        try:
            return await _access.here().ask(period, caller, lambda: access_now(caller)) == self._subscription.access
        except Error as error:
            return _wait_for(error)

    def _of(self, news: News) -> bytes:
        """What the caller gets of what came. Most pages show the figures of all pipelines and no query."""
        wanted = self._subscription
        if wanted.pipeline is None and wanted.queries == NONE and wanted.access.everywhere is not None:
            return news.brief + b"".join(map(self._shown, news.events))
        return b"".join(map(self._shown, news.entries))

    def _shown(self, entry: StreamEntry) -> bytes:
        """What the caller gets of it: nothing of other teams, pipelines and kinds, and no event twice."""
        if not self._subscription.access.owns(entry.team):
            return b""
        if self._subscription.pipeline not in (None, entry.pipeline):
            return b""
        if entry.event is None:
            return entry.frame if self._has_queries(entry.pipeline) else entry.brief
        number, kind = entry.event
        return entry.frame if self._is_wanted(kind) and self._is_new(number) else b""

    def _has_queries(self, pipeline: str | None) -> bool:
        return self._subscription.queries in (None, pipeline)

    def _is_wanted(self, kind: str) -> bool:
        return not self._subscription.kinds or wants(self._subscription.kinds, kind)

    def _is_new(self, number: int) -> bool:
        """Whether an event was not sent yet. Numbers may come out of order, for transactions end in any order."""
        if number <= self._floor or number in self._sent:
            return False
        self._sent.add(number)
        self._after = max(self._after, number)
        return True

    async def _catch_up(self, period: float | None, *, figures: bool) -> AsyncIterator[bytes]:
        """Events that Redis did not carry, page by page, and while it is away the figures of what moves. `period`: the
        one of a look that streams have in common; None where this one is known to have missed something."""
        start = max(self._floor, self._after - OVERLAP)
        while True:
            found = await self._read(start, period)
            for data in found:
                if self._is_new(data["id"]):
                    yield frame("event", data, data["id"])
            if len(found) < PAGE:
                break
            start = found[-1]["id"]
        if figures:
            for data in await in_database(lambda: live_frames(self._subscription.pipeline, self._subscription.access)):
                if not self._has_queries(data["pipeline"]):
                    del data["queries"]
                if self._live.get(data["pipeline"]) != data:
                    self._live[data["pipeline"]] = data
                    yield frame("live", data)

    async def _read(self, start: int, period: float | None) -> list[dict[str, Any]]:
        if period is None:
            return await in_database(lambda: self._page(start))
        wanted, access = self._subscription, self._subscription.access
        seen = (access.everywhere, frozenset(access.teams.items()))
        question = (seen, wanted.pipeline, wanted.kinds, start)
        return await _pages.here().ask(period, question, lambda: self._page(start))

    def _page(self, start: int) -> list[dict[str, Any]]:
        found = events(self._subscription.access, pipeline=self._subscription.pipeline, kinds=self._subscription.kinds)
        rows = found.filter(id__gt=start).order_by("id")[:PAGE]
        return [event_schema(row).model_dump(mode="json") for row in rows]
