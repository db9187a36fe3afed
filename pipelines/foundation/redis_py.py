"""The client library of Redis, which every module imports from here.

Where the metrics of OpenTelemetry are installed it imports them, for figures that nobody reads: a quarter of a second
and many modules, in each process that has nothing to do with traces. So they are hidden from it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_METRICS = "opentelemetry.sdk.metrics"


@contextmanager
def _hidden(module: str) -> Iterator[None]:
    """An import of the module fails, unless it was imported before."""
    if module in sys.modules:
        yield
        return
    sys.modules[module] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[module]


with _hidden(_METRICS):
    import redis
    import redis.asyncio as aioredis
    from redis.asyncio.retry import Retry as AsyncRetry
    from redis.backoff import NoBackoff
    from redis.exceptions import RedisError
    from redis.retry import Retry

__all__ = ["AsyncRetry", "NoBackoff", "RedisError", "Retry", "aioredis", "redis"]
