"""Requests with the session of the page, which ends when its user is away."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import logout
from rest_framework import authentication
from rest_framework.request import Request

from pipelines.services.access import sessions

IDLE = "X-Headgate-Idle"
"""A page sends it with what it asks by itself while its user neither types nor points."""
STREAM = "text/event-stream"


class SessionAuthentication(authentication.SessionAuthentication):
    """Django's session while it lasts; whoever asks by one that is over is anonymous."""

    def authenticate(self, request: Request) -> Any:
        """The user of the session. Raises PermissionDenied for a write without the CSRF token."""
        found = super().authenticate(request)
        if found is None:
            return None
        by_user = IDLE not in request.headers and STREAM not in request.headers.get("Accept", "")
        if not sessions.keep(request._request.session, by_user=by_user):
            logout(request._request)
            return None
        return found
