"""What a diagnostic bundle says of the installation: versions, health, and settings without values of secrets."""

from __future__ import annotations

import os
import platform
import sys
from contextlib import suppress
from importlib.metadata import version
from typing import Any

import django
from django.conf import settings
from django.db import connection

from pipelines.foundation import dispatch
from pipelines.foundation.redis_py import redis
from pipelines.selectors.hosts.health import checks


def versions() -> dict[str, Any]:
    """Of this web process, and of the servers that it uses; null where one does not answer."""
    return {
        "headgate": version("headgate"),
        "python": sys.version.split()[0],
        "django": django.get_version(),
        "platform": platform.platform(),
        "database": {"vendor": connection.vendor, "version": _database_version()},
        "redis": _redis_version(),
        "host": settings.HEADGATE.host,
    }


def _database_version() -> str | None:
    statement = "SELECT sqlite_version()" if connection.vendor == "sqlite" else "SHOW server_version"
    with suppress(Exception), connection.cursor() as cursor:  # whatever the client raises, it is unknown
        cursor.execute(statement)
        return str(cursor.fetchone()[0])
    return None


def _redis_version() -> str | None:
    with suppress(redis.RedisError, OSError):
        found: Any = dispatch.event_stream().info("server")
        return str(found["redis_version"])
    return None


def health() -> dict[str, Any]:
    """Whether the database and Redis answer this web process."""
    return {"checks": checks(), "processors": os.cpu_count()}


def environment() -> dict[str, Any]:
    """The settings of this web process; those of workers may differ."""
    found: dict[str, Any] = settings.HEADGATE.model_dump(mode="json")
    return {name: value for name, value in found.items() if value is not None}
