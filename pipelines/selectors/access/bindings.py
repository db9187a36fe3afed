"""Reading teams as the API shows them, and the roles in them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import PROTECT, Count, Q, QuerySet
from pydantic import Field

from pipelines.domain.access.teams import Access
from pipelines.domain.base.roles import Role, RoleWord
from pipelines.models import RoleBinding, Team
from pipelines.selectors.base.schemas import Schema
from pipelines.selectors.base.visible import visible


class TeamSchema(Schema):
    """A team. `role`: the highest one of the user who asks in it."""

    name: str
    description: str
    role: RoleWord | None
    pipelines: int = Field(description="How many it owns; deleted ones do not count.")
    created_at: datetime
    created_by: str


class BindingSchema(Schema):
    """A role of a user or a group. `team` null: it counts in every team. `sees_records`: of an operator, or a higher
    role, whether it shows what events hold."""

    id: int
    team: str | None
    user: str | None
    group: str | None
    role: RoleWord
    sees_records: bool
    created_at: datetime
    created_by: str


def teams(access: Access) -> QuerySet[Team]:
    """Teams that exist for a user, with the number of their pipelines."""
    present = Count("pipelines", filter=Q(pipelines__archived_at=None))
    return visible(Team.objects.all(), access, "pk").annotate(pipeline_count=present)


def team_schemas(rows: Sequence[Team], access: Access) -> list[TeamSchema]:
    """Rows of `teams` as the API shows them to a user."""
    return [
        TeamSchema(
            name=row.name,
            description=row.description,
            role=own.word if (own := access.role_in(row.pk)) else None,
            pipelines=row.pipeline_count,  # type: ignore[attr-defined]
            created_at=row.created_at,
            created_by=row.created_by,
        )
        for row in rows
    ]


def belongings(team: Team) -> dict[str, int]:
    """What keeps a team from being deleted: kinds of rows that it owns, with their numbers."""
    kinds = [each for each in Team._meta.related_objects if each.on_delete is PROTECT]
    counts = {each: each.related_model._base_manager.filter(**{each.field.name: team}).count() for each in kinds}
    return {str(each.get_accessor_name()).replace("_", " "): count for each, count in counts.items() if count}


def bindings(team: Team | None) -> QuerySet[RoleBinding]:
    """Roles in a team, or those in all of them, with what their schemas need."""
    return RoleBinding.objects.select_related("team", "user", "group").filter(team=team)


def binding_schema(row: RoleBinding) -> BindingSchema:
    """A binding as the API shows it."""
    return BindingSchema(
        id=row.pk,
        team=row.team.name if row.team else None,
        user=row.user.username if row.user else None,
        group=row.group.name if row.group else None,
        role=Role(row.role).word,
        sees_records=row.sees_records,
        created_at=row.created_at,
        created_by=row.created_by,
    )


def administrators() -> QuerySet[User]:
    """Active users who are administrators of every team."""
    return User.objects.filter(_as_users() | Q(groups__role_bindings__in=_granting()), is_active=True)


def bound_administrators() -> QuerySet[User]:
    """Those who are so as users; a group can lose its members at the provider, unasked."""
    return User.objects.filter(_as_users(), is_active=True)


def _as_users() -> Q:
    return Q(is_superuser=True) | Q(role_bindings__in=_granting())


def _granting() -> QuerySet[RoleBinding]:
    return RoleBinding.objects.filter(team=None, role=Role.ADMIN)
