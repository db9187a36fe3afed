"""Whether users can change the installation."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings

from pipelines.domain.governance.read_only import ReadOnly, ReadOnlySource
from pipelines.models import ReadOnlyMode
from pipelines.selectors.base.schemas import Schema

VARIABLE = "HEADGATE_READ_ONLY"


class ReadOnlySchema(Schema):
    """The read-only mode. `source`: the setting HEADGATE_READ_ONLY of the web server, an administrator, or null while
    it is off. `reason`, `set_by` and `since`: of the last change; `since` is unknown where the setting is the source.
    `etag`: for the next change."""

    read_only: bool
    source: ReadOnlySource | None
    reason: str
    set_by: str
    since: datetime | None
    etag: str


def stored() -> ReadOnlyMode | None:
    """What an administrator has last said; None before the first word."""
    return ReadOnlyMode.objects.first()


def by_setting() -> ReadOnly | None:
    """The mode where the environment of this web server asks for it."""
    reason: str = settings.HEADGATE.read_only
    return ReadOnly(ReadOnlySource.SETTING, reason, f"the setting {VARIABLE}", None) if reason else None


def read_only() -> ReadOnly | None:
    """Why the installation is read-only now; None where it is not."""
    return by_setting() or _of(stored())


def why_read_only() -> str:
    """The same in words that readers complete with their clock; empty where users can change what is theirs."""
    mode = read_only()
    return mode.short if mode else ""


def read_only_schema() -> ReadOnlySchema:
    """The mode as the API shows it."""
    row = stored()
    now = by_setting() or _of(row)
    said = now or row
    return ReadOnlySchema(
        read_only=now is not None,
        source=now.source if now else None,
        reason=said.reason if said else "",
        set_by=said.set_by if said else "",
        since=said.since if said else None,
        etag=f'"{row.version if row else 0}"',
    )


def _of(row: ReadOnlyMode | None) -> ReadOnly | None:
    return ReadOnly(ReadOnlySource.ADMINISTRATOR, row.reason, row.set_by, row.since) if row and row.on else None
