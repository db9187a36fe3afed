"""What the page knows before anybody has signed in, and about the session afterwards."""

from __future__ import annotations

from pipelines.selectors.base.schemas import Schema


class SignInAddressSchema(Schema):
    """Where the browser goes on to sign in."""

    url: str


class ProviderSchema(Schema):
    """The OpenID Connect provider; `button`: the label of the button that leads to it."""

    button: str


class SignInProblemSchema(Schema):
    """Why the last sign-in at the provider failed. Told once."""

    code: str
    detail: str
    hint: str


class SecondFactorSchema(Schema):
    """The second factor of a user. `recovery_codes`: how many are left; `required`: whether the role needs one;
    `usable`: whether the user logs in with a password at all."""

    totp: bool
    recovery_codes: int
    required: bool
    usable: bool


class EnrolmentSchema(Schema):
    """A secret for an authenticator application: as text, as an address, and as a picture to scan (a data URI)."""

    secret: str
    uri: str
    picture: str


class RecoveryCodesSchema(Schema):
    """Codes that work once each in place of a code of the application."""

    codes: list[str]
