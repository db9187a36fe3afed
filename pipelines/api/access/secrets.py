"""The secret store: names and facts. A value comes in and never goes out."""

from __future__ import annotations

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import View, answer, idempotent
from pipelines.api.http.paging import Page, PageQuery, page
from pipelines.api.http.requests import ActionBody, ForceQuery, SecretBody
from pipelines.domain.base.roles import Role
from pipelines.foundation.errors import Conflict
from pipelines.foundation.keyring import Keyring, StoreClosed
from pipelines.models import Secret
from pipelines.selectors.access.schemas import RotationSchema, SecretSchema
from pipelines.selectors.access.secrets import secret_schemas
from pipelines.services.access import secrets


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


class SecretList(View):
    """All secrets."""

    roles = {"GET": Role.OPERATOR}
    queries = {"GET": PageQuery}

    @extend_schema(operation_id="list_secrets", responses=Page[SecretSchema])
    def get(self, request: Request) -> Response:
        """List secrets by name, with the pipelines that refer to them; never a value."""
        keyring = opened_if_possible()
        return page(Secret.objects.all(), ["name"], self.query(PageQuery), lambda rows: secret_schemas(rows, keyring))


class SecretDetail(View):
    """One secret."""

    roles = {"PUT": Role.ADMIN}
    reauthenticate = frozenset({"PUT", "DELETE"})
    queries = {"DELETE": ForceQuery}

    @extend_schema(operation_id="put_secret", request=SecretBody, responses={200: SecretSchema, 201: SecretSchema})
    def put(self, request: Request, name: str) -> Response:
        """Store a value: version 1 of a new secret, or the next version. A run takes it at its next start."""
        value = self.body(SecretBody).value.get_secret_value()
        keyring = _opened()
        secret, created = secrets.put(name=name, value=value, keyring=keyring, actor=self.actor)
        (view,) = secret_schemas([secret], keyring)
        return answer(view, 201 if created else 200)

    @extend_schema(operation_id="delete_secret", responses={204: None})
    def delete(self, request: Request, name: str) -> Response:
        """Delete a secret for ever. 409 names the pipelines and receivers that refer to it, unless `force`."""
        secrets.delete(name=name, force=self.query(ForceQuery).force, actor=self.actor)
        return Response(status=204)


class SecretRotation(View):
    """The exchange of keys."""

    roles = {"POST": Role.ADMIN}
    reauthenticate = frozenset({"POST"})

    @extend_schema(operation_id="rotate_secrets", request=ActionBody, responses=RotationSchema)
    @idempotent
    def post(self, request: Request) -> Response:
        """Encrypt every secret anew under the current key; the values stay. `unreadable`: those that no key reads."""
        self.body(ActionBody)
        done = secrets.rotate(keyring=_opened(), actor=self.actor)
        return answer(RotationSchema(rotated=done.rotated, unreadable=done.unreadable))
