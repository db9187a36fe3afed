"""What users prove themselves with beside a password: an authenticator application or passkeys, and recovery codes for
the day that these are lost. Secrets are encrypted by a key that the installation's signing key gives."""

from __future__ import annotations

import base64
import re
import secrets

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.crypto import salted_hmac

from pipelines.domain.base.roles import Role
from pipelines.foundation import clock
from pipelines.foundation.errors import Conflict, Invalid
from pipelines.foundation.keyring import Keyring, Undecryptable
from pipelines.foundation.sign_in import totp
from pipelines.models import Passkey, RecoveryCode, Totp
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor

CODES = 10
_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
_HALF = 5
_TOTP = re.compile(rf"[0-9]{{{totp.DIGITS}}}")


def is_enrolled(user: User) -> bool:
    """Whether the user's password alone is not enough."""
    return has_totp(user) or Passkey.objects.filter(user=user).exists()


def has_totp(user: User) -> bool:
    """Whether the user has an authenticator application that counts."""
    return Totp.objects.filter(user=user, confirmed_at__isnull=False).exists()


def is_required(role: Role | None) -> bool:
    """Whether users of this role who log in with a password need a second factor."""
    wanted = settings.HEADGATE.require_mfa
    return bool(wanted == "all" or (wanted == "admins" and role is not None and role >= Role.ADMIN))


@transaction.atomic
def begin(*, user: User) -> bytes:
    """Make the secret of an authenticator application, which counts once `confirm` has seen a code of it. Raises
    Conflict where there is one that counts."""
    if has_totp(user):
        raise Conflict(
            "You have an authenticator application already.",
            code="second_factor_exists",
            hint="Remove it before you set up another one.",
        )
    secret = secrets.token_bytes(totp.SECRET_BYTES)
    sealed = _keyring().encrypt(base64.b64encode(secret).decode())
    fields = {"ciphertext": sealed, "created_at": clock.now(), "confirmed_at": None, "last_step": 0}
    Totp.objects.update_or_create(user=user, defaults=fields)
    return secret


@transaction.atomic
def confirm(*, user: User, code: str, actor: Actor) -> list[str]:
    """Have the application count, since `code` is one of its codes; returns recovery codes, this once, where it is the
    first second factor. Raises Invalid for a wrong code, and Conflict where no secret waits."""
    device = Totp.objects.select_for_update().filter(user=user, confirmed_at=None).first()
    if device is None:
        raise Conflict("No authenticator application waits for a code.", code="no_enrolment", hint="Start again.")
    if not _is_code_of(device, code):
        raise Invalid("This is not the code of the moment.", code="bad_code", hint="Check the clock of your device.")
    is_first = not is_enrolled(user)
    Totp.objects.filter(pk=device.pk).update(confirmed_at=clock.now())
    audit.record(actor=actor, action="second_factor.enrolled", after={"kind": "totp"})
    return make_codes(user) if is_first else []


@transaction.atomic
def renew_codes(*, user: User, actor: Actor) -> list[str]:
    """Replace the recovery codes; returns them, this once. Raises Conflict without a second factor."""
    if not is_enrolled(user):
        raise _nothing()
    audit.record(actor=actor, action="second_factor.codes_renewed")
    return make_codes(user)


@transaction.atomic
def remove_totp(*, user: User, is_required: bool, actor: Actor) -> None:
    """Take the authenticator application away. Raises Conflict where there is none, and for the last second factor of a
    user who needs one."""
    if not Totp.objects.filter(user=user).delete()[0]:
        raise _nothing()
    settle_removal(user, is_required=is_required)
    audit.record(actor=actor, action="second_factor.removed", before={"kind": "totp"})


def settle_removal(user: User, *, is_required: bool) -> None:
    """Without a second factor its recovery codes go, too. Raises Conflict where the user needs one; the caller's
    transaction then keeps it."""
    if is_enrolled(user):
        return
    if is_required:
        raise Conflict(
            "Your role needs a second factor, and this is the last one.",
            code="second_factor_required",
            hint="Set up another one first. `headgate reset-second-factor` helps where one is lost.",
        )
    RecoveryCode.objects.filter(user=user).delete()


@transaction.atomic
def reset(*, user: User, actor: Actor) -> None:
    """Take everything away that the user has beside a password. Raises Conflict where there is nothing."""
    if not is_enrolled(user):
        raise _nothing()
    for kind in (Totp, Passkey, RecoveryCode):
        kind.objects.filter(user=user).delete()
    audit.record(actor=actor, action="second_factor.removed", before={"kind": "all", "user": user.username})


@transaction.atomic
def use(*, user: User, code: str) -> str | None:
    """Use a code of the user up; returns what it was, `totp` or `recovery_code`, or None for a wrong one."""
    text = re.sub(r"[\s-]", "", code).lower()
    if _TOTP.fullmatch(text):
        device = Totp.objects.filter(user=user, confirmed_at__isnull=False).first()
        return "totp" if device is not None and _is_code_of(device, text) else None
    return "recovery_code" if RecoveryCode.objects.filter(user=user, digest=_digest(text)).delete()[0] else None


def _is_code_of(device: Totp, code: str) -> bool:
    """Whether this is a code of the device that was not used before; it is used now. Codes of earlier steps than that
    of the last one do not count either."""
    try:
        secret = base64.b64decode(_keyring().decrypt(device.ciphertext))
    except Undecryptable:
        raise Conflict(
            "Your authenticator application was set up under another HEADGATE_SECRET_KEY.",
            code="second_factor_unreadable",
            hint=f"Ask an administrator to run `headgate reset-second-factor {device.user.username}`.",
        ) from None
    step = totp.step_of(secret, code, clock.now().timestamp())
    if step is None:
        return False
    return bool(Totp.objects.filter(pk=device.pk, last_step__lt=step).update(last_step=step))


def make_codes(user: User) -> list[str]:
    """Replace the user's recovery codes; only their hashes stay."""
    texts = ["".join(secrets.choice(_ALPHABET) for _ in range(2 * _HALF)) for _ in range(CODES)]
    RecoveryCode.objects.filter(user=user).delete()
    RecoveryCode.objects.bulk_create([RecoveryCode(user=user, digest=_digest(text)) for text in texts])
    return [f"{text[:_HALF]}-{text[_HALF:]}" for text in texts]


def _digest(text: str) -> str:
    return salted_hmac("headgate.recovery_code", text, algorithm="sha256").hexdigest()


def _keyring() -> Keyring:
    derived = HKDF(SHA256(), 32, None, b"headgate.second_factor").derive(settings.SECRET_KEY.encode())
    return Keyring([base64.urlsafe_b64encode(derived).decode()])


def _nothing() -> Conflict:
    return Conflict("You have no second factor.", code="no_second_factor", hint="Set up an authenticator application.")
