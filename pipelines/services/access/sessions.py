"""Logging in, with a limit on guessing. The audit is the memory of refused attempts, so every process knows of them."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth import authenticate, login
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.http import HttpRequest

from pipelines.foundation import clock
from pipelines.foundation.errors import HeadgateError, TooManyRequests
from pipelines.models import AuditRow
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor

WINDOW = timedelta(minutes=5)
ATTEMPTS_PER_USER = 5
ATTEMPTS_PER_ADDRESS = 50
ACTION = "session.login"
REFUSED = "refused"


class BadCredentials(HeadgateError):
    """User name or password is wrong; which one is not said."""

    status = 401
    code = "bad_credentials"
    title = "Not logged in"


def log_in(*, request: HttpRequest, password: str, actor: Actor) -> AbstractBaseUser:
    """Begin a session of `actor`. Raises BadCredentials, or TooManyRequests after too many refused attempts."""
    _refuse_guessing(actor)
    user = authenticate(request, username=actor.name, password=password)
    if user is None:
        audit.record(actor=actor, action=ACTION, outcome=REFUSED)
        raise BadCredentials("User name or password is wrong.", hint="`headgate create-user` sets a password.")
    with transaction.atomic():
        login(request, user)
        audit.record(actor=actor, action=ACTION)
    return user


def _refuse_guessing(actor: Actor) -> None:
    recent = AuditRow.objects.filter(
        at__gte=clock.now() - WINDOW, action=ACTION, outcome=REFUSED, address=actor.address
    )
    if recent.filter(actor=actor.name).count() >= ATTEMPTS_PER_USER or recent.count() >= ATTEMPTS_PER_ADDRESS:
        seconds = int(WINDOW.total_seconds())
        raise TooManyRequests(
            "Too many failed attempts to log in.",
            code="too_many_logins",
            hint=f"Wait {seconds // 60} minutes.",
            retry_after=seconds,
        )
