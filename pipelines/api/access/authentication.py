"""Tokens of requests: known by their hash, until they expire, and noted where they were last used."""

from __future__ import annotations

from typing import Any

from django.db import Error
from knox import auth
from knox.crypto import hash_token
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from pipelines.foundation import clock
from pipelines.models import AccessToken
from pipelines.services.access import tokens


class TokenAuthentication(auth.TokenAuthentication):  # type: ignore[misc]
    """`Authorization: Token <token>`. One that has expired stays in the list until it is removed."""

    def authenticate(self, request: Request) -> Any:
        """The user and the token. Raises AuthenticationFailed."""
        found = super().authenticate(request)
        if found is not None:
            _note_use(found[1], str(request.META.get("REMOTE_ADDR") or ""))
        return found

    def authenticate_credentials(self, token: bytes) -> Any:
        """Find the token by its hash. Raises AuthenticationFailed."""
        try:
            digest = hash_token(token.decode("utf-8"))
        except UnicodeDecodeError:
            raise AuthenticationFailed("Invalid token.") from None
        found = AccessToken.objects.select_related("user").filter(digest=digest).first()
        if found is None:
            raise AuthenticationFailed("Invalid token.")
        if found.expiry is not None and found.expiry <= clock.now():
            raise AuthenticationFailed(f"The token {found.token_key}… has expired.")
        return self.validate_user(found)


def _note_use(token: AccessToken, address: str) -> None:
    """When it was last used is worth no refusal: a database that is busy is told with a later request."""
    try:
        tokens.note_use(token, address)
    except Error:
        return
