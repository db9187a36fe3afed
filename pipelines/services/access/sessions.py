"""Sessions of the page: how they begin, and how long they last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth import authenticate, login
from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.models import Session
from django.db import transaction
from django.http import HttpRequest

from pipelines.foundation import clock
from pipelines.foundation.errors import HeadgateError
from pipelines.services.access import attempts
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor

ACTION = "session.login"
REFUSED = "refused"

BEGAN = "began"
SEEN = "seen"
PROBLEM = "problem"
PROBLEM_SECONDS = 600
NOTED_EVERY = 60.0
"""Seconds between two writes of when the user was last at it."""


class BadCredentials(HeadgateError):
    """User name or password is wrong; which one is not said."""

    status = 401
    code = "bad_credentials"
    title = "Not logged in"


def log_in(*, request: HttpRequest, password: str, actor: Actor) -> User:
    """Begin a session of `actor`. Raises BadCredentials, or TooManyRequests after too many refused attempts."""
    attempts.admit(actor)
    with attempts.turn_to_hash():
        user = authenticate(request, username=actor.name, password=password)
    if user is None:
        audit.record(actor=actor, action=ACTION, outcome=REFUSED)
        raise BadCredentials("User name or password is wrong.", hint="`headgate create-user` sets a password.")
    with transaction.atomic():
        begin(request, user)
        attempts.forgive(actor)
        audit.record(actor=actor, action=ACTION, after={"method": "password"})
    return user


def begin(request: HttpRequest, user: User) -> None:
    """Begin a session under a new key, with nothing of the one before, and forget those of others that are over."""
    request.session.flush()
    login(request, user)
    now = clock.now()
    request.session[BEGAN] = request.session[SEEN] = now.timestamp()
    Session.objects.filter(expire_date__lt=now).delete()


def keep(session: SessionBase, *, by_user: bool) -> bool:
    """Whether the session lasts; `by_user`: its user is at it. A session from before an update begins now."""
    now = clock.now().timestamp()
    if is_over(session):
        return False
    if BEGAN not in session or (by_user and now - session.get(SEEN, 0.0) >= NOTED_EVERY):
        _note(session, now)
    return True


def leave_problem(session: SessionBase, problem: Mapping[str, Any]) -> None:
    """Keep why a sign-in failed until the page asks."""
    session[PROBLEM] = {name: problem[name] for name in ("code", "detail", "hint")}
    if BEGAN not in session:
        session.set_expiry(PROBLEM_SECONDS)


def take_problem(session: SessionBase) -> dict[str, str] | None:
    """What was left, once."""
    problem: dict[str, str] | None = session.pop(PROBLEM, None) if PROBLEM in session else None
    return problem


def is_over(content: SessionBase | Mapping[str, Any]) -> bool:
    """Whether a session with this content has lasted its time, or its user has been away too long."""
    now = clock.now().timestamp()
    began, seen = content.get(BEGAN, now), content.get(SEEN, now)
    limits = settings.HEADGATE
    return bool(now >= began + limits.session_lifetime_seconds or now >= seen + limits.session_idle_seconds)


@transaction.atomic
def _note(session: SessionBase, now: float) -> None:
    """Write when the user was seen, and nothing else: another request may be writing to the same session."""
    row = Session.objects.select_for_update().filter(session_key=session.session_key).first()
    if row is not None:
        content = {BEGAN: now} | row.get_decoded() | {SEEN: now}
        Session.objects.filter(pk=row.pk).update(session_data=Session.objects.encode(content))
