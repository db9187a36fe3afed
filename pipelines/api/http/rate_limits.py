"""How many requests a user may send, and a token of his: buckets that fill steadily and that requests empty.

They are held in the web process. With several, each of them admits its part, so that all together admit more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from threading import Lock
from time import monotonic

from django.conf import settings
from rest_framework.request import Request

from pipelines.foundation.errors import TooManyRequests
from pipelines.models import AccessToken

BURST_SECONDS = 4.0
"""How long a bucket takes to fill."""
TOKENS_SHARE = 0.5
"""A token has so much of its user's rate: a program that runs wild leaves the dashboard its part."""
MOST_BUCKETS = 10_000
HEAVY_AT_ONCE = 2


@dataclass
class Bucket:
    """What is left at an instant."""

    left: float
    at: float


@dataclass(frozen=True)
class Allowance:
    """What the answer says: the burst (`quota`), what is left of it, and when it is whole again, in seconds."""

    name: str
    quota: int
    window: int
    left: int
    whole_in: int

    @property
    def headers(self) -> dict[str, str]:
        """As draft-ietf-httpapi-ratelimit-headers has them."""
        return {
            "RateLimit-Policy": f'"{self.name}";q={self.quota};w={self.window}',
            "RateLimit": f'"{self.name}";r={self.left};t={self.whole_in}',
        }


class TooFast(TooManyRequests):
    """The bucket is empty; `allowance` belongs to the answer."""

    code = "rate_limited"

    def __init__(self, allowance: Allowance, seconds: float) -> None:
        super().__init__(
            f"Your {allowance.name} has sent too many requests.",
            hint="Wait as long as Retry-After says.",
            retry_after=seconds,
        )
        self.allowance = allowance


_buckets: dict[str, Bucket] = {}
_heavy: Counter[str] = Counter()
_lock = Lock()


def admit(request: Request, cost: int) -> Allowance | None:
    """Take the cost of a request from the buckets of its token and user; the tighter one is what is told. None without
    a user or a limit. Raises TooFast."""
    rate = settings.HEADGATE.rate_limit
    if not request.user.is_authenticated or not rate:
        return None
    wanted = [("user", f"user {request.user.pk}", rate)]
    if isinstance(request.auth, AccessToken):
        wanted.insert(0, ("token", f"token {request.auth.pk}", rate * TOKENS_SHARE))
    with _lock:
        return min((_take(*each, cost) for each in wanted), key=lambda allowance: allowance.left)


@contextmanager
def one_of_few(request: Request) -> Iterator[None]:
    """Hold one of the places that a user has for requests that take a processor. Raises TooManyRequests."""
    user = str(request.user.pk)
    with _lock:
        if _heavy[user] >= HEAVY_AT_ONCE:
            raise TooManyRequests(
                f"You have {HEAVY_AT_ONCE} such requests running.",
                code="too_many_at_once",
                hint="Send one after the other.",
                retry_after=0,
            )
        _heavy[user] += 1
    try:
        yield
    finally:
        with _lock:
            _heavy[user] -= 1
            if not _heavy[user]:
                del _heavy[user]


def forget() -> None:
    """Fill all buckets."""
    with _lock:
        _buckets.clear()


def _take(name: str, key: str, rate: float, cost: int) -> Allowance:
    now, quota = monotonic(), max(rate * BURST_SECONDS, 1.0)
    bucket = _buckets.get(key)
    if bucket is None:
        _make_room(now)
        bucket = _buckets[key] = Bucket(quota, now)
    bucket.left = min(quota, bucket.left + (now - bucket.at) * rate)
    bucket.at = now
    needed = min(float(cost), quota)
    enough = bucket.left >= needed
    if enough:
        bucket.left -= needed
    whole_in = ceil((quota - bucket.left) / rate)
    allowance = Allowance(name, int(quota), ceil(quota / rate), int(bucket.left), whole_in)
    if not enough:
        raise TooFast(allowance, (needed - bucket.left) / rate)
    return allowance


def _make_room(now: float) -> None:
    """Forget buckets that are full again, where there are many."""
    if len(_buckets) >= MOST_BUCKETS:
        for key in [key for key, bucket in _buckets.items() if now - bucket.at > BURST_SECONDS]:
            del _buckets[key]
