"""Requests with the session of the page, which ends when its user is away."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth import logout
from rest_framework import authentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from pipelines.foundation.errors import Forbidden
from pipelines.services.access import sessions

IDLE = "X-Headgate-Idle"
"""A page sends it with what it asks by itself while its user neither types nor points."""
STREAM = "text/event-stream"


class SessionAuthentication(authentication.SessionAuthentication):
    """Django's session while it lasts; whoever asks by one that is over is anonymous."""

    def authenticate(self, request: Request) -> Any:
        """The user of the session. Raises PermissionDenied for a write without the CSRF token, and Forbidden before a
        second factor is set up that the user needs."""
        found = super().authenticate(request)
        if found is None:
            return None
        by_user = IDLE not in request.headers and STREAM not in request.headers.get("Accept", "")
        if not sessions.keep(request._request.session, by_user=by_user):
            logout(request._request)
            return None
        if sessions.ENROL in request._request.session and not getattr(_view(request), "before_enrolment", False):
            raise Forbidden(
                "Your log-in needs a second factor, which you have not set up.",
                code="enrolment_required",
                hint="Open the dashboard: it asks you to set one up.",
            )
        return found


class OfSession(BasePermission):
    """What users do about their own log-in, whatever their role: by a session, since a token that was stolen must not
    lock its owner out."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Raises Forbidden for a token."""
        if request.user.is_authenticated and not by_session(request):
            raise Forbidden(
                "Log-ins are not changed with a token.", code="session_required", hint="Log in to the dashboard."
            )
        return bool(request.user.is_authenticated)


class ReauthenticationRequired(Forbidden):
    """The act is dangerous, and the user of the session was last seen to be who it is too long ago."""

    code = "reauthentication_required"
    title = "Log in again"


def require_proof(request: Request) -> None:
    """Refuse what is dangerous to a session whose user may have left it. Raises ReauthenticationRequired."""
    if by_session(request) and not sessions.is_proven(request._request.session):
        minutes = settings.HEADGATE.reauth_seconds // 60
        raise ReauthenticationRequired(
            f"This needs a log-in that is at most {minutes} minutes old.",
            hint="Confirm that it is you: POST /api/v1/session/proof, or log in again.",
        )


def by_session(request: Request) -> bool:
    """Whether the request came with a session and not with a token."""
    return isinstance(request.successful_authenticator, SessionAuthentication)


def _view(request: Request) -> Any:
    return (request.parser_context or {}).get("view")
