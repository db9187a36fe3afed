"""Writing secrets. Audit and events tell of names and versions, never of a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction

from pipelines.domain.access.secrets import value_problem
from pipelines.domain.base.findings import Finding, listed
from pipelines.foundation import clock
from pipelines.foundation.errors import Conflict, Invalid, NotFound
from pipelines.foundation.keyring import Keyring, Undecryptable
from pipelines.models import Secret
from pipelines.selectors.access.secrets import receivers_of_secrets, users
from pipelines.services.base import audit, events
from pipelines.services.base.audit import Actor

ATTEMPTS = 3
BATCH = 200


def put(*, name: str, value: str, keyring: Keyring, actor: Actor) -> tuple[Secret, bool]:
    """Store a value, as version 1 or the next one; returns the secret and whether it is new.

    Raises Invalid for a value that cannot be one, Conflict where others keep changing it.
    """
    if problem := value_problem(value):
        finding = Finding(path="value", code="bad_secret_value", message=problem, suggestion="Send another text.")
        raise Invalid(f"{name} was not stored: {problem}", code="secret_invalid", findings=[finding])
    ciphertext = keyring.encrypt(value)
    for _ in range(ATTEMPTS):
        try:
            with transaction.atomic():
                stored = _put(name, ciphertext, actor)
        except IntegrityError:  # somebody else made it in the same instant
            continue
        if stored is not None:
            return stored
    raise Conflict(f"{name} is being changed by another request.", code="busy", hint="Send the request again.")


def _put(name: str, ciphertext: str, actor: Actor) -> tuple[Secret, bool] | None:
    now = clock.now()
    fields = {"ciphertext": ciphertext, "updated_at": now, "updated_by": actor.name}
    present = Secret.objects.filter(name=name).first()
    if present is None:
        secret = Secret.objects.create(name=name, created_at=now, created_by=actor.name, **fields)
        _emit(actor, "secret.created", f"{actor.name} stored the secret {name}.", name, after={"version": 1})
        return secret, True
    version = present.version + 1
    if not Secret.objects.filter(pk=present.pk, version=present.version).update(version=version, **fields):
        return None
    message = f"{actor.name} gave the secret {name} a new value, version {version}."
    _emit(actor, "secret.replaced", message, name, before={"version": present.version}, after={"version": version})
    return Secret.objects.get(pk=present.pk), False


@transaction.atomic
def delete(*, name: str, force: bool, actor: Actor) -> None:
    """Remove a secret for ever. Raises NotFound, and Conflict while a pipeline or a receiver refers to it, unless
    `force`."""
    used_by = users().get(name, [])
    receivers = receivers_of_secrets().get(name, [])
    if not Secret.objects.filter(name=name).exists():
        raise unknown(name)
    if receivers and not force:
        numbers = ", ".join(map(str, receivers))
        words = f"Receivers ({numbers}) use the secret {name}; without it they get no messages."
        hint = "Give them another secret first, or force it with ?force=true."
        raise Conflict(words, code="secret_used_by_receivers", hint=hint, receivers=receivers)
    if used_by and not force:
        raise Conflict(
            f"The secret {name} is used by {listed(used_by)}; without it they cannot start again.",
            code="secret_in_use",
            hint=f"Remove ${{secret:{name}}} from their definitions first, or force it with ?force=true: running "
            "pipelines keep the value that they have, and every later start is refused.",
            used_by=used_by,
        )
    Secret.objects.filter(name=name).delete()
    after = {"used_by": used_by, "receivers": receivers}
    _emit(actor, "secret.deleted", f"{actor.name} deleted the secret {name}.", name, after=after)


@dataclass(frozen=True)
class Rotated:
    """How many values are now under the current key, and the names of those that no key decrypts."""

    rotated: int
    unreadable: list[str]


@transaction.atomic
def rotate(*, keyring: Keyring, actor: Actor) -> Rotated:
    """Encrypt every value anew under the current key; the values, and their versions, stay as they are."""
    changed, unreadable = [], []
    for secret in Secret.objects.select_for_update().order_by("name"):
        try:
            secret.ciphertext = keyring.rotate(secret.ciphertext)
            changed.append(secret)
        except Undecryptable:
            unreadable.append(secret.name)
    Secret.objects.bulk_update(changed, ["ciphertext"], batch_size=BATCH)
    counts = {"rotated": len(changed), "unreadable": unreadable}
    message = f"{actor.name} encrypted {len(changed)} secrets anew under the current key."
    _emit(actor, "secret.rotated", message, "", after=counts)
    return Rotated(len(changed), unreadable)


def unknown(name: str) -> NotFound:
    """The error for a name that no secret has."""
    return NotFound(f"There is no secret {name}.", code="secret_not_found", hint="GET /api/v1/secrets lists them.")


def _emit(actor: Actor, kind: str, message: str, name: str, *, before: Any = None, after: Any = None) -> None:
    named = {"secret": name} if name else {}
    audit.record(actor=actor, action=kind, before=before and {**named, **before}, after={**named, **after})
    events.record(kind=kind, message=message, actor=actor.name, data={**named, **after})
