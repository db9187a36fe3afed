"""Sends messages to receivers, in a background loop beside the ticks, which never wait for one.

Every host has a sender and all of them work on the same deliveries; the claim in the database keeps them apart. A
sender that dies leaves its claims to run out: their messages are sent again, with the same webhook-id.
"""

from __future__ import annotations

import random
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

import structlog
from django.db import close_old_connections

from pipelines.domain.base.causes import explain
from pipelines.domain.monitoring.webhooks import DeliveryResponse
from pipelines.foundation import clock
from pipelines.services.monitoring import deliveries
from pipelines.services.monitoring.deliveries import Job
from workers.ports import Exclusive, Secrets
from workers.supervisor.background.loop import BackgroundLoop
from workers.supervisor.background.sending.attempts import Attempts

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


class DeliverySender:
    """Plans, claims, sends and records."""

    def __init__(
        self,
        attempts: Attempts,
        secrets: Secrets,
        *,
        public_url: str = "",
        monotonic: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._attempts = attempts
        self._public_url = public_url
        self._secrets = secrets
        self._monotonic = monotonic
        self._chance = chance
        self._settling = Settling()
        self._executor = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="delivery")
        self._under_way: dict[Future[DeliveryResponse], Job] = {}

    def loop(self, lock: Exclusive) -> BackgroundLoop:
        """`lock`: one sender per host, however many workers it has."""
        return BackgroundLoop("deliveries", self.turn_and_wait, pause=IDLE_SECONDS, lock=lock, close=self.close)

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
        busy = Counter(job.receiver for job in self._under_way.values())
        free = AT_ONCE - len(self._under_way)
        if free:
            self._send(self._claim(free, busy))
        return len(self._under_way)

    def _claim(self, free: int, busy: Mapping[int, int]) -> list[Job]:
        return deliveries.claim(now=clock.now(), most=free, each=AT_ONCE_EACH, busy=busy, public_url=self._public_url)

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
        names = {name for job in jobs for name in self._attempts.names(job)}
        values = self._secrets.read(names) if names else {}
        for job in jobs:
            self._under_way[self._executor.submit(self._attempts.make, job, values)] = job


def _result(future: Future[DeliveryResponse]) -> DeliveryResponse:
    """What an attempt came to; a fault of our own is an answer too, so that it is tried again. Its text may
    hold a secret and is not passed on."""
    error = future.exception()
    if error is None:
        return future.result()
    log.error("delivery_attempt_failed", cause=repr(error))
    return DeliveryResponse(None, f"The attempt failed. {explain(type(error).__name__)}")
