"""The one place that holds users back while the installation is read-only, and that turns the mode on and off."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from pipelines.domain.governance.changes import ChangeKind
from pipelines.domain.governance.read_only import EMERGENCY
from pipelines.foundation import clock
from pipelines.foundation.errors import Conflict, Forbidden, PreconditionFailed
from pipelines.models import ReadOnlyMode
from pipelines.selectors.governance.read_only import VARIABLE, by_setting, read_only
from pipelines.services.base import audit, events
from pipelines.services.base.audit import Actor

ROW = 1


class InstallationReadOnly(Forbidden):
    """Users change nothing now."""

    code = "installation_read_only"
    title = "The installation is read-only"


def require_writable() -> None:
    """Raises InstallationReadOnly while the mode is on."""
    if (mode := read_only()) is not None:
        since = mode.since.isoformat() if mode.since else None
        told = {"source": mode.source, "reason": mode.reason, "set_by": mode.set_by, "since": since}
        raise InstallationReadOnly(mode.words, hint=mode.advice, read_only=told)


def require_allowed(kind: ChangeKind) -> None:
    """The same for a governed change; what an emergency needs is allowed."""
    if kind not in EMERGENCY:
        require_writable()


@transaction.atomic
def put(*, on: bool, reason: str, version: int | None, actor: Actor) -> None:
    """Turn the mode on or off; the same again changes nothing. `version`: the one that was read, None for any. Raises
    PreconditionFailed where it has changed meanwhile, and Conflict where the setting of the web server decides."""
    if (fixed := by_setting()) is not None:
        raise Conflict(fixed.words, code="read_only_by_setting", hint=fixed.advice, variable=VARIABLE)
    first = {"reason": "", "set_by": actor.name, "since": clock.now()}
    row, _ = ReadOnlyMode.objects.get_or_create(pk=ROW, defaults=first)
    if version is not None and version != row.version:
        raise _changed(row)
    if row.on == on and (not on or row.reason == reason):
        return
    since = row.since if row.on and on else clock.now()
    wanted = {"on": on, "reason": reason, "set_by": actor.name, "since": since, "version": row.version + 1}
    if not ReadOnlyMode.objects.filter(pk=ROW, version=row.version).update(**wanted):
        raise _changed(ReadOnlyMode.objects.get(pk=ROW))
    _emit(
        actor,
        "installation.read_only_on" if on else "installation.read_only_off",
        f"{actor.name} made the installation {'read-only' if on else 'writable again'}: {reason}",
        before=_told(row.on, row.reason),
        after=_told(on, reason),
    )


def _changed(row: ReadOnlyMode) -> PreconditionFailed:
    return PreconditionFailed(
        f"The read-only mode was changed meanwhile: {row.set_by} turned it {'on' if row.on else 'off'}.",
        hint="Read it again, and send its `etag` as If-Match.",
    )


def _told(on: bool, reason: str) -> dict[str, Any]:
    return {"read_only": on, "reason": reason}


def _emit(actor: Actor, kind: str, message: str, *, before: dict[str, Any], after: dict[str, Any]) -> None:
    audit.record(actor=actor, action=kind, before=before, after=after)
    events.record(kind=kind, message=message, actor=actor.name, data={"reason": after["reason"]})
