"""Teams, and who has which role in them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction

from pipelines.domain.base.findings import listed
from pipelines.domain.base.roles import Role
from pipelines.foundation import clock
from pipelines.foundation.errors import Conflict, NotFound
from pipelines.models import DEFAULT_TEAM, AccessToken, AuditRow, RoleBinding, Team
from pipelines.selectors.access.bindings import administrators, belongings, bindings, bound_administrators
from pipelines.services.access import tokens
from pipelines.services.access.tokens import SYSTEM
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor


def create_default_team(**_: Any) -> None:
    """See to it that the default team exists; twice is harmless."""
    Team.objects.get_or_create(name=DEFAULT_TEAM, defaults={"created_at": clock.now(), "created_by": SYSTEM.name})


def create(*, name: str, description: str, actor: Actor) -> Team:
    """Make a team. Raises Conflict where the name is taken, or was that of another one."""
    _require_new(name)
    fields = {"name": name, "description": description}
    with _one_of_its_name(name):
        team = Team.objects.create(**fields, created_at=clock.now(), created_by=actor.name)
        audit.record(actor=actor, action="team.created", team=name, after=fields)
    return team


def change(*, team: Team, name: str | None, description: str | None, actor: Actor) -> Team:
    """Rename a team, or describe it anew; None leaves what is there. Raises Conflict where the name is taken or was
    that of another one, and for another name of the default team."""
    if name not in (None, team.name) and team.name == DEFAULT_TEAM:
        raise Conflict("The default team keeps its name.", code="default_team", hint="Create another team.")
    if name not in (None, team.name):
        _require_new(str(name))
    before = {"name": team.name, "description": team.description}
    wanted = {"name": name, "description": description}
    after = before | {key: value for key, value in wanted.items() if value is not None}
    with _one_of_its_name(after["name"]):
        Team.objects.filter(pk=team.pk).update(**after)
        audit.record(actor=actor, action="team.changed", team=after["name"], before=before, after=after)
    return Team.objects.get(pk=team.pk)


def _require_new(name: str) -> None:
    """The audit names teams, and shows a team the rows with its name: those of an earlier team are not for another."""
    if not Team.objects.filter(name=name).exists() and AuditRow.objects.filter(team=name).exists():
        raise Conflict(
            f"Another team was named {name}, and the audit has rows about it.",
            code="team_name_used",
            hint="Choose another name.",
        )


@contextmanager
def _one_of_its_name(name: str) -> Iterator[None]:
    try:
        with transaction.atomic():
            yield
    except IntegrityError:
        raise Conflict(f"There is a team {name} already.", code="team_exists", hint="Choose another name.") from None


@transaction.atomic
def delete(*, team: Team, actor: Actor) -> None:
    """Remove a team with the roles in it, and the tokens that are good in it alone. Raises Conflict while it owns
    anything, and for the default team."""
    if team.name == DEFAULT_TEAM:
        raise Conflict("The default team cannot be deleted.", code="default_team")
    Team.objects.select_for_update().get(pk=team.pk)
    if owned := belongings(team):
        raise Conflict(
            f"The team {team.name} owns {listed(f'{what} ({count})' for what, count in owned.items())}.",
            code="team_not_empty",
            hint="Delete them, or move the pipelines to another team, first. Deleted pipelines count until purged.",
            owns=owned,
        )
    for binding in bindings(team):
        unbind(binding=binding, actor=actor)
    for token in AccessToken.objects.filter(team=team):
        tokens.revoke(token_key=token.token_key, tokens=AccessToken.objects.filter(pk=token.pk), actor=actor)
    audit.record(actor=actor, action="team.deleted", team=team.name, before={"description": team.description})
    team.delete()


@transaction.atomic
def bind(
    *,
    team: Team | None,
    role: Role,
    user: User | None = None,
    group: Group | None = None,
    sees_records: bool = True,
    actor: Actor = SYSTEM,
) -> tuple[RoleBinding, bool]:
    """Grant a user or a group this role in a team, or in all of them, in place of the one that it has there.
    `sees_records`: of an operator, whether what events hold is shown. Returns the binding, and whether there was none.
    Raises Conflict where no administrator of all teams would be left."""
    whose: dict[str, Any] = {"team": team, "user": user, "group": group}
    with an_administrator_left():
        present = RoleBinding.objects.filter(**whose).first()
        if present is not None and (present.role, present.sees_records) == (role, sees_records):
            return present, False
        before = _granted(present) if present else None
        granted = {"role": role, "sees_records": sees_records, "created_at": clock.now(), "created_by": actor.name}
        row, new = RoleBinding.objects.update_or_create(**whose, defaults=granted)
    _note(actor, "role.bound", row, before=before, after=_granted(row))
    return row, new


def _granted(binding: RoleBinding) -> dict[str, Any]:
    without = {} if binding.sees_records else {"sees_records": False}
    return {"role": Role(binding.role).word, **without}


@transaction.atomic
def unbind(*, binding: RoleBinding, actor: Actor) -> None:
    """Take a role back. Raises Conflict where no administrator of all teams would be left."""
    with an_administrator_left():
        RoleBinding.objects.filter(pk=binding.pk).delete()
    _note(actor, "role.unbound", binding, before=_granted(binding), after=None)


def group_named(name: str) -> Group:
    """The group that the provider calls so, before any of its users has signed in, too."""
    return Group.objects.get_or_create(name=name)[0]


def get_binding(binding_id: int, team: Team | None) -> RoleBinding:
    """One binding in a team, or in all of them; raises NotFound."""
    found = bindings(team).filter(pk=binding_id).first()
    if found is None:
        raise NotFound("There is no such binding.", code="binding_not_found")
    return found


@contextmanager
def an_administrator_left() -> Iterator[None]:
    """For what may take away, in the caller's transaction, the last administrator of all teams, without whom nothing
    of the installation can be set. One who is bound as a user has to be left, where there is one: a group can lose its
    members at the provider. Raises Conflict."""
    list(RoleBinding.objects.select_for_update().filter(team=None, role=Role.ADMIN))  # one such change at a time
    had = [kind for kind in (bound_administrators, administrators) if kind().exists()]
    yield
    if not all(kind().exists() for kind in had):
        raise Conflict(
            "No enabled user would be left who is bound as administrator of all teams.",
            code="last_administrator",
            hint="Bind another user first: `headgate teams bind all --user NAME --role admin`. Groups do not count, "
            "since they can lose their members at the provider.",
        )


def _note(actor: Actor, action: str, row: RoleBinding, *, before: Any, after: Any) -> None:
    whose = {"user": row.user.username} if row.user else {"group": row.group.name if row.group else ""}
    facts = {"team": row.team.name if row.team else "*", **whose}
    audit.record(
        actor=actor,
        action=action,
        team=row.team.name if row.team else "",
        before=facts | before if before else None,
        after=facts | after if after else None,
    )
