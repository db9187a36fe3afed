"""Reading teams, and what users may reach in them."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Q

from pipelines.domain.access.teams import Access, access_from
from pipelines.domain.base.roles import Role
from pipelines.foundation.errors import NotFound
from pipelines.models import RoleBinding, Team


def access_of(user: Any) -> Access:
    """What a user may reach, with one query; nothing for anonymous and inactive users."""
    if isinstance(user, AnonymousUser) or not isinstance(user, AbstractBaseUser) or not user.is_active:
        return Access()
    if getattr(user, "is_superuser", False):
        return Access(Role.ADMIN)
    bindings = RoleBinding.objects.filter(Q(user=user.pk) | Q(group__user=user.pk))
    return access_from(bindings.values_list("team_id", "role", "sees_records"))


def get_team(name: str, access: Access) -> Team:
    """One team; raises NotFound, also for one that the user is not in."""
    team = Team.objects.filter(name=name).first()
    if team is None or not access.sees(team.pk):
        raise NotFound(f"There is no team {name!r}.", code="team_not_found", hint="GET /api/v1/teams lists yours.")
    return team


def teams_with(access: Access, role: Role) -> list[Team]:
    """Teams in which a user has this role or a higher one, by name."""
    teams = access.teams_with(role)
    return list((Team.objects.all() if teams is None else Team.objects.filter(pk__in=teams)).order_by("name"))
