"""What people ask of hosts."""

from __future__ import annotations

from django.db import transaction

from pipelines.domain.lifecycle.operations import OnTimeout
from pipelines.domain.monitoring.alert_rules import AlertRule
from pipelines.foundation import clock, dispatch
from pipelines.foundation.errors import Conflict, NotFound
from pipelines.models import Host, Pipeline
from pipelines.selectors.hosts.capacity import promised, tied
from pipelines.selectors.hosts.hosts import LOST_AFTER, expected, seen_within
from pipelines.services.base import audit, events
from pipelines.services.base.audit import Actor
from pipelines.services.hosts import evacuations
from pipelines.services.monitoring import alerts

_NAMED = 10
"""Pipelines that a refusal names."""


def drain(*, name: str, actor: Actor, on_timeout: OnTimeout = OnTimeout.ABORT) -> bool:
    """Let a host take no new agents, and its supervisor move what can be moved elsewhere; False where it does already.

    What has no room elsewhere, or is tied to the host, stays and goes on. `on_timeout`: an agent that does not end its
    batch in hand in time goes on and is asked again later (ABORT), or is stopped (STOP). Raises NotFound.
    """
    return _change(name, actor, on_timeout, drained=True)


def undrain(*, name: str, actor: Actor) -> bool:
    """Let a host take new agents again; False where it does already. Nothing moves back. Raises NotFound."""
    return _change(name, actor, OnTimeout.ABORT, drained=False)


@transaction.atomic
def remove(*, name: str, actor: Actor) -> None:
    """Expect a silent host no longer: its alert is over, and no list shows it. Its runs stay in the books.

    Stopped pipelines that nothing ties to it are placed anew by their next start. A worker that speaks up from there
    brings it back. Raises NotFound; Conflict where it is heard, or where something is still assigned to it.
    """
    host = _expected(name)
    if seen_within(host.seen_at, LOST_AFTER):
        raise Conflict(
            f"The worker of {name} runs: its next heartbeat would add the host again.",
            code="host_responding",
            hint="Stop its worker first.",
        )
    there = Pipeline.objects.filter(host=host, archived_at=None).select_related("current_revision").order_by("name")
    placed = set(promised().filter(host=host).values_list("id", flat=True))
    if assigned := [pipeline.name for pipeline in there if pipeline.id in placed or tied(pipeline)]:
        more = f" and {len(assigned) - _NAMED} more" if len(assigned) > _NAMED else ""
        raise Conflict(
            f"Assigned to {name}: {', '.join(assigned[:_NAMED])}{more}.",
            code="host_in_use",
            hint=f"`headgate hosts drain {name}` moves the pipelines that can move; declare runs there lost (`headgate "
            "runs declare-lost NAME`), and pin the other pipelines to another host or delete them.",
        )
    there.update(host=None)
    evacuations.end_with_host(name)
    gone = {"removed_at": clock.now(), "lease_owner": None, "lease_until": None}
    Host.objects.filter(name=name).update(**gone, drained_at=None, drained_by="", on_timeout=OnTimeout.ABORT)
    for rule in (AlertRule.HOST_SILENT, AlertRule.DISK_LOW):
        alerts.clear_alert(rule=rule, key=name)
    audit.record(actor=actor, action="host.remove", before={"host": name})
    words = f"{actor.name} removed {name}."
    events.record(kind="host.remove", message=words, actor=actor.name, data={"host": name})


def _expected(name: str) -> Host:
    host = expected().select_for_update(no_key=True).filter(name=name).first()
    if host is None:
        raise NotFound(f"There is no host {name!r}.", code="host_not_found", hint="GET /api/v1/hosts lists them.")
    return host


@transaction.atomic
def _change(name: str, actor: Actor, on_timeout: OnTimeout, *, drained: bool) -> bool:
    host = _expected(name)
    at, by = (host.drained_at or clock.now(), actor.name) if drained else (None, "")
    other = Host.objects.filter(name=name).exclude(drained_at__isnull=not drained, on_timeout=on_timeout)
    if not other.update(drained_at=at, drained_by=by, on_timeout=on_timeout):
        return False
    action = "drain" if drained else "undrain"
    how = {"on_timeout": on_timeout.value} if drained else {}
    audit.record(actor=actor, action=f"host.{action}", after={"host": name, **how})
    words = f"{actor.name} requested: {action} {name}."
    events.record(kind=f"host.{action}", message=words, actor=actor.name, data={"host": name})
    dispatch.wake(name)
    return True
