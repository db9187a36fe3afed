"""What people ask of hosts."""

from __future__ import annotations

from django.db import transaction

from controlplane.shared import clock, dispatch
from controlplane.shared.errors import NotFound
from pipelines.models import Host
from pipelines.services import audit, events
from pipelines.services.audit import Actor


def drain(*, name: str, actor: Actor) -> bool:
    """Let a host take no new agents, and its supervisor move what can be moved elsewhere; False where it does already.

    What has no room elsewhere, or is tied to the host, stays and goes on. Raises NotFound.
    """
    return _change(name, actor, drained=True)


def undrain(*, name: str, actor: Actor) -> bool:
    """Let a host take new agents again; False where it does already. Nothing moves back. Raises NotFound."""
    return _change(name, actor, drained=False)


@transaction.atomic
def _change(name: str, actor: Actor, *, drained: bool) -> bool:
    host = Host.objects.filter(name=name)
    if not host.exists():
        raise NotFound(f"There is no host {name!r}.", code="host_not_found", hint="GET /api/v1/hosts lists them.")
    at, by = (clock.now(), actor.name) if drained else (None, "")
    if not host.filter(drained_at__isnull=drained).update(drained_at=at, drained_by=by):
        return False
    action = "drain" if drained else "undrain"
    audit.record(actor=actor, action=f"host.{action}", after={"host": name})
    words = f"{actor.name} asked to {action} {name}."
    events.record(kind=f"host.{action}", message=words, actor=actor.name, data={"host": name})
    dispatch.wake(name)
    return True
