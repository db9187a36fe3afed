"""Logging in, with a limit on guessing."""

from __future__ import annotations

from django.contrib.auth import authenticate, login
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.http import HttpRequest

from pipelines.foundation.errors import HeadgateError
from pipelines.services.access import attempts
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor

ACTION = "session.login"
REFUSED = "refused"


class BadCredentials(HeadgateError):
    """User name or password is wrong; which one is not said."""

    status = 401
    code = "bad_credentials"
    title = "Not logged in"


def log_in(*, request: HttpRequest, password: str, actor: Actor) -> AbstractBaseUser:
    """Begin a session of `actor`. Raises BadCredentials, or TooManyRequests after too many refused attempts."""
    attempts.admit(actor)
    with attempts.turn_to_hash():
        user = authenticate(request, username=actor.name, password=password)
    if user is None:
        audit.record(actor=actor, action=ACTION, outcome=REFUSED)
        raise BadCredentials("User name or password is wrong.", hint="`headgate create-user` sets a password.")
    with transaction.atomic():
        login(request, user)
        attempts.forgive(actor)
        audit.record(actor=actor, action=ACTION)
    return user
