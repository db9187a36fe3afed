"""Who may do what: every view is closed unless the caller's role opens it."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from pipelines.domain.access.scopes import UNLIMITED, Scope
from pipelines.domain.base.roles import ROLE_NAMES, Role
from pipelines.foundation.errors import Forbidden
from pipelines.models import AccessToken
from pipelines.services.access.tokens import scope_of_token

REQUIRED_ROLES = {
    "GET": Role.VIEWER,
    "OPTIONS": Role.VIEWER,
    "POST": Role.OPERATOR,
    "PATCH": Role.OPERATOR,
    "PUT": Role.OPERATOR,
    "DELETE": Role.ADMIN,
}


def role_of(user: Any) -> Role | None:
    """The highest role of a user; None for anonymous and inactive ones and for users without a role."""
    if isinstance(user, AnonymousUser) or not isinstance(user, AbstractBaseUser) or not user.is_active:
        return None
    if getattr(user, "is_superuser", False):
        return Role.ADMIN
    names = user.groups.filter(name__in=ROLE_NAMES).values_list("name", flat=True)  # type: ignore[attr-defined]
    return max((Role.named(name) for name in names), default=None)


def scope_of(request: Request) -> Scope:
    """What the token of the request may do of what its user may; a session may all of it."""
    return scope_of_token(request.auth) if isinstance(request.auth, AccessToken) else UNLIMITED


def needed_role(view: Any, method: str | None) -> Role:
    """The role that a method of a view needs; HEAD needs that of GET, whose headers it answers with."""
    asked = "GET" if method == "HEAD" else str(method)
    needed: Role = getattr(view, "roles", {}).get(asked, REQUIRED_ROLES.get(asked, Role.ADMIN))
    return needed


class RolePermission(BasePermission):
    """The role that a method needs; a view may name others in `roles`. A token has that of its scope at most, and one
    that is for reading alone sends what changes nothing: safe methods, and those in `reading` of the view."""

    message = "Your role does not allow this."

    def has_permission(self, request: Request, view: Any) -> bool:
        """Look the role up once per request and compare. Raises Forbidden for a write by a token for reading."""
        scope = scope_of(request)
        if scope.read_only and request.method not in {*SAFE_METHODS, *getattr(view, "reading", ())}:
            raise Forbidden("The token is for reading alone.", code="token_read_only", hint="Use another token.")
        role = scope.capped(role_of(request.user))
        request.role = role  # type: ignore[attr-defined]
        return role is not None and role >= needed_role(view, request.method)
