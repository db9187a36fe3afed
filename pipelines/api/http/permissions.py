"""Who may do what: every view is closed unless the caller's role opens it."""

from __future__ import annotations

from typing import Any

from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from pipelines.domain.access.scopes import UNLIMITED, Scope
from pipelines.domain.access.teams import Access
from pipelines.domain.base.roles import Role
from pipelines.foundation.errors import Forbidden
from pipelines.models import AccessToken
from pipelines.selectors.access.teams import access_of
from pipelines.services.access.tokens import scope_of_token

REQUIRED_ROLES = {
    "GET": Role.VIEWER,
    "OPTIONS": Role.VIEWER,
    "POST": Role.OPERATOR,
    "PATCH": Role.OPERATOR,
    "PUT": Role.OPERATOR,
    "DELETE": Role.ADMIN,
}

INSTALLATION = "installation"
CLOSED = "closed"


def role_of(user: Any) -> Role | None:
    """The highest role of a user in any team; None for anonymous and inactive ones and for users without a role."""
    return access_of(user).highest


def access_by(user: Any, auth: Any) -> Access:
    """What a user may reach with the token that was given, or without one."""
    scope = scope_of_token(auth) if isinstance(auth, AccessToken) else UNLIMITED
    return scope.limit(access_of(user))


def scope_of(request: Request) -> Scope:
    """What the token of the request may do of what its user may; a session may all of it."""
    return scope_of_token(request.auth) if isinstance(request.auth, AccessToken) else UNLIMITED


def needed_role(view: Any, method: str | None) -> Role:
    """The role that a method of a view needs; HEAD needs that of GET, whose headers it answers with."""
    asked = "GET" if method == "HEAD" else str(method)
    needed: Role = getattr(view, "roles", {}).get(asked, REQUIRED_ROLES.get(asked, Role.ADMIN))
    return needed


class RolePermission(BasePermission):
    """The role that a method needs; a view may name others in `roles`.

    The highest role in any team opens the view, which then asks for the role in the team whose object is named. The
    role in every team is what counts where `scope` is INSTALLATION and the method writes, and for every method where it
    is CLOSED. A token has the role of its scope at most, and one that is for reading alone sends what changes nothing:
    safe methods, and those in `reading` of the view.
    """

    message = "Your role does not allow this."

    def has_permission(self, request: Request, view: Any) -> bool:
        """Look the roles up once per request and compare. Raises Forbidden for a write by a token for reading."""
        scope = scope_of(request)
        if scope.read_only and request.method not in {*SAFE_METHODS, *getattr(view, "reading", ())}:
            raise Forbidden("The token is for reading alone.", code="token_read_only", hint="Use another token.")
        access = access_by(request.user, request.auth)
        wanted = getattr(view, "scope", "")
        of_all = wanted == CLOSED or (wanted == INSTALLATION and request.method not in SAFE_METHODS)
        role = access.everywhere if of_all else access.highest
        request.access, request.role = access, role  # type: ignore[attr-defined]
        return role is not None and role >= needed_role(view, request.method)
