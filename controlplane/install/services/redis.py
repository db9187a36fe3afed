"""An embedded Redis."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from controlplane.environment import own_secret, private_directory
from controlplane.install.services.child import Service, running
from controlplane.install.services.ports import LOOPBACK, free_port
from controlplane.install.tools.errors import SetupError
from controlplane.install.tools.redis import server_binary
from pipelines.foundation.redis_py import redis

_PASSWORD = "password"  # noqa: S105 - a file's name
_REFUSED = ("DEBUG", "MODULE", "REPLICAOF", "SLAVEOF", "MIGRATE", "SAVE", "BGSAVE", "BGREWRITEAOF")
"""Commands that Headgate never sends: they load code, write files, or copy everything to another server."""


def redis_url(data_dir: Path, port: int) -> str:
    """Where the Redis of this directory listens, with its password, which is made where there is none."""
    return f"redis://:{own_secret(data_dir / _PASSWORD)}@{LOOPBACK}:{port}/0"


def _configure(data_dir: Path, port: int) -> Path:
    """The configuration, in a file that nobody else can open: the password is in no list of processes."""
    refused = [f'rename-command {command} ""' for command in _REFUSED]
    password = own_secret(data_dir / _PASSWORD)
    # Quoted as Redis reads it: the directory is the user's own, and its name may have any character.
    directory = str(data_dir).replace("\\", "\\\\").replace('"', '\\"')
    lines = [f"bind {LOOPBACK}", "protected-mode yes", f"port {port}", f'dir "{directory}"', f"requirepass {password}"]
    lines += ['save ""', "appendonly no", "maxmemory 128mb", "loglevel warning", *refused]
    path = data_dir / "redis.conf"
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_text("\n".join(lines) + "\n")
    return path


def redis_service(*, data_dir: Path, port: int) -> Service:
    """A Redis that keeps nothing on disk: it carries wake-ups and live figures, the database holds what must last."""
    private_directory(data_dir)
    client = redis.Redis.from_url(redis_url(data_dir, port), socket_connect_timeout=1, socket_timeout=1)
    return Service(
        "redis",
        [str(server_binary()), str(_configure(data_dir, port))],
        is_ready=lambda: _answers(client),
        ready_timeout=60,
    )


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
        yield redis_url(data_dir, port)


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
