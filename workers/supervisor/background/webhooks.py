"""Sends webhooks, in a background loop beside the ticks, which never wait for an endpoint.

Every host has a sender and all of them work on the same deliveries; the claim in the database keeps them apart. A
sender that dies leaves its claims to run out: their messages are sent again, with the same webhook-id.
"""

from __future__ import annotations

import random
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from importlib.metadata import version

import structlog
from django.db import close_old_connections

from pipelines.domain.base.causes import explain
from pipelines.domain.monitoring.webhooks import WebhookResponse, key_of, secret_name, signed_headers
from pipelines.foundation import clock
from pipelines.services.monitoring import deliveries
from pipelines.services.monitoring.deliveries import Job
from workers.ports import Exclusive, Posts, Secrets, Unreadable
from workers.supervisor.background.loop import BackgroundLoop

IDLE_SECONDS = 1.0
GATHER_SECONDS = 0.02
"""Answers that come so close together are written down together."""
SETTLED_SECONDS = 60.0
"""Longer than any transaction: an event that was not seen by then does not exist."""
CLOSING_SECONDS = 2.0
AT_ONCE = 32
AT_ONCE_EACH = 8

log = structlog.get_logger(__name__)


class Settling:
    """Up to which event everything that happened can be seen, by a monotonic clock."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()
        self._settled = 0

    def settled(self, now: float) -> int:
        """The newest event that was seen a while ago."""
        while self._seen and now - self._seen[0][0] >= SETTLED_SECONDS:
            self._settled = max(self._settled, self._seen.popleft()[1])
        return self._settled

    def saw(self, newest: int, now: float) -> None:
        """Note the newest event."""
        if newest > (self._seen[-1][1] if self._seen else self._settled):
            self._seen.append((now, newest))


class WebhookSender:
    """Plans, claims, sends and records."""

    def __init__(
        self,
        posts: Posts,
        secrets: Secrets,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._posts = posts
        self._secrets = secrets
        self._monotonic = monotonic
        self._chance = chance
        self._settling = Settling()
        self._executor = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="webhook")
        self._under_way: dict[Future[WebhookResponse], Job] = {}

    def loop(self, lock: Exclusive) -> BackgroundLoop:
        """`lock`: one sender per host, however many workers it has."""
        return BackgroundLoop("webhooks", self.turn_and_wait, pause=IDLE_SECONDS, lock=lock, close=self.close)

    def close(self) -> None:
        """Give what is under way a moment, and write down what came of it."""
        try:
            wait(self._under_way, timeout=CLOSING_SECONDS)
            self._record()
        finally:
            self._executor.shutdown(wait=False, cancel_futures=True)

    def turn_and_wait(self) -> float:
        """A turn, and the wait for its first answer, without a connection to the database."""
        if not self.turn():
            return IDLE_SECONDS
        close_old_connections()
        wait(self._under_way, timeout=IDLE_SECONDS, return_when=FIRST_COMPLETED)
        return GATHER_SECONDS

    def turn(self) -> int:
        """Write down what was answered, plan what happened, and begin what is due; returns how much is under way."""
        self._record()
        now = self._monotonic()
        self._settling.saw(deliveries.plan(settled=self._settling.settled(now)), now)
        busy = Counter(job.webhook for job in self._under_way.values())
        free = AT_ONCE - len(self._under_way)
        jobs = deliveries.claim(now=clock.now(), most=free, each=AT_ONCE_EACH, busy=busy) if free else []
        self._send(jobs)
        return len(self._under_way)

    def finish(self) -> None:
        """Wait for what is under way, and write it down."""
        wait(self._under_way)
        self._record()

    def _record(self) -> None:
        over = [(future, job) for future, job in self._under_way.items() if future.done()]
        deliveries.record(
            answers=[(job, _result(future)) for future, job in over], now=clock.now(), chance=self._chance
        )
        for future, _ in over:
            del self._under_way[future]

    def _send(self, jobs: list[Job]) -> None:
        """All secrets are read at once."""
        names = {name for job in jobs for each in job.secrets if (name := secret_name(each))}
        values = self._secrets.read(names) if names else {}
        for job in jobs:
            self._under_way[self._executor.submit(self._attempt, job, values)] = job

    def _attempt(self, job: Job, values: Mapping[str, str | Unreadable]) -> WebhookResponse:
        try:
            keys = [_key(reference, values) for reference in job.secrets]
        except _Unusable as unusable:
            return WebhookResponse(None, str(unusable))
        headers = {
            "content-type": "application/json",
            "user-agent": f"Headgate/{version('headgate')}",
            **signed_headers(keys, job.message_id, clock.now(), job.body),
        }
        return self._posts.post(job.url, headers, job.body)


class _Unusable(Exception):
    """A secret cannot sign; the text says why, and never what it is."""


def _key(reference: str, values: Mapping[str, str | Unreadable]) -> bytes:
    name = secret_name(reference) or ""
    value = values.get(name, Unreadable(f"there is no secret {name}.", f"Store it: `headgate secrets set {name}`."))
    if isinstance(value, Unreadable):
        raise _Unusable(f"{reference} cannot be resolved: {value.reason} {value.hint}")
    try:
        return key_of(value)
    except ValueError as error:
        raise _Unusable(f"{reference} cannot sign: {error}.") from None


def _result(future: Future[WebhookResponse]) -> WebhookResponse:
    """What an attempt came to; a fault of our own is an answer too, so that it is tried again. Its text may
    hold a secret and is not passed on."""
    error = future.exception()
    if error is None:
        return future.result()
    log.error("webhook_attempt_failed", cause=repr(error))
    return WebhookResponse(None, f"The attempt failed. {explain(type(error).__name__)}")
