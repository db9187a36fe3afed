"""Users, for administrators."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.decorators import method_decorator
from django.views.decorators.debug import sensitive_variables
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import View, answer
from pipelines.api.http.paging import Page, PageQuery, page
from pipelines.api.http.permissions import CLOSED
from pipelines.api.http.sign_in_requests import UserBody, UserChangeBody
from pipelines.domain.base.findings import Finding
from pipelines.domain.base.roles import Role
from pipelines.foundation.errors import Conflict, Invalid
from pipelines.selectors.access.accounts import UserSchema, user_schemas, users
from pipelines.selectors.access.teams import get_team
from pipelines.services.access import access, teams


class UserView(View):
    """Users are those of the whole installation."""

    scope = CLOSED
    roles = {"GET": Role.ADMIN, "POST": Role.ADMIN, "PATCH": Role.ADMIN}

    def shown(self, user: User, status: int = 200) -> Response:
        """One user as the answer."""
        (schema,) = user_schemas(list(users().filter(pk=user.pk)))
        return answer(schema, status)


class UserList(UserView):
    """All users."""

    reauthenticate = frozenset({"POST"})
    queries = {"GET": PageQuery}

    @extend_schema(operation_id="list_users", responses=Page[UserSchema])
    def get(self, request: Request) -> Response:
        """List users by name, with how they log in and how many tokens they have."""
        return page(users(), ["username"], self.query(PageQuery), user_schemas)

    @extend_schema(operation_id="create_user", request=UserBody, responses={201: UserSchema})
    @method_decorator(sensitive_variables())
    def post(self, request: Request) -> Response:
        """Make a user."""
        body = self.body(UserBody)
        if User.objects.filter(username__iexact=body.username).exists():
            raise Conflict(f"There is a user {body.username} already.", code="username_taken")
        password = body.password.get_secret_value() if body.password else None
        try:
            user = access.create_user(
                username=body.username,
                password=password,
                role=Role.named(body.role) if body.role else None,
                team=get_team(body.team, self.access) if body.team else None,
                actor=self.actor,
            )
        except ValidationError as error:
            findings = [Finding(path="password", code="weak_password", message=text) for text in error.messages]
            raise Invalid("The password is too weak.", code="weak_password", findings=findings) from None
        return self.shown(user, 201)


class UserDetail(UserView):
    """One user."""

    reauthenticate = frozenset({"PATCH"})

    @extend_schema(operation_id="get_user", responses=UserSchema)
    def get(self, request: Request, username: str) -> Response:
        """Show a user."""
        return self.shown(access.find_user(username))

    @extend_schema(operation_id="change_user", request=UserChangeBody, responses=UserSchema)
    @transaction.atomic
    def patch(self, request: Request, username: str) -> Response:
        """Give a user another role in every team, disable or enable it. Disabling ends its sessions and tokens for
        good."""
        body = self.body(UserChangeBody)
        user = access.find_user(username)
        if body.role is not None:
            if user == request.user:
                raise Conflict("You cannot change your own role.", code="own_user", hint="Ask another administrator.")
            teams.bind(team=None, user=user, role=Role.named(body.role), actor=self.actor)
        if body.active is not None:
            change = access.enable if body.active else access.disable
            user = change(username=username, actor=self.actor)
        return self.shown(user)
