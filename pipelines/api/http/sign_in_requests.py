"""What requests about signing in carry."""

from __future__ import annotations

from pydantic import Field, SecretStr

from pipelines.api.http.requests import Shape, Text


class SignInBody(Shape):
    """`next`: the path of the dashboard to continue at. `again`: the user of the session proves to be present."""

    next: Text = Field(default="/", min_length=1, max_length=2000)
    again: bool = False


class CodeBody(Shape):
    """A code of the authenticator application, or a recovery code."""

    code: SecretStr = Field(min_length=1, max_length=64)


class ProofBody(Shape):
    """The password, and a code where the user has a second factor."""

    password: SecretStr = Field(min_length=1, max_length=4096)
    code: SecretStr = Field(default=SecretStr(""), max_length=64)
