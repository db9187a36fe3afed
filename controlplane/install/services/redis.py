"""An embedded Redis."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from controlplane.install.services.child import Service, running
from controlplane.install.services.ports import LOOPBACK, free_port
from controlplane.install.tools.errors import SetupError
from controlplane.install.tools.redis import server_binary
from pipelines.foundation.redis_py import redis


def redis_url(port: int) -> str:
    return f"redis://{LOOPBACK}:{port}/0"


def redis_service(*, data_dir: Path, port: int) -> Service:
    """A Redis that keeps nothing on disk: it carries wake-ups and live figures, the database holds what must last."""
    data_dir.mkdir(parents=True, exist_ok=True)
    client = redis.Redis.from_url(redis_url(port), socket_connect_timeout=1, socket_timeout=1)
    argv = [
        str(server_binary()),
        *("--bind", LOOPBACK, "--port", str(port), "--dir", str(data_dir)),
        *("--save", "", "--appendonly", "no", "--maxmemory", "128mb", "--loglevel", "warning"),
    ]
    return Service("redis", argv, is_ready=lambda: _answers(client), ready_timeout=60)


def require_redis(url: str) -> None:
    """Raise SetupError when no Redis answers at the user's own URL."""
    if not _answers(redis.Redis.from_url(url, socket_connect_timeout=2, socket_timeout=2)):
        place = url.rpartition("@")[2]
        raise SetupError(
            f"No Redis answers at {place}, which --no-redis requires.",
            "Start it, or set its address: HEADGATE_REDIS_URL=redis://HOST:PORT/0; without --no-redis, Headgate "
            "starts one.",
        )


@contextmanager
def running_redis(data_dir: Path) -> Iterator[str]:
    """Run a Redis on a free port; yields its URL."""
    port = free_port()
    with running(redis_service(data_dir=data_dir, port=port), data_dir / "redis.log"):
        yield redis_url(port)


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
