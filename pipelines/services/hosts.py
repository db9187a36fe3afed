"""What people ask of hosts."""

from __future__ import annotations

from django.db import transaction

from controlplane.shared import clock, dispatch
from controlplane.shared.errors import NotFound
from pipelines.domain.operations import OnTimeout
from pipelines.models import Host
from pipelines.services import audit, events
from pipelines.services.audit import Actor


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
def _change(name: str, actor: Actor, on_timeout: OnTimeout, *, drained: bool) -> bool:
    host = Host.objects.filter(name=name).first()
    if host is None:
        raise NotFound(f"There is no host {name!r}.", code="host_not_found", hint="GET /api/v1/hosts lists them.")
    at, by = (host.drained_at or clock.now(), actor.name) if drained else (None, "")
    other = Host.objects.filter(name=name).exclude(drained_at__isnull=not drained, drain_on_timeout=on_timeout)
    if not other.update(drained_at=at, drained_by=by, drain_on_timeout=on_timeout):
        return False
    action = "drain" if drained else "undrain"
    how = {"on_timeout": on_timeout.value} if drained else {}
    audit.record(actor=actor, action=f"host.{action}", after={"host": name, **how})
    words = f"{actor.name} asked to {action} {name}."
    events.record(kind=f"host.{action}", message=words, actor=actor.name, data={"host": name})
    dispatch.wake(name)
    return True
