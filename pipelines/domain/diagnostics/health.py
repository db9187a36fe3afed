"""Whether the parts of an installation work, as far as that was checked. What was not checked lately is unknown."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from pipelines.domain.hosts.disk import DiskState

CHECK_HOLDS = timedelta(seconds=60)
"""What a worker reported longer ago says nothing of the present: it reports every ten seconds."""
MANY_MESSAGES = 100
"""So many wait in a queue only where its worker takes none: wake-ups end after five seconds."""


class CheckState(StrEnum):
    """OK: checked, and it works. WARNING: it works, and needs attention. FAILED: it does not work. UNKNOWN: not
    checked, or not lately."""

    OK = "OK"
    WARNING = "WARNING"
    FAILED = "FAILED"
    UNKNOWN = "UNKNOWN"


class CheckKind(StrEnum):
    """What is checked: the servers that web servers and workers share, and workers with their broker connection and
    disk."""

    DATABASE = "database"
    REDIS = "redis"
    QUEUE = "queue"
    WORKER = "worker"
    BROKER_CONNECTION = "broker_connection"
    DISK = "disk"


@dataclass(frozen=True)
class Check:
    """One part. `subject`: its name where there are several; `at`: when it was checked; `milliseconds`: how long it
    took to answer."""

    kind: CheckKind
    subject: str
    state: CheckState
    detail: str
    hint: str = ""
    at: datetime | None = None
    milliseconds: float | None = None


_SERVERS = {
    CheckKind.DATABASE: "Check the server and HEADGATE_DATABASE_URL.",
    CheckKind.REDIS: "Check the server and HEADGATE_REDIS_URL. Pipelines run on; pages and actions are a second late.",
}


def of_server(kind: CheckKind, words: str | None, milliseconds: float, now: datetime) -> Check:
    """The database, or Redis, which has just been asked: `words` is what it is, None where it did not answer."""
    if words is None:
        return Check(kind, "", CheckState.FAILED, "It does not answer.", _SERVERS[kind], now, milliseconds)
    return Check(kind, "", CheckState.OK, words, at=now, milliseconds=milliseconds)


def of_queue(name: str, waiting: int | None, now: datetime) -> Check:
    """A queue of messages; None where Redis did not say."""
    if waiting is None:
        return Check(CheckKind.QUEUE, name, CheckState.UNKNOWN, "Redis does not answer.")
    many = waiting >= MANY_MESSAGES
    state = CheckState.WARNING if many else CheckState.OK
    hint = "No worker takes messages from it. Check the workers below." if many else ""
    return Check(CheckKind.QUEUE, name, state, f"{waiting:,} waiting", hint, now)


def of_worker(
    host: str, seen_at: datetime | None, tick_ms: float | None, now: datetime, *, late: timedelta, lost: timedelta
) -> Check:
    """A worker by the last tick that it reported."""
    if seen_at is None:
        return Check(CheckKind.WORKER, host, CheckState.UNKNOWN, "It has not reported yet.")
    age = now - seen_at
    lasted = "" if tick_ms is None else f"Its last tick took {tick_ms:.0f} ms."
    if age <= late:
        return Check(CheckKind.WORKER, host, CheckState.OK, lasted or "It reports.", at=seen_at, milliseconds=tick_ms)
    state = CheckState.WARNING if age <= lost else CheckState.FAILED
    hint = "Its agents run on, and are not restarted. Check the process `headgate worker` on this host."
    return Check(CheckKind.WORKER, host, state, "It does not report.", hint, seen_at)


_CONNECTIONS = {"HEALTHY": CheckState.OK, "BUSY": CheckState.OK, "UNRESPONSIVE": CheckState.FAILED}


def of_connection(host: str, reported: dict[str, Any], now: datetime) -> Check:
    """Whether messages reach a worker, as it reported."""
    kind, at = CheckKind.BROKER_CONNECTION, _moment(reported)
    if at is None or now - at > CHECK_HOLDS:
        return Check(kind, host, CheckState.UNKNOWN, "Not checked lately.", at=at)
    state = _CONNECTIONS.get(str(reported["state"]), CheckState.WARNING)
    warnings = [str(each) for each in reported.get("warnings", ())]
    if state is CheckState.OK and warnings:
        state = CheckState.WARNING
    detail = str(reported.get("detail") or str(reported["state"]).capitalize())
    return Check(kind, host, state, detail, " ".join(warnings), at, reported.get("round_trip_ms"))


_DISKS = {DiskState.OK: CheckState.OK, DiskState.LOW: CheckState.WARNING, DiskState.FULL: CheckState.FAILED}


def of_disk(host: str, reported: dict[str, Any], now: datetime) -> Check:
    """The disk of a host's runs and checkpoints, as its worker reported."""
    at = _moment(reported)
    if at is None or now - at > CHECK_HOLDS:
        return Check(CheckKind.DISK, host, CheckState.UNKNOWN, "Not checked lately.", at=at)
    free, total = reported["free_bytes"], reported["total_bytes"]
    state = _DISKS[DiskState(reported["state"])]
    hint = "" if state is CheckState.OK else "Free space or add some."
    detail = f"{free / 2**30:,.1f} of {total / 2**30:,.1f} GiB free at {reported['path']}"
    return Check(CheckKind.DISK, host, state, detail, hint, at)


def _moment(reported: dict[str, Any]) -> datetime | None:
    at = reported.get("at")
    return datetime.fromisoformat(str(at)) if at else None
