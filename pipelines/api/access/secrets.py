"""The secret store: names and facts. A value comes in and never goes out."""

from __future__ import annotations

from typing import Annotated

from django.conf import settings
from drf_spectacular.utils import extend_schema
from pydantic import Field, SecretStr, StringConstraints
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import View, answer, idempotent
from pipelines.api.http.paging import Page, PageQuery, page
from pipelines.api.http.permissions import INSTALLATION
from pipelines.api.http.requests import ActionBody, ForceQuery, Shape
from pipelines.domain.access.secret_bindings import Purpose
from pipelines.domain.access.secrets import backend_of
from pipelines.domain.base.findings import Finding
from pipelines.domain.base.roles import Role
from pipelines.domain.definitions.parts.client_options import LONGEST_VALUE
from pipelines.foundation.errors import Conflict, Invalid
from pipelines.foundation.keyring import Keyring, StoreClosed
from pipelines.selectors.access.schemas import RotationSchema, SecretSchema
from pipelines.selectors.access.secrets import secret_schemas
from pipelines.selectors.access.secrets import secrets as visible_secrets
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


class SecretBindingBody(Shape):
    """What a secret of pipelines is bound to."""

    pipelines: SecretUsers | None = None
    destinations: SecretDestinations | None = None


class SecretBody(Shape):
    """A value to keep as a secret. What is kept elsewhere (`vault:`, `env:`, `file:`) is bound without one."""

    value: SecretStr | None = Field(default=None, min_length=1, max_length=LONGEST_VALUE)
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
    queries = {"GET": PageQuery}

    @extend_schema(operation_id="list_secrets", responses=Page[SecretSchema])
    def get(self, request: Request) -> Response:
        """List secrets by name, with what they are bound to and what refers to them; never a value."""
        keyring = opened_if_possible()
        query, rows = self.query(PageQuery), visible_secrets(self.access)
        return page(rows, ["name", "purpose"], query, lambda found: secret_schemas(found, keyring, self.access))


class SecretDetail(View):
    """One secret."""

    scope = INSTALLATION
    roles = {"PUT": Role.ADMIN, "PATCH": Role.ADMIN}
    reauthenticate = frozenset({"PUT", "PATCH", "DELETE"})
    queries = {"DELETE": DeleteSecretQuery}

    @extend_schema(operation_id="put_secret", request=SecretBody, responses={200: SecretSchema, 201: SecretSchema})
    def put(self, request: Request, name: str) -> Response:
        """Store a value: version 1 of a new secret, or the next version. A new secret of pipelines says which pipelines
        may use it, and where it may go. A run takes it at its next start."""
        body = self.body(SecretBody)
        wanted = secrets.Wanted(body.purpose, body.pipelines, body.destinations)
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
        """Change which pipelines may use a secret, and where it may go; a list that is left out stays as it is."""
        body = self.body(SecretBindingBody)
        wanted = secrets.Wanted(pipelines=body.pipelines, destinations=body.destinations)
        bound = secrets.bind(name=name, wanted=wanted, actor=self.actor)
        (view,) = secret_schemas([bound], opened_if_possible(), self.access)
        return answer(view)

    @extend_schema(operation_id="delete_secret", responses={204: None})
    def delete(self, request: Request, name: str) -> Response:
        """Delete a secret for ever. 409 names what refers to it, unless `force`."""
        query = self.query(DeleteSecretQuery)
        secrets.delete(name=name, force=query.force, purpose=query.purpose, actor=self.actor)
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
