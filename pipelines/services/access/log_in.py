"""Logging in with a password, and with a code where the user has a second factor; and proving oneself again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth import authenticate, update_session_auth_hash
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest

from pipelines.domain.base.findings import Finding
from pipelines.foundation.errors import HeadgateError, Invalid
from pipelines.services.access import access, attempts, passkeys, second_factor, sessions
from pipelines.services.access.sessions import ACTION, AGAIN, REFUSED
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor


@dataclass(frozen=True)
class Given:
    """What a user gives beside the password: a code, or what a passkey has signed."""

    code: str = ""
    passkey: Mapping[str, Any] | None = None


class BadCredentials(HeadgateError):
    """User name, password or code is wrong; of name and password it is not said which."""

    status = 401
    code = "bad_credentials"
    title = "Not logged in"


def log_in(*, request: HttpRequest, password: str, actor: Actor) -> User | None:
    """Begin a session of `actor`; None where it waits for the code of a second factor. Raises BadCredentials, or
    TooManyRequests after too many refused attempts."""
    user = _with_password(request, password, actor, ACTION)
    if second_factor.is_enrolled(user):  # the attempt stays counted: a password that is known must not buy more codes
        sessions.wait_for_code(request, user)
        return None
    with transaction.atomic():
        sessions.begin(request, user, sessions.PASSWORD)
        attempts.forgive(actor)
        audit.record(actor=actor, action=ACTION, after={"method": "password"})
    return user


def give_code(*, request: HttpRequest, given: Given, address: str, request_id: str) -> User:
    """Begin the session that waits for a second factor. Raises BadCredentials, or TooManyRequests."""
    user = sessions.waiting_user(request.session)
    if user is None:
        raise BadCredentials(
            "No log-in waits for a code.", code="no_log_in", hint="Log in again with user name and password."
        )
    actor = Actor(user.username, address, request_id)
    kind = _with_second_factor(request, user, given, actor, ACTION)
    with transaction.atomic():
        sessions.begin(request, user, sessions.PASSWORD)
        attempts.forgive(actor, of=2)
        audit.record(actor=actor, action=ACTION, after={"method": f"password and {kind}"})
    return user


def prove_again(*, request: HttpRequest, password: str, given: Given, actor: Actor) -> None:
    """Note that the user of the session has just shown password and the second factor, if any. Raises BadCredentials,
    or TooManyRequests."""
    user = _with_password(request, password, actor, AGAIN)
    kind = None
    if second_factor.is_enrolled(user):
        kind = _with_second_factor(request, user, given, actor, AGAIN)
    with transaction.atomic():
        sessions.note_proof(request.session)
        attempts.forgive(actor, of=2 if kind else 1)
        audit.record(actor=actor, action=AGAIN, after={"method": f"password and {kind}" if kind else "password"})


def change_password(*, request: HttpRequest, present: str, wanted: str, keep_tokens: bool, actor: Actor) -> None:
    """Give the user of the session another password; this session alone goes on. Raises BadCredentials for a wrong
    present one, TooManyRequests, and Invalid where the new one is weak."""
    user = _with_password(request, present, actor, "user.password_changed")
    attempts.forgive(actor)
    try:
        access.change_password(user=user, password=wanted, keep_tokens=keep_tokens, actor=actor)
    except ValidationError as error:
        findings = [Finding(path="wanted", code="weak_password", message=text) for text in error.messages]
        raise Invalid("The new password is too weak.", code="weak_password", findings=findings) from None
    update_session_auth_hash(request, user)


def _with_password(request: HttpRequest, password: str, actor: Actor, action: str) -> User:
    attempts.admit(actor)
    with attempts.turn_to_hash():
        user = authenticate(request, username=actor.name, password=password)
    if not isinstance(user, User):
        audit.record(actor=actor, action=action, outcome=REFUSED)
        raise BadCredentials("User name or password is wrong.", hint="`headgate create-user` sets a password.")
    return user


def _with_second_factor(request: HttpRequest, user: User, given: Given, actor: Actor, action: str) -> str:
    attempts.admit(actor)
    kind = _kind_of(request, user, given)
    if kind is None:
        audit.record(actor=actor, action=action, after={"reason": "bad_code"}, outcome=REFUSED)
        raise BadCredentials(
            "The code is wrong, or was used before.", code="bad_code", hint="Wait for the next code of the application."
        )
    return kind


def _kind_of(request: HttpRequest, user: User, given: Given) -> str | None:
    """What the user has shown, or None where it is wrong."""
    if given.passkey is None:
        return second_factor.use(user=user, code=given.code)
    is_right = passkeys.is_answer(user=user, session=request.session, credential=given.passkey)
    return "passkey" if is_right else None
