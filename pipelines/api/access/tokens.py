"""Tokens: everyone's own, and for administrators those of others."""

from __future__ import annotations

from datetime import timedelta
from typing import cast

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import View, answer
from pipelines.api.http.paging import Page, page
from pipelines.api.http.sign_in_requests import TokenBody, TokensQuery
from pipelines.domain.access.scopes import Scope
from pipelines.domain.base.findings import Finding
from pipelines.domain.base.roles import Role
from pipelines.foundation.errors import Forbidden, Invalid
from pipelines.models import AccessToken
from pipelines.selectors.access.accounts import (
    MadeTokenSchema,
    TokenSchema,
    made_token_schema,
    may_be_given_tokens,
    token_schemas,
)
from pipelines.selectors.access.teams import get_team
from pipelines.services.access import access, tokens


class TokenView(View):
    """What the caller has to do with tokens."""

    @property
    def user(self) -> User:
        """Who asks."""
        return cast(User, self.request.user)

    def visible(self) -> QuerySet[AccessToken]:
        """The caller's tokens; all of them for an administrator."""
        rows: QuerySet[AccessToken] = AccessToken.objects.select_related("user", "team")
        return rows if self.is_for_all else rows.filter(user=self.user)

    @property
    def is_for_all(self) -> bool:
        """Whether the caller is an administrator of every team, whose users are those of the installation."""
        return self.access.everywhere == Role.ADMIN


class TokenList(TokenView):
    """Tokens, newest first."""

    roles = {"POST": Role.VIEWER}
    reauthenticate = frozenset({"POST"})
    queries = {"GET": TokensQuery}

    @extend_schema(operation_id="list_tokens", responses=Page[TokenSchema])
    def get(self, request: Request) -> Response:
        """List your tokens; administrators list those of another `user`, or of `all`. Never a text."""
        query = self.query(TokensQuery)
        rows = self.visible()
        if query.user is not None or not query.all:
            rows = rows.filter(user__username=query.user or self.user.username)
        return page(rows, ["-created", "-token_key"], query, token_schemas)

    @extend_schema(operation_id="create_token", request=TokenBody, responses={201: MadeTokenSchema})
    def post(self, request: Request) -> Response:
        """Make a token. The answer has its text, this once. A token makes none that may more, or holds longer, than
        itself."""
        body = self.body(TokenBody)
        most = settings.HEADGATE.token_days
        if body.days > most:
            finding = Finding(path="days", code="too_long", message=f"Tokens hold at most {most} days.")
            raise Invalid("The token would hold too long.", code="token_too_long", findings=[finding])
        made = tokens.create(
            user=self._owner(body.user),
            name=body.name,
            expires=timedelta(days=body.days),
            scope=Scope(
                Role.named(body.role_cap) if body.role_cap else None,
                body.read_only,
                get_team(body.team, self.access).pk if body.team else None,
                body.sees_records,
            ),
            by=request.auth if isinstance(request.auth, AccessToken) else None,
            actor=self.actor,
        )
        return answer(made_token_schema(made.token, made.text), 201)

    def _owner(self, username: str | None) -> User:
        """Whose the token becomes. Raises Forbidden, and NotFound."""
        if username is None or username == self.user.username:
            return self.user
        if not self.is_for_all:
            raise Forbidden("Only administrators make tokens of others.", hint="Leave out `user`.")
        user = access.find_user(username)
        if not may_be_given_tokens(user):
            raise Forbidden(
                f"{username} logs in, and so makes tokens alone: who holds one acts in that name.",
                code="token_of_a_person",
                hint="Make a user without a password for programs.",
            )
        return user


class TokenDetail(TokenView):
    """One token."""

    roles = {"DELETE": Role.VIEWER}
    while_read_only = frozenset({"DELETE"})

    @extend_schema(operation_id="revoke_token", responses={204: None})
    def delete(self, request: Request, token_key: str) -> Response:
        """Revoke a token for ever; a stream that it opened ends within seconds."""
        tokens.revoke(token_key=token_key, tokens=self.visible(), actor=self.actor)
        return Response(status=204)
