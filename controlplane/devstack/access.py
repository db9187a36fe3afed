"""The administrator of a new installation, and the stack's own tokens."""

from __future__ import annotations

import secrets
from datetime import timedelta

from django.contrib.auth.models import User

from pipelines.domain.base.roles import Role
from pipelines.services.access import access

ADMIN = "admin"
TOKEN_LIFETIME = timedelta(hours=1)


def ensure_admin() -> str | None:
    """Create the administrator where there is none. Returns the password, which is nowhere else, if it did."""
    if User.objects.filter(username=ADMIN).exists():
        return None
    password = secrets.token_urlsafe(12)
    access.create_user(username=ADMIN, password=password, role=Role.ADMIN)
    return password


def fresh_token() -> str:
    """A short-lived token of the administrator."""
    return access.create_token(user=User.objects.get(username=ADMIN), name="headgate up", expires=TOKEN_LIFETIME)
