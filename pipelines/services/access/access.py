"""Users, roles and tokens."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import Group, User
from django.contrib.auth.password_validation import validate_password
from django.db import transaction

from pipelines.domain.base.roles import ROLE_NAMES, Role
from pipelines.models.access import AccessToken


def create_role_groups(**_: Any) -> None:
    """See to it that the group of every role exists; twice is harmless."""
    for name in ROLE_NAMES:
        Group.objects.get_or_create(name=name)


@transaction.atomic
def set_role(*, user: User, role: Role) -> None:
    """Give the user this role and no other."""
    user.groups.remove(*Group.objects.filter(name__in=ROLE_NAMES))
    user.groups.add(Group.objects.get(name=role.word))


@transaction.atomic
def create_user(*, username: str, password: str | None, role: Role) -> User:
    """Create a user, or change the password and role of an existing one; raises ValidationError for a weak password.

    Without a password the user can hold tokens and cannot log in.
    """
    user, created = User.objects.get_or_create(username=username)
    if password is not None:
        validate_password(password, user)
        user.set_password(password)
    elif created:
        user.set_unusable_password()
    user.save()
    set_role(user=user, role=role)
    return user


def create_token(*, user: User, name: str, expires: timedelta | None) -> str:
    """Create a token; this is the only time that its text is known."""
    _, text = AccessToken.objects.create(user=user, name=name, expiry=expires)
    return str(text)
