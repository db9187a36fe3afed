"""Writing what pipelines may reach, and refusing definitions that would reach more."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction

from pipelines.domain.access.reach_rules import network_problem, root_problem
from pipelines.domain.access.reach_settings import canonical_target
from pipelines.domain.base.findings import Finding
from pipelines.foundation import clock
from pipelines.foundation.errors import Conflict, Invalid, NotFound
from pipelines.models import AllowedNetwork, AllowedRoot
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor


def allow_root(*, path: str, mode: str, note: str, actor: Actor) -> AllowedRoot:
    """Allow a directory. Raises Invalid for one that cannot be allowed, Conflict where it is there already."""
    path = path.rstrip("/") or "/"
    _require(root_problem(path, mode), "path")
    fields = {"path": path, "mode": mode, "note": note}
    try:
        with transaction.atomic():
            made = AllowedRoot.objects.create(**fields, created_at=clock.now(), created_by=actor.name)
            audit.record(actor=actor, action="allowed_root.add", after=fields)
    except IntegrityError:
        raise _known(f"{path} ({mode})") from None
    return made


def allow_network(*, target: str, ports: str, note: str, actor: Actor) -> AllowedNetwork:
    """Allow a network, an address or a host. Raises Invalid and Conflict as above."""
    _require(network_problem(target, ports), "target")
    fields = {"target": canonical_target(target), "ports": ports, "note": note}
    try:
        with transaction.atomic():
            made = AllowedNetwork.objects.create(**fields, created_at=clock.now(), created_by=actor.name)
            audit.record(actor=actor, action="allowed_network.add", after=fields)
    except IntegrityError:
        raise _known(f"{target} {ports}") from None
    return made


@transaction.atomic
def remove_root(*, root_id: int, actor: Actor) -> None:
    """Allow a directory no longer: what runs goes on, later starts are refused. Raises NotFound."""
    row = AllowedRoot.objects.select_for_update().filter(pk=root_id).first()
    if row is None:
        raise _unknown("allowed-roots")
    audit.record(actor=actor, action="allowed_root.remove", before={"path": row.path, "mode": row.mode})
    row.delete()


@transaction.atomic
def remove_network(*, network_id: int, actor: Actor) -> None:
    """Allow a network no longer: what runs goes on, later starts are refused. Raises NotFound."""
    row = AllowedNetwork.objects.select_for_update().filter(pk=network_id).first()
    if row is None:
        raise _unknown("allowed-networks")
    audit.record(actor=actor, action="allowed_network.remove", before={"target": row.target, "ports": row.ports})
    row.delete()


def _require(problem: str, path: str) -> None:
    if problem:
        finding: Any = Finding(path=path, code="rule_invalid", message=problem, suggestion="Send another value.")
        raise Invalid(problem, code="rule_invalid", findings=[finding])


def _known(what: str) -> Conflict:
    return Conflict(f"{what} is allowed already.", code="already_allowed", hint="Nothing has to be done.")


def _unknown(route: str) -> NotFound:
    return NotFound("There is no such rule.", code="rule_not_found", hint=f"GET /api/v1/{route} lists them.")
