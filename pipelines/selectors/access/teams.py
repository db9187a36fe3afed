"""Reading teams, and what users may reach in them."""

from __future__ import annotations

from typing import Any, TypeVar

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Model, Q, QuerySet

from pipelines.domain.access.teams import Access, access_from
from pipelines.domain.base.roles import Role
from pipelines.models import RoleBinding

Row = TypeVar("Row", bound=Model)


def access_of(user: Any) -> Access:
    """What a user may reach, with one query; nothing for anonymous and inactive users."""
    if isinstance(user, AnonymousUser) or not isinstance(user, AbstractBaseUser) or not user.is_active:
        return Access()
    if getattr(user, "is_superuser", False):
        return Access(Role.ADMIN)
    bindings = RoleBinding.objects.filter(Q(user=user.pk) | Q(group__user=user.pk))
    return access_from(bindings.values_list("team_id", "role"))


def visible(rows: QuerySet[Row], access: Access, path: str = "team", *, shared: bool = False) -> QuerySet[Row]:
    """The rows whose team exists for a user; `shared`: those of the installation, which have no team, as well."""
    teams = access.visible
    if teams is None:
        return rows
    own = Q(**{f"{path}__in": teams})
    return rows.filter(own | Q(**{f"{path}__isnull": True}) if shared else own)
