"""Passkeys (WebAuthn) as a second factor: security keys, and what devices have in their place. The protocol is that of
Yubico's library; a passkey belongs to the address that HEADGATE_PUBLIC_URL names."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import SessionBase
from django.db import IntegrityError, transaction
from fido2.server import Fido2Server
from fido2.utils import websafe_encode
from fido2.webauthn import (
    AttestedCredentialData,
    AuthenticationResponse,
    PublicKeyCredentialRpEntity,
    PublicKeyCredentialUserEntity,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from pipelines.foundation import clock
from pipelines.foundation.errors import Conflict, Invalid, NotFound
from pipelines.models import Passkey
from pipelines.services.access import second_factor
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor

CHALLENGE = "passkey"
SECONDS = 300.0
MOST = 20


def is_available() -> bool:
    """Whether browsers permit passkeys at the address of the dashboard: HTTPS with a name, or localhost."""
    parts = urlsplit(settings.HEADGATE.public_url)
    host = parts.hostname or ""
    named = bool(host) and not host.replace(".", "").isdigit() and ":" not in host
    return named and (parts.scheme == "https" or host == "localhost")


def registration(*, user: User, session: SessionBase) -> dict[str, Any]:
    """What the browser makes a passkey from. Raises Conflict where they are not available, or there are too many."""
    known = _known(user)
    if len(known) >= MOST:
        raise Conflict(f"You have {MOST} passkeys.", code="too_many_passkeys", hint="Remove one first.")
    options, state = _server().register_begin(
        PublicKeyCredentialUserEntity(id=str(user.pk).encode(), name=user.username, display_name=user.username),
        known,
        resident_key_requirement=ResidentKeyRequirement.DISCOURAGED,
        user_verification=UserVerificationRequirement.DISCOURAGED,
    )
    _ask(session, state)
    return dict(options)["publicKey"]  # type: ignore[no-any-return]


def register(*, user: User, session: SessionBase, name: str, credential: Mapping[str, Any], actor: Actor) -> list[str]:
    """Keep a passkey that the browser has made; returns recovery codes, this once, where it is the first second factor.
    Raises Invalid for one that does not answer what was asked, Conflict where it is known."""
    state = _asked(session)
    try:
        made = _server().register_complete(state, credential)
    except (ValueError, KeyError, TypeError) as error:
        raise _unusable() from error
    public = made.credential_data
    if state is None or public is None:
        raise _unusable()
    is_first = not second_factor.is_enrolled(user)
    try:
        with transaction.atomic():
            Passkey.objects.create(
                user=user,
                name=name,
                credential=websafe_encode(public.credential_id),
                public=bytes(public),
                counter=made.counter,
                created_at=clock.now(),
            )
            audit.record(actor=actor, action="second_factor.enrolled", after={"kind": "passkey", "name": name})
            return second_factor.make_codes(user) if is_first else []
    except IntegrityError:
        raise Conflict("This passkey is known already.", code="passkey_known") from None


def question(*, user: User, session: SessionBase) -> dict[str, Any]:
    """What a passkey of the user has to sign. Raises Conflict where there is none."""
    known = _known(user)
    if not known:
        raise Conflict("You have no passkey.", code="no_passkey", hint="Give a code instead.")
    options, state = _server().authenticate_begin(known, UserVerificationRequirement.DISCOURAGED)
    _ask(session, state)
    return dict(options)["publicKey"]  # type: ignore[no-any-return]


def is_answer(*, user: User, session: SessionBase, credential: Mapping[str, Any]) -> bool:
    """Whether a passkey of the user has signed what was asked, which is asked once. One that has counted less than
    before is a copy, and refused."""
    state = _asked(session)
    try:
        found = _server().authenticate_complete(state, _known(user), credential)
        counter = AuthenticationResponse.from_dict(credential).response.authenticator_data.counter
    except (ValueError, KeyError, TypeError):
        return False
    rows = Passkey.objects.filter(user=user, credential=websafe_encode(found.credential_id))
    fresh = rows.filter(counter__lt=counter) if counter else rows.filter(counter=0)
    return bool(fresh.update(counter=counter, used_at=clock.now()))


@transaction.atomic
def remove(*, user: User, passkey_id: int, is_required: bool, actor: Actor) -> None:
    """Take a passkey away. Raises NotFound, and Conflict for the last second factor of a user who needs one."""
    passkey = Passkey.objects.filter(user=user, pk=passkey_id).first()
    if passkey is None:
        raise NotFound("You have no such passkey.", code="passkey_not_found")
    passkey.delete()
    second_factor.settle_removal(user, is_required=is_required)
    audit.record(actor=actor, action="second_factor.removed", before={"kind": "passkey", "name": passkey.name})


def _known(user: User) -> list[AttestedCredentialData]:
    rows = Passkey.objects.filter(user=user).order_by("pk")[: MOST + 1]
    return [AttestedCredentialData(bytes(row.public)) for row in rows]


def _server() -> Fido2Server:
    if not is_available():
        raise Conflict(
            "Passkeys need HTTPS and a host name.",
            code="passkeys_not_available",
            hint="An administrator sets HEADGATE_PUBLIC_URL.",
        )
    parts = urlsplit(settings.HEADGATE.public_url)
    origin = f"{parts.scheme}://{parts.netloc}"
    rp = PublicKeyCredentialRpEntity(id=parts.hostname, name="Headgate")
    return Fido2Server(rp, verify_origin=lambda given: given == origin)


def _ask(session: SessionBase, state: Any) -> None:
    session[CHALLENGE] = {"state": state, "until": time.time() + SECONDS}


def _asked(session: SessionBase) -> Any:
    """What was asked last, which is forgotten. None where nothing was, or too long ago."""
    asked = session.pop(CHALLENGE, None)
    return asked["state"] if asked and time.time() < asked["until"] else None


def _unusable() -> Invalid:
    hint = "Try again; the request is valid for five minutes."
    return Invalid("The passkey does not answer the request.", code="bad_passkey", hint=hint)
