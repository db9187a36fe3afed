"""Users, their roles and their passwords."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.db import transaction

from pipelines.domain.base.roles import Role
from pipelines.foundation.errors import Conflict, NotFound
from pipelines.models import Team
from pipelines.services.access import sessions, teams, tokens
from pipelines.services.access.tokens import SYSTEM
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor


@transaction.atomic
def create_user(
    *,
    username: str,
    password: str | None,
    role: Role | None,
    team: Team | None = None,
    keep_tokens: bool = False,
    actor: Actor = SYSTEM,
) -> User:
    """Create a user, or change the password and role of an existing one; raises ValidationError for a weak password.
    The role is in a team, or in all of them.

    Without a password the user can hold tokens and cannot log in. A changed password ends the user's tokens, unless
    `keep_tokens`, and sessions.
    """
    user, created = User.objects.get_or_create(username=username)
    if password is not None:
        validate_password(password, user)
        user.set_password(password)
    elif created:
        user.set_unusable_password()
    user.save()
    if created:
        audit.record(actor=actor, action="user.created", after={"user": username, "password": password is not None})
    elif password is not None:
        _note_password(user, keep_tokens, actor)
    if role is not None:
        teams.bind(team=team, user=user, role=role, actor=actor)
    return user


@transaction.atomic
def change_password(*, user: User, password: str, keep_tokens: bool, actor: Actor) -> None:
    """Give the user another password; raises ValidationError for a weak one. Sessions end by it, and tokens unless
    they are to be kept."""
    validate_password(password, user)
    user.set_password(password)
    user.save(update_fields=["password"])
    _note_password(user, keep_tokens, actor)


@transaction.atomic
def enable(*, username: str, actor: Actor) -> User:
    """Let a user in again. Raises NotFound."""
    user = _held(username)
    if not user.is_active:
        User.objects.filter(pk=user.pk).update(is_active=True)
        audit.record(actor=actor, action="user.enabled", after={"user": username})
    return User.objects.get(pk=user.pk)


@transaction.atomic
def disable(*, username: str, actor: Actor) -> User:
    """Let a user in no longer: sessions and tokens end for good, also if the user is enabled again. Raises NotFound,
    and Conflict for the user who asks, and for the last administrator of all teams."""
    user = _held(username)
    if username == actor.name:
        raise Conflict("You cannot disable yourself.", code="own_user", hint="Ask another administrator.")
    if user.is_active:
        with teams.an_administrator_left():
            User.objects.filter(pk=user.pk).update(is_active=False)
        after = {"user": username, "tokens_revoked": tokens.revoke_all(user=user, actor=actor)}
        sessions.end_all(user)
        audit.record(actor=actor, action="user.disabled", after=after)
    return User.objects.get(pk=user.pk)


def create_token(*, user: User, name: str, expires: timedelta | None) -> str:
    """Make a token with everything that its user may; this is the only time that its text is known."""
    return tokens.create(user=user, name=name, expires=expires).text


def find_user(username: str) -> User:
    """The user of this name; raises NotFound."""
    user = User.objects.filter(username=username).first()
    if user is None:
        raise NotFound(f"There is no user {username}.", code="user_not_found", hint="GET /api/v1/users lists them.")
    return user


def _held(username: str) -> User:
    """The user, whose row is held until the transaction ends."""
    return User.objects.select_for_update().get(pk=find_user(username).pk)


def _note_password(user: User, keep_tokens: bool, actor: Actor) -> None:
    revoked = 0 if keep_tokens else tokens.revoke_all(user=user, actor=actor)
    audit.record(actor=actor, action="user.password_changed", after={"user": user.username, "tokens_revoked": revoked})
