"""Messages that make things happen sooner: wake-ups for supervisors, events for open pages.

Nothing depends on them. They leave from one background thread, in order, each bounded in time. Where Redis is away or
slow they are dropped; the next tick sees the desired state and every page catches up from the database.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.utils.module_loading import import_string

from pipelines.foundation.entries import Entry, seal
from pipelines.foundation.redis_py import NoBackoff, Retry, redis

STREAM = "headgate:events"
OWNER = "team_id"
"""In a payload: the team that may see it, null where only those may who see every team; open pages do not get it."""
STREAM_LENGTH = 5_000
AT_ONCE = 10
"""Frames of one entry, so that the longest stream takes tens of megabytes of Redis."""
PUBLISH_SECONDS = 0.5
WAKE_SECONDS = 1.0
WAKE_EXPIRES_SECONDS = 5
WAITING_MESSAGES = 1_000

log = structlog.get_logger(__name__)


class Courier:
    """Runs deliveries one after another in a thread of its own; what does not fit into its bag is dropped."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="dispatch")
        self._places = threading.BoundedSemaphore(WAITING_MESSAGES)

    def send(self, deliver: Callable[[], object]) -> None:
        """Deliver soon, or never; the caller neither waits nor fails."""
        if self._places.acquire(blocking=False):
            self._executor.submit(self._deliver, deliver)

    def _deliver(self, deliver: Callable[[], object]) -> None:
        try:
            deliver()
        except Exception as error:  # a lost message is no failure: every receiver also looks by itself
            log.debug("message_dropped", cause=str(error))
        finally:
            self._places.release()


@cache
def courier() -> Courier:
    """The courier of this process."""
    return Courier()


@cache
def event_stream() -> redis.Redis:
    """A client whose every call is bounded and never repeated."""
    return redis.Redis.from_url(
        settings.HEADGATE.redis_url.get_secret_value(),
        socket_timeout=PUBLISH_SECONDS,
        socket_connect_timeout=PUBLISH_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )


def publish(kind: str, payload: dict[str, Any]) -> None:
    """Send a frame to every open page: `kind` is `event` or `live`. Call it after the commit."""
    publish_all(kind, [payload])


def publish_all(kind: str, payloads: Sequence[dict[str, Any]]) -> None:
    """Send frames to every open page, all of them in one exchange with Redis."""
    if payloads:
        courier().send(lambda: _add(kind, payloads))


def _add(kind: str, payloads: Sequence[dict[str, Any]]) -> None:
    with event_stream().pipeline(transaction=False) as pipe:
        for start in range(0, len(payloads), AT_ONCE):
            entries = [_entry(kind, payload) for payload in payloads[start : start + AT_ONCE]]
            pipe.xadd(STREAM, seal(entries), maxlen=STREAM_LENGTH, approximate=True)  # type: ignore[arg-type]
        pipe.execute()


def _entry(kind: str, payload: dict[str, Any]) -> Entry:
    shown = {name: value for name, value in payload.items() if name != OWNER}
    return Entry(
        kind, payload.get(OWNER), payload.get("pipeline"), json.dumps(shown, separators=(",", ":"), default=str)
    )


def wake(host: str | None) -> None:
    """After the commit, tell the supervisor of `host` to look now; without a host nobody needs to."""
    if host is not None:
        transaction.on_commit(lambda: courier().send(lambda: _send_wake(host)))


def _send_wake(host: str) -> None:
    send_now("workers.wake", queue=f"host.{host}", expires=WAKE_EXPIRES_SECONDS)


def send_now(task: str, *, queue: str, expires: float, args: Sequence[Any] = ()) -> None:
    """Send a message through a connection of its own, which binds the queue where the broker does not know it.

    Bounded, and not repeated; raises whatever the broker's client raises.
    """
    app = import_string(settings.CELERY_APP)
    with app.connection_for_write(connect_timeout=WAKE_SECONDS) as connection:
        app.send_task(
            task,
            args=args,
            queue=queue,
            expires=expires,
            ignore_result=True,
            connection=connection,
            retry=False,
        )
