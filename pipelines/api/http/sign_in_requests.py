"""What requests about signing in carry."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, SecretStr, StringConstraints

from pipelines.api.http.paging import PageQuery
from pipelines.api.http.requests import Shape, Text
from pipelines.domain.access.scopes import TOKEN_DAYS
from pipelines.domain.base.roles import RoleWord
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


class PasswordBody(Shape):
    """The `present` password and the `wanted` one. `keep_tokens`: the user's tokens stay valid."""

    present: SecretStr = Field(min_length=1, max_length=4096)
    wanted: SecretStr = Field(min_length=1, max_length=4096)
    keep_tokens: bool = False


class TokenBody(Shape):
    """A token to make. `user`: of a user who cannot log in, by administrators; else of the user who asks. `days`: how
    long it holds. `role_cap`: the highest role that counts; `read_only`: it changes nothing; `team`: where alone the
    user's role counts; `sees_records`: it shows what events hold, where its user may see that."""

    name: Text = Field(min_length=1, max_length=100)
    user: Text | None = Field(default=None, max_length=150)
    days: int = Field(default=TOKEN_DAYS, ge=1, le=3660)
    role_cap: RoleWord | None = None
    read_only: bool = False
    team: Text | None = Field(default=None, max_length=63)
    sees_records: bool = True


class TokensQuery(PageQuery):
    """Whose tokens: of this user, or of `all`; by default of the user who asks."""

    user: str | None = Field(default=None, max_length=150)
    all: bool = False


class UserBody(Shape):
    """A user to make. Without a password it holds tokens and cannot log in, or signs in at the provider. `role`: in
    `team`, or in every team without one; null for none yet."""

    username: Annotated[str, StringConstraints(pattern=r"^\w[\w.@+-]{0,149}$")]
    role: RoleWord | None = "viewer"
    team: Text | None = Field(default=None, max_length=63)
    password: SecretStr | None = Field(default=None, min_length=1, max_length=4096)


class UserChangeBody(Shape):
    """What to change of a user; what is left out stays. `role`: in every team. `active`: false disables."""

    role: RoleWord | None = None
    active: bool | None = None
