"""What requests about signing in carry."""

from __future__ import annotations

from typing import Any

from pydantic import Field, SecretStr

from pipelines.api.http.requests import Shape, Text
from pipelines.services.access.log_in import Given


class SignInBody(Shape):
    """`next`: the path of the dashboard to continue at. `again`: the user of the session proves to be present."""

    next: Text = Field(default="/", min_length=1, max_length=2000)
    again: bool = False


class CodeBody(Shape):
    """A code of the authenticator application."""

    code: SecretStr = Field(min_length=1, max_length=64)


class FactorBody(Shape):
    """A code of the authenticator application, a recovery code, or what a passkey has answered to the challenge."""

    code: SecretStr = Field(default=SecretStr(""), max_length=64)
    passkey: dict[str, Any] | None = None

    @property
    def given(self) -> Given:
        """The same for the service."""
        return Given(self.code.get_secret_value(), self.passkey)


class ProofBody(FactorBody):
    """The password, and one of the others where the user has a second factor."""

    password: SecretStr = Field(min_length=1, max_length=4096)


class PasskeyBody(Shape):
    """A passkey that the browser has made, and what its user calls it."""

    name: Text = Field(min_length=1, max_length=60)
    credential: dict[str, Any]
