"""The installation: versions, health, and settings without values of secrets."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from importlib.metadata import version
from time import perf_counter
from typing import Any

import django
from django.conf import settings
from django.db import connection
from pydantic import SecretStr

from pipelines.domain.diagnostics.health import (
    Check,
    CheckKind,
    of_connection,
    of_disk,
    of_queue,
    of_server,
    of_worker,
)
from pipelines.domain.diagnostics.settings import SECTIONS, described, location, plain, variable
from pipelines.foundation import clock, dispatch
from pipelines.foundation.redis_py import redis
from pipelines.models import Host
from pipelines.selectors.diagnostics.schemas import CheckSchema, InstallationSchema, SettingSchema, SettingsSchema
from pipelines.selectors.hosts.health import ask_database, checks
from pipelines.selectors.hosts.hosts import LOST_AFTER, SUPERVISED_WITHIN, expected

CONTROL_QUEUE = "control"
"""The queue of every worker; each has one of its own beside it."""
_URLS = frozenset({"database_url", "redis_url"})
"""Secrets by their log-ins alone: where they lead is shown."""


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


def overview() -> InstallationSchema:
    """Every check, made now or reported by workers."""
    now, hosts = clock.now(), list(expected().order_by("name"))
    found = [_database(now), _redis(now), *_queues([host.name for host in hosts], now)]
    found += [check for host in hosts for check in _of_host(host, now)]
    return InstallationSchema(
        version=version("headgate"),
        host=settings.HEADGATE.host,
        checked_at=now,
        checks=[_check_schema(check) for check in found],
    )


def _check_schema(check: Check) -> CheckSchema:
    return CheckSchema(
        kind=check.kind,
        subject=check.subject,
        state=check.state,
        detail=check.detail,
        hint=check.hint,
        checked_at=check.at,
        milliseconds=None if check.milliseconds is None else round(check.milliseconds, 1),
    )


def _database(now: datetime) -> Check:
    name = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}.get(connection.vendor, connection.vendor)

    def ask() -> str:
        ask_database()
        return " ".join(filter(None, (name, _database_version())))

    return of_server(CheckKind.DATABASE, *_asked(ask), now)


def _redis(now: datetime) -> Check:
    def ask() -> str:
        found: Any = dispatch.event_stream().info("server")
        return f"Redis {found['redis_version']}"

    return of_server(CheckKind.REDIS, *_asked(ask), now)


def _asked(ask: Callable[[], str]) -> tuple[str | None, float]:
    """What a server says of itself, and the milliseconds that it took; None where it does not answer."""
    words, begun = None, perf_counter()
    with suppress(Exception):  # whatever the client raises, it does not answer
        words = ask()
    return words, (perf_counter() - begun) * 1000


def _queues(hosts: Sequence[str], now: datetime) -> list[Check]:
    names = [CONTROL_QUEUE, *(f"host.{name}" for name in hosts)]
    waiting: Sequence[int | None] = [None] * len(names)
    with suppress(redis.RedisError, OSError), dispatch.event_stream().pipeline(transaction=False) as pipe:
        for name in names:
            pipe.llen(name)
        waiting = pipe.execute()
    return [of_queue(name, each, now) for name, each in zip(names, waiting, strict=True)]


def _of_host(host: Host, now: datetime) -> list[Check]:
    return [
        of_worker(host.name, host.seen_at, host.tick_ms, now, late=SUPERVISED_WITHIN, lost=LOST_AFTER),
        of_connection(host.name, host.messages, now),
        of_disk(host.name, host.disk, now),
    ]


def settings_schema() -> SettingsSchema:
    """Every setting of this web process by section, with where its value comes from."""
    sections = SECTIONS.items()
    return SettingsSchema(
        [_setting(section, name, text) for section, names in sections for name, text in names.items()]
    )


def _setting(section: str, name: str, meaning: str) -> SettingSchema:
    given = settings.HEADGATE
    value, default = getattr(given, name), type(given).model_fields[name].get_default(call_default_factory=False)
    description, page = described(meaning)
    return SettingSchema(
        name=name,
        variable=variable(name),
        section=section,
        description=description,
        docs=page,
        value=_shown(name, value),
        default=_shown(name, default),
        source="environment" if name in given.model_fields_set else "default",
        secret=isinstance(value, SecretStr) and name not in _URLS,
    )


def _shown(name: str, value: Any) -> str | None:
    """A value for readers; None where it is not set. Of a secret nothing is shown but that it is set, of a URL no
    log-in."""
    if value is None or value == [] or value == "":
        return None
    if isinstance(value, SecretStr):
        return location(value.get_secret_value()) if name in _URLS else "********"
    text = plain(value)
    return location(text) if "://" in text and "@" in text else text
