"""What the page knows before anybody has signed in, and about the session afterwards."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User

from pipelines.models import Passkey, RecoveryCode, Totp
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


class PasskeySchema(Schema):
    """A passkey of a user."""

    id: int
    name: str
    created_at: datetime
    used_at: datetime | None


class SecondFactorSchema(Schema):
    """The second factors of a user. `recovery_codes`: how many are left; `required`: whether the role needs one;
    `usable`: whether the user logs in with a password at all; `passkeys_available`: whether browsers permit
    them here."""

    totp: bool
    passkeys: list[PasskeySchema]
    recovery_codes: int
    required: bool
    usable: bool
    passkeys_available: bool


def second_factor_schema(user: User, *, is_required: bool, has_passkeys: bool) -> SecondFactorSchema:
    """What a user has."""
    return SecondFactorSchema(
        totp=Totp.objects.filter(user=user, confirmed_at__isnull=False).exists(),
        passkeys=[
            PasskeySchema(id=row.pk, name=row.name, created_at=row.created_at, used_at=row.used_at)
            for row in Passkey.objects.filter(user=user).order_by("pk")
        ],
        recovery_codes=RecoveryCode.objects.filter(user=user).count(),
        required=is_required,
        usable=user.has_usable_password(),
        passkeys_available=has_passkeys,
    )


class EnrolmentSchema(Schema):
    """A secret for an authenticator application: as text, as an address, and as a picture to scan (a data URI)."""

    secret: str
    uri: str
    picture: str


class RecoveryCodesSchema(Schema):
    """Codes that work once each in place of a code of the application."""

    codes: list[str]


class PasskeyOptionsSchema(Schema):
    """What the browser hands to a passkey, as `PublicKeyCredential.parse...OptionsFromJSON` reads it."""

    public_key: dict[str, Any]
