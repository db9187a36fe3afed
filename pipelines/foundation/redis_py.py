"""The client library of Redis, which every module imports from here.

Where OpenTelemetry is installed it imports its metrics, for figures that nobody reads: a quarter of a second and many
modules, in each process that has nothing to do with traces. So that package is hidden from it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def _hidden(package: str) -> Iterator[None]:
    """An import of the package fails, unless it was imported before."""
    if package in sys.modules:
        yield
        return
    sys.modules[package] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[package]


with _hidden("opentelemetry"):
    import redis
    import redis.asyncio as aioredis
    from redis.asyncio.retry import Retry as AsyncRetry
    from redis.backoff import NoBackoff
    from redis.exceptions import RedisError, ResponseError
    from redis.retry import Retry

__all__ = ["AsyncRetry", "NoBackoff", "RedisError", "ResponseError", "Retry", "aioredis", "redis"]
