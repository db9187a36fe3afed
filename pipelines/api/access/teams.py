"""Teams, and the roles in them."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Self

from drf_spectacular.utils import extend_schema
from pydantic import AfterValidator, Field, StringConstraints, model_validator
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import TeamView, View, answer, idempotent
from pipelines.api.http.paging import Page, PageQuery, each, page
from pipelines.api.http.permissions import INSTALLATION
from pipelines.api.http.requests import Shape, Text
from pipelines.domain.access.sign_in import GROUP_PREFIX, LONGEST_NAME
from pipelines.domain.base.roles import Role, RoleWord
from pipelines.models import Team
from pipelines.selectors.access.bindings import (
    BindingSchema,
    TeamSchema,
    binding_schema,
    bindings,
    team_schemas,
)
from pipelines.selectors.access.bindings import teams as listed
from pipelines.selectors.access.teams import get_team
from pipelines.services.access import access, teams

ALL_TEAMS = "all"


def _is_one_team(name: str) -> str:
    if name == ALL_TEAMS:
        raise ValueError("stands for every team: choose another name")
    return name


TeamName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$"), AfterValidator(_is_one_team)]
GroupName = Annotated[
    Text, StringConstraints(pattern=f"^{GROUP_PREFIX}", min_length=len(GROUP_PREFIX) + 1, max_length=LONGEST_NAME)
]


class TeamBody(Shape):
    """A team to make."""

    name: TeamName
    description: Text = Field(default="", max_length=1000)


class TeamChangeBody(Shape):
    """What to change of a team; what is left out stays."""

    name: TeamName | None = None
    description: Text | None = Field(default=None, max_length=1000)


class BindingBody(Shape):
    """The role of a `user`, or of a `group` of the provider, which is called `oidc:` and its name there.
    `sees_records`: whether an operator, or who has a higher role, sees by it what events hold."""

    user: Text | None = Field(default=None, max_length=LONGEST_NAME)
    group: GroupName | None = None
    role: RoleWord
    sees_records: bool = True

    @model_validator(mode="after")
    def _has_one_holder(self) -> Self:
        if (self.user is None) == (self.group is None):
            raise ValueError("a role is of a user or of a group: give one of them")
        return self


class TeamList(View):
    """Teams."""

    scope = INSTALLATION
    roles = {"POST": Role.ADMIN}
    reauthenticate = frozenset({"POST"})
    queries = {"GET": PageQuery}

    @extend_schema(operation_id="list_teams", responses=Page[TeamSchema])
    def get(self, request: Request) -> Response:
        """List the teams that you are in by name, with your role; with a role in every team, all."""
        return page(listed(self.access), ["name"], self.query(PageQuery), lambda rows: team_schemas(rows, self.access))

    @extend_schema(operation_id="create_team", request=TeamBody, responses={201: TeamSchema})
    @idempotent
    def post(self, request: Request) -> Response:
        """Create a team. Nobody is in it yet but users with a role in every team."""
        body = self.body(TeamBody)
        made = teams.create(name=body.name, description=body.description, actor=self.actor)
        return _shown(self, made, 201)


class TeamDetail(View):
    """One team."""

    scope = INSTALLATION
    roles = {"PATCH": Role.ADMIN}
    reauthenticate = frozenset({"PATCH", "DELETE"})

    @extend_schema(operation_id="get_team", responses=TeamSchema)
    def get(self, request: Request, team: str) -> Response:
        """Show a team."""
        return _shown(self, get_team(team, self.access))

    @extend_schema(operation_id="change_team", request=TeamChangeBody, responses=TeamSchema)
    def patch(self, request: Request, team: str) -> Response:
        """Rename a team, or describe it anew."""
        body, found = self.body(TeamChangeBody), get_team(team, self.access)
        return _shown(self, teams.change(team=found, name=body.name, description=body.description, actor=self.actor))

    @extend_schema(operation_id="delete_team", responses={204: None})
    def delete(self, request: Request, team: str) -> Response:
        """Delete a team that owns nothing, with the roles in it. 409 `team_not_empty` says what it owns."""
        teams.delete(team=get_team(team, self.access), actor=self.actor)
        return Response(status=204)


def _shown(view: View, team: Team, status: int = 200) -> Response:
    (schema,) = team_schemas(list(listed(view.access).filter(pk=team.pk)), view.access)
    return answer(schema, status)


class BindingView(TeamView):
    """Roles in the team that the address names, or in every team: `all`. Administrators of the team grant them."""

    roles = dict.fromkeys(("GET", "PUT", "DELETE"), Role.ADMIN)

    @cached_property
    def team(self) -> Team | None:
        """The team, None for all of them; raises NotFound."""
        name = self.kwargs["team"]
        return None if name == ALL_TEAMS else get_team(name, self.access)

    @property
    def owner(self) -> int | None:
        """The team itself."""
        return self.team.pk if self.team else None


class BindingList(BindingView):
    """Roles in a team, or in all."""

    reauthenticate = frozenset({"PUT"})
    queries = {"GET": PageQuery}

    @extend_schema(operation_id="list_bindings", responses=Page[BindingSchema])
    def get(self, request: Request, team: str) -> Response:
        """List who has which role in a team, or in `all`, which a single team does not repeat."""
        return page(bindings(self.team), ["id"], self.query(PageQuery), each(binding_schema))

    @extend_schema(operation_id="bind_role", request=BindingBody, responses={200: BindingSchema, 201: BindingSchema})
    def put(self, request: Request, team: str) -> Response:
        """Grant a user or a group a role in a team, or in `all`, in place of the one that it has there. A group can be
        bound before any of its users has signed in."""
        body = self.body(BindingBody)
        row, new = teams.bind(
            team=self.team,
            user=access.find_user(body.user) if body.user is not None else None,
            group=teams.group_named(body.group) if body.group is not None else None,
            role=Role.named(body.role),
            sees_records=body.sees_records,
            actor=self.actor,
        )
        return answer(binding_schema(row), 201 if new else 200)


class BindingDetail(BindingView):
    """One role."""

    reauthenticate = frozenset({"DELETE"})

    @extend_schema(operation_id="unbind_role", responses={204: None})
    def delete(self, request: Request, team: str, binding_id: int) -> Response:
        """Take a role back. 409 `last_administrator` where no enabled user would be left who is bound as administrator
        of all teams; groups do not count."""
        teams.unbind(binding=teams.get_binding(binding_id, self.team), actor=self.actor)
        return Response(status=204)
