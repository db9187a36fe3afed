"""The secret store: names and facts. A value comes in and never goes out."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, NoReturn

from django.conf import settings
from drf_spectacular.utils import extend_schema
from pydantic import Field, SecretStr, StringConstraints
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.access.owners import owner_of_new
from pipelines.api.http.base import TeamView, View, answer, idempotent
from pipelines.api.http.paging import Page, PageQuery, page
from pipelines.api.http.permissions import INSTALLATION
from pipelines.api.http.requests import ActionBody, ForceQuery, Shape, Text
from pipelines.api.http.watch_requests import TeamName
from pipelines.domain.access.secret_bindings import Purpose
from pipelines.domain.access.secrets import backend_of
from pipelines.domain.base.findings import Finding
from pipelines.domain.base.roles import Role
from pipelines.domain.definitions.parts.client_options import LONGEST_VALUE
from pipelines.foundation.errors import Conflict, Invalid
from pipelines.foundation.keyring import Keyring, StoreClosed
from pipelines.models import Team
from pipelines.selectors.access.schemas import RotationSchema, SecretSchema
from pipelines.selectors.access.secrets import get_secret, secret_schemas
from pipelines.selectors.access.secrets import secrets as visible_secrets
from pipelines.selectors.access.teams import get_team
from pipelines.services.access import secrets

Pattern = Annotated[str, StringConstraints(min_length=1, max_length=400)]
SecretUsers = Annotated[
    list[Pattern],
    Field(
        max_length=1000,
        description="Pipelines that may use it: names with * and ?, label:key=value, consumer-groups/NAME.",
    ),
]
SecretDestinations = Annotated[
    list[Pattern],
    Field(
        max_length=1000,
        description="Where it may go: HOST:PORT, *.example.com:*, 10.0.0.0/8:9092, and types such as sink/http.",
    ),
]


class SecretsQuery(PageQuery):
    """Which secrets. `team`: those of this one."""

    team: str = ""


class SecretBindingBody(Shape):
    """What a secret of pipelines is bound to. `team`: has it from now on, where it is of the installation."""

    team: Text | None = Field(default=None, max_length=63)

    pipelines: SecretUsers | None = None
    destinations: SecretDestinations | None = None


class SecretBody(Shape):
    """A value to keep as a secret. What is kept elsewhere (`vault:`, `env:`, `file:`) is bound without one."""

    value: SecretStr | None = Field(default=None, min_length=1, max_length=LONGEST_VALUE)
    team: TeamName = None
    purpose: Purpose = Field(default=Purpose.PIPELINES, description="Who uses it; names are of a purpose.")
    pipelines: SecretUsers | None = None
    destinations: SecretDestinations | None = None


class DeleteSecretQuery(ForceQuery):
    """The same of a secret of a purpose."""

    purpose: Purpose = Purpose.PIPELINES


def _opened() -> Keyring:
    """The keys, read now; raises Conflict while the store is closed."""
    try:
        keyring: Keyring = settings.HEADGATE.keyring()
    except StoreClosed as closed:
        raise Conflict(str(closed), code="secret_store_closed", hint=closed.hint) from None
    return keyring


def opened_if_possible() -> Keyring | None:
    """The keys, read now; None while the store is closed."""
    try:
        return _opened()
    except Conflict:
        return None


def _value_problem(name: str, body: SecretBody) -> Finding | None:
    """A value is given where it is kept here, and nowhere else."""
    backend = backend_of(name)
    if (backend == "store") is (body.value is not None):
        return None
    words, advice = ("The value is missing.", "Send value.")
    if backend != "store":
        words, advice = f"Its value is kept in {backend}.", "Leave out value, and change it there."
    return Finding(path="value", code="bad_secret_value", message=words, suggestion=advice)


class SecretList(View):
    """All secrets."""

    roles = {"GET": Role.OPERATOR}
    queries = {"GET": SecretsQuery}

    @extend_schema(operation_id="list_secrets", responses=Page[SecretSchema])
    def get(self, request: Request) -> Response:
        """List secrets by name, with what they are bound to and what refers to them; never a value."""
        keyring = opened_if_possible()
        query, rows = self.query(SecretsQuery), visible_secrets(self.access)
        rows = rows.filter(team__name=query.team) if query.team else rows
        return page(rows, ["name", "purpose"], query, lambda found: secret_schemas(found, keyring, self.access))


class SecretDetail(TeamView):
    """One secret."""

    roles = {"GET": Role.OPERATOR, "PUT": Role.ADMIN, "PATCH": Role.ADMIN}
    reauthenticate = frozenset({"PUT", "PATCH", "DELETE"})
    queries = {"DELETE": DeleteSecretQuery}

    @property
    def owner(self) -> int | None:
        """The secret's team; for a PUT, which may make it, that of the new one."""
        if self.request.method != "PUT":
            purpose = self.request.query_params.get("purpose")
            known = Purpose(purpose) if purpose in set(Purpose) else Purpose.PIPELINES
            return self._team_id(get_secret(self.kwargs["name"], known, self.access).team)
        return self._team_id(self._owner_of_put)

    def permission_denied(self, request: Request, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse. A secret that does not exist for a user of single teams is not found, unless a PUT may make it."""
        if request.method == "PUT" or self.access.everywhere is not None:
            View.permission_denied(self, request, *args, **kwargs)
        super().permission_denied(request, *args, **kwargs)

    @staticmethod
    def _team_id(team: Team | None) -> int | None:
        return team.pk if team else None

    @cached_property
    def _owner_of_put(self) -> Team | None:
        """The team of the secret that there is, or of a new one. What is kept elsewhere is of the installation until an
        administrator of all teams says otherwise: hosts read it for every team. Raises NotFound, Forbidden, Invalid."""
        body, name = self.body(SecretBody), self.kwargs["name"]
        present = visible_secrets(self.access).filter(purpose=body.purpose, name=name).first()
        if present is not None and body.team in (None, present.team and present.team.name):
            owner: Team | None = present.team
            return owner
        if backend_of(name) != "store":
            self.require(None)
        return owner_of_new(self, body.team)

    @extend_schema(operation_id="put_secret", request=SecretBody, responses={200: SecretSchema, 201: SecretSchema})
    def put(self, request: Request, name: str) -> Response:
        """Store a value: version 1 of a new secret, or the next version. A new secret of pipelines says which pipelines
        may use it, and where it may go. A run takes it at its next start."""
        body = self.body(SecretBody)
        wanted = secrets.Wanted(body.purpose, body.pipelines, body.destinations, self._owner_of_put)
        if problem := _value_problem(name, body):
            raise Invalid(f"{name} was not stored: {problem.message}", code="secret_invalid", findings=[problem])
        if body.value is None:
            secret, created = secrets.declare(name=name, actor=self.actor, wanted=wanted)
        else:
            value = body.value.get_secret_value()
            secret, created = secrets.put(name=name, value=value, keyring=_opened(), actor=self.actor, wanted=wanted)
        (view,) = secret_schemas([secret], opened_if_possible(), self.access)
        return answer(view, 201 if created else 200)

    @extend_schema(operation_id="bind_secret", request=SecretBindingBody, responses=SecretSchema)
    def patch(self, request: Request, name: str) -> Response:
        """Change which pipelines may use a secret, and where it may go; a list that is left out stays as it is.
        Administrators of all teams let a team have a secret of the installation."""
        body, owner = self.body(SecretBindingBody), get_secret(name, Purpose.PIPELINES, self.access).team
        wanted = secrets.Wanted(pipelines=body.pipelines, destinations=body.destinations, team=owner)
        to = get_team(body.team, self.access) if body.team else None
        if to is not None:
            self.require(None)
        bound = secrets.bind(name=name, wanted=wanted, to=to, actor=self.actor)
        (view,) = secret_schemas([bound], opened_if_possible(), self.access)
        return answer(view)

    @extend_schema(operation_id="delete_secret", responses={204: None})
    def delete(self, request: Request, name: str) -> Response:
        """Delete a secret for ever. 409 names what refers to it, unless `force`. Administrators of all teams delete the
        binding of what is kept elsewhere."""
        query = self.query(DeleteSecretQuery)
        if backend_of(name) != "store":
            self.require(None)
        owner = get_secret(name, query.purpose, self.access).team
        secrets.delete(name=name, force=query.force, purpose=query.purpose, team=owner, actor=self.actor)
        return Response(status=204)


class SecretRotation(View):
    """The exchange of keys."""

    scope = INSTALLATION
    roles = {"POST": Role.ADMIN}
    reauthenticate = frozenset({"POST"})

    @extend_schema(operation_id="rotate_secrets", request=ActionBody, responses=RotationSchema)
    @idempotent
    def post(self, request: Request) -> Response:
        """Encrypt every secret anew under the current key; the values stay. `unreadable`: those that no key reads."""
        self.body(ActionBody)
        done = secrets.rotate(keyring=_opened(), actor=self.actor)
        return answer(RotationSchema(rotated=done.rotated, unreadable=done.unreadable))
