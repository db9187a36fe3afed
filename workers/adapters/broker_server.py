"""The Redis server of this worker, as it describes itself."""

from __future__ import annotations

from functools import cache
from ipaddress import ip_address
from typing import Any

import structlog

from pipelines.domain.hosts import broker
from pipelines.domain.hosts.broker import BrokerServer
from pipelines.foundation import dispatch
from pipelines.foundation.redis_py import RedisError, ResponseError, redis

log = structlog.get_logger(__name__)


def broker_warnings() -> list[str]:
    """What is wrong with the server, each once in the log; nothing where it does not answer."""
    try:
        found = broker.warnings(inspect(dispatch.event_stream()))
    except RedisError:
        return []
    for each in found:
        _log_once(each)
    return found


def inspect(client: redis.Redis) -> BrokerServer:
    """The server of a client. Raises RedisError where it does not answer; one that may not be asked is unknown."""
    connection = client.connection_pool.connection_kwargs
    software, version = _release(client)
    host = str(connection.get("host", ""))
    return BrokerServer(
        place=f"{host}:{connection.get('port', 6379)}" if host else "",
        loopback=_is_loopback(host),
        password=bool(connection.get("password")),
        tls=issubclass(client.connection_pool.connection_class, redis.SSLConnection),
        software=software,
        version=version,
    )


def _release(client: redis.Redis) -> tuple[str, str]:
    """Valkey and others call themselves Redis, too, in a version that they are like."""
    try:
        told: dict[str, Any] = client.info("server")
    except ResponseError:
        return "", ""
    if "valkey_version" in told:
        return "Valkey", str(told["valkey_version"])
    if told.keys() & {"dragonfly_version", "garnet_version"}:
        return "", ""
    return "Redis", str(told.get("redis_version", ""))


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@cache
def _log_once(warning: str) -> None:
    log.warning("broker_warning", detail=warning)
