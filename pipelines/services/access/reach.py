"""Writing what pipelines may reach, and refusing definitions that would reach more."""

from __future__ import annotations

from typing import Any, TypeVar

from django.db import IntegrityError, transaction

from pipelines.domain.access.reach_rules import network_problem, root_problem
from pipelines.domain.access.reach_settings import canonical_target
from pipelines.domain.base.findings import Finding
from pipelines.foundation import clock
from pipelines.foundation.errors import Conflict, Invalid, NotFound
from pipelines.models import AllowedNetwork, AllowedRoot, Team
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor

Rule = TypeVar("Rule", AllowedRoot, AllowedNetwork)


def allow_root(*, path: str, mode: str, note: str, team: Team | None = None, actor: Actor) -> AllowedRoot:
    """Allow a directory to the pipelines of a team, or to all. Raises Invalid for one that cannot be allowed, Conflict
    where it is there already."""
    path = path.rstrip("/") or "/"
    _require(root_problem(path, mode), "path")
    fields = {"path": path, "mode": mode, "note": note}
    return _allow(AllowedRoot, "allowed_root", fields, f"{path} ({mode})", team, actor)


def allow_network(*, target: str, ports: str, note: str, team: Team | None = None, actor: Actor) -> AllowedNetwork:
    """Allow a network, an address or a host. Raises Invalid and Conflict as above."""
    _require(network_problem(target, ports), "target")
    fields = {"target": canonical_target(target), "ports": ports, "note": note}
    return _allow(AllowedNetwork, "allowed_network", fields, f"{target} {ports}", team, actor)


def remove_root(*, root_id: int, actor: Actor) -> None:
    """Allow a directory no longer: what runs goes on, later starts are refused. Raises NotFound."""
    _remove(AllowedRoot, "allowed_root", root_id, ("path", "mode"), actor)


def remove_network(*, network_id: int, actor: Actor) -> None:
    """Allow a network no longer: what runs goes on, later starts are refused. Raises NotFound."""
    _remove(AllowedNetwork, "allowed_network", network_id, ("target", "ports"), actor)


def _allow(model: type[Rule], action: str, fields: dict[str, str], shown: str, team: Team | None, actor: Actor) -> Rule:
    named = team.name if team else ""
    try:
        with transaction.atomic():
            made = model._default_manager.create(**fields, team=team, created_at=clock.now(), created_by=actor.name)
            audit.record(actor=actor, action=f"{action}.add", team=named, after={**fields, "team": named or None})
    except IntegrityError:
        raise Conflict(f"{shown} is allowed already.", code="already_allowed", hint="Nothing has to be done.") from None
    return made


@transaction.atomic
def _remove(model: type[Rule], action: str, rule_id: int, names: tuple[str, str], actor: Actor) -> None:
    row = model._default_manager.select_for_update().filter(pk=rule_id).first()
    if row is None:
        hint = f"GET /api/v1/{action.replace('_', '-')}s lists them."
        raise NotFound("There is no such rule.", code="rule_not_found", hint=hint)
    named = row.team.name if row.team else ""
    before = {**{name: getattr(row, name) for name in names}, "team": named or None}
    audit.record(actor=actor, action=f"{action}.remove", team=named, before=before)
    row.delete()


def _require(problem: str, path: str) -> None:
    if problem:
        finding: Any = Finding(path=path, code="rule_invalid", message=problem, suggestion="Send another value.")
        raise Invalid(problem, code="rule_invalid", findings=[finding])
