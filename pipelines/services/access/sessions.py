"""Sessions of the page: how they begin, how long they last, and when their user was last seen to be who it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY, login
from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.models import Session
from django.db import transaction
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare

from pipelines.foundation import clock

ACTION = "session.login"
AGAIN = "session.reauthenticated"
REFUSED = "refused"
PASSWORD = "password"  # noqa: S105 - a way to log in
PROVIDER = "oidc"

BEGAN = "began"
SEEN = "seen"
PROVEN = "proven"
METHOD = "method"
ENROL = "enrol"
PROBLEM = "problem"
WAITING = "waiting"
PROBLEM_SECONDS = 600
WAITING_SECONDS = 300
NOTED_EVERY = 60.0
"""Seconds between two writes of when the user was last at it."""


def begin(request: HttpRequest, user: User, method: str, *, proven: float | None = None) -> None:
    """Begin a session under a new key, with nothing of the one before, and forget those of others that are over.
    `proven`: when the user last showed to be who it is, unless that was now."""
    request.session.flush()
    login(request, user)
    now = clock.now()
    at = now.timestamp()
    request.session.update({BEGAN: at, SEEN: at, PROVEN: at if proven is None else min(proven, at), METHOD: method})
    Session.objects.filter(expire_date__lt=now).delete()


def keep(session: SessionBase, *, by_user: bool) -> bool:
    """Whether the session lasts; `by_user`: its user is at it. A session from before an update begins now."""
    now = clock.now().timestamp()
    if is_over(session):
        return False
    if BEGAN not in session or (by_user and now - session.get(SEEN, 0.0) >= NOTED_EVERY):
        _note(session, now)
    return True


def is_over(content: SessionBase | Mapping[str, Any]) -> bool:
    """Whether a session with this content has lasted its time, or its user has been away too long."""
    now = clock.now().timestamp()
    began, seen = content.get(BEGAN, now), content.get(SEEN, now)
    limits = settings.HEADGATE
    return bool(now >= began + limits.session_lifetime_seconds or now >= seen + limits.session_idle_seconds)


def is_proven(session: SessionBase) -> bool:
    """Whether its user has logged in, or has done so again, lately enough for what is dangerous."""
    return bool(clock.now().timestamp() < session.get(PROVEN, 0.0) + settings.HEADGATE.reauth_seconds)


def note_proof(session: SessionBase) -> None:
    """Its user has just shown again to be who it is; the key changes, as at a log-in."""
    session.cycle_key()
    session[PROVEN] = clock.now().timestamp()


def wait_for_code(request: HttpRequest, user: User) -> None:
    """Note that this browser has the user's password right, and nothing more."""
    request.session.flush()
    until = clock.now().timestamp() + WAITING_SECONDS
    request.session[WAITING] = {"user": user.pk, "hash": user.get_session_auth_hash(), "until": until}
    request.session.set_expiry(WAITING_SECONDS)


def waiting_user(session: SessionBase) -> User | None:
    """Whose code the session waits for, unless it has waited too long or the password has changed meanwhile."""
    waiting = session.get(WAITING)
    if waiting is None or clock.now().timestamp() > waiting["until"]:
        return None
    user = User.objects.filter(pk=waiting["user"], is_active=True).first()
    return user if user and constant_time_compare(waiting["hash"], user.get_session_auth_hash()) else None


def leave_problem(session: SessionBase, problem: Mapping[str, Any]) -> None:
    """Keep why a sign-in failed until the page asks."""
    session[PROBLEM] = {name: problem[name] for name in ("code", "detail", "hint")}
    if BEGAN not in session:
        session.set_expiry(PROBLEM_SECONDS)


def take_problem(session: SessionBase) -> dict[str, str] | None:
    """What was left, once."""
    problem: dict[str, str] | None = session.pop(PROBLEM, None) if PROBLEM in session else None
    return problem


@transaction.atomic
def _note(session: SessionBase, now: float) -> None:
    """Write when the user was seen, and nothing else: another request may be writing to the same session."""
    row = Session.objects.select_for_update().filter(session_key=session.session_key).first()
    if row is not None:
        content = {BEGAN: now} | row.get_decoded() | {SEEN: now}
        Session.objects.filter(pk=row.pk).update(session_data=Session.objects.encode(content))


def end_all(user: User) -> None:
    """End every session of a user."""
    mine = [
        each.session_key
        for each in Session.objects.filter(expire_date__gte=clock.now()).iterator()
        if each.get_decoded().get(SESSION_KEY) == str(user.pk)
    ]
    Session.objects.filter(session_key__in=mine).delete()
