"""Writing secrets. Audit and events tell of names and versions, never of a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from pipelines.domain.access.secret_bindings import Purpose, binding_findings, label_findings
from pipelines.domain.access.secrets import backend_of, value_problem
from pipelines.domain.base.findings import Finding, listed
from pipelines.domain.definitions.document.references import references
from pipelines.foundation import clock
from pipelines.foundation.errors import Conflict, Invalid
from pipelines.foundation.keyring import Keyring, Undecryptable
from pipelines.models import Secret, Team
from pipelines.selectors.access.secrets import clusters_of_secrets, receivers_of_secrets, unknown, used_by_of, users
from pipelines.services.base import audit, events
from pipelines.services.base.audit import Actor

ATTEMPTS = 3
BATCH = 200


@dataclass(frozen=True)
class Wanted:
    """What a secret shall be bound to. None leaves a list as it is; a new secret of pipelines needs both. `team`: whose
    it is, None for the installation; one of another owner is not there to be changed."""

    purpose: Purpose = Purpose.PIPELINES
    pipelines: Sequence[str] | None = None
    destinations: Sequence[str] | None = None
    team: Team | None = None

    @property
    def changes(self) -> bool:
        """Whether it names anything."""
        return self.pipelines is not None or self.destinations is not None


def put(*, name: str, value: str, keyring: Keyring, actor: Actor, wanted: Wanted = Wanted()) -> tuple[Secret, bool]:
    """Store a value, as version 1 or the next one; returns the secret and whether it is new.

    Raises Invalid for a value that cannot be one and for a secret that is bound to nothing, Conflict where others keep
    changing it, and where its name is taken.
    """
    if problem := value_problem(value):
        finding = Finding(path="value", code="bad_secret_value", message=problem, suggestion="Send another text.")
        raise Invalid(f"{name} was not stored: {problem}", code="secret_invalid", findings=[finding])
    ciphertext = keyring.encrypt(value)
    for _ in range(ATTEMPTS):
        try:
            with transaction.atomic():
                stored = _put(name, ciphertext, wanted, actor)
        except IntegrityError:  # somebody else made it in the same instant
            continue
        if stored is not None:
            return stored
    raise Conflict(f"{name} is being changed by another request.", code="busy", hint="Send the request again.")


def _put(name: str, ciphertext: str, wanted: Wanted, actor: Actor) -> tuple[Secret, bool] | None:
    now = clock.now()
    fields = {"ciphertext": ciphertext, "updated_at": now, "updated_by": actor.name}
    present = _present(name, wanted.purpose, wanted.team)
    bound = _bound(name, present, wanted)
    if present is None:
        made = {"name": name, "purpose": wanted.purpose, "team": wanted.team}
        secret = Secret.objects.create(**made, created_at=now, created_by=actor.name, **bound, **fields)
        after = {"version": 1, **_binding(secret)}
        _emit(actor, "secret.created", f"{actor.name} stored the secret {name}.", secret, after=after)
        return secret, True
    before, version = {"version": present.version, **_binding(present)}, present.version + 1
    same = Secret.objects.filter(pk=present.pk, version=present.version, team=present.team)
    if not same.update(version=version, **bound, **fields):
        return None
    secret = _row(present.pk)
    message = f"{actor.name} gave the secret {name} a new value, version {version}."
    after = {"version": version, **_binding(secret)}
    _emit(actor, "secret.replaced", message, secret, before=before, after=after)
    return secret, False


def _row(pk: int) -> Secret:
    return Secret.objects.select_related("team").get(pk=pk)


def _present(name: str, purpose: Purpose, team: Team | None) -> Secret | None:
    """The secret of this owner; None where the name is free. Raises Conflict where it is another owner's."""
    found = Secret.objects.select_related("team").filter(purpose=purpose, name=name).first()
    if found is not None and found.team != team:
        raise Conflict(
            f"The name {name} is taken.",
            code="secret_name_taken",
            hint="Names are of all teams together: choose another one. Administrators of all teams let a team have a "
            f"secret of the installation: headgate secrets bind {name} --team TEAM",
        )
    return found


@transaction.atomic
def declare(*, name: str, actor: Actor, wanted: Wanted = Wanted()) -> tuple[Secret, bool]:
    """Bind a value that is kept elsewhere, by its name there; returns the secret and whether it is new. Raises
    Invalid, and Conflict where another owner has it."""
    present = _present(name, Purpose.PIPELINES, wanted.team)
    if present is not None:
        return (bind(name=name, wanted=wanted, actor=actor) if wanted.changes else present), False
    if wanted.purpose is not Purpose.PIPELINES:
        raise _invalid(name, [_for_pipelines_alone(wanted.purpose)])
    bound, stamp = _bound(name, None, wanted), {"at": clock.now(), "by": actor.name}
    stamps = {f"{each}_{key}": value for each in ("created", "updated") for key, value in stamp.items()}
    secret = Secret.objects.create(name=name, ciphertext="", version=0, team=wanted.team, **bound, **stamps)
    _emit(actor, "secret.created", f"{actor.name} bound {name}.", secret, after=_binding(secret))
    return secret, True


def record_version(*, name: str, version: int, changed_at: datetime | None) -> bool:
    """A backend has a newer version than was known; False where it has none, or another host has said so."""
    rows = Secret.objects.select_related("team")
    row = rows.filter(purpose=Purpose.PIPELINES, name=name, version__lt=version).first()
    if row is None:
        return False
    backend = backend_of(name)
    with transaction.atomic():
        same = Secret.objects.filter(pk=row.pk, version=row.version)
        if not same.update(version=version, updated_at=changed_at or clock.now(), updated_by=backend):
            return False
        message = f"{name} has version {version}."
        told = {"version": row.version}, {"version": version}
        _emit(Actor(backend), "secret.replaced", message, row, before=told[0], after=told[1])
    return True


@transaction.atomic
def bind(*, name: str, wanted: Wanted, actor: Actor, to: Team | None = None) -> Secret:
    """Change what a secret of pipelines is bound to, and let the team `to` have one of the installation. What runs
    keeps its value; what starts is checked. Raises NotFound, Invalid, and Conflict where a team has it already, or
    others use it."""
    rows = Secret.objects.select_for_update()
    secret = rows.filter(purpose=Purpose.PIPELINES, name=name, team=wanted.team).first()
    if secret is None:
        raise unknown(name)
    before = _binding(secret)
    if to is not None:
        _require_unused_by_others(secret, to)
        secret.team = to
    for key, value in _bound(name, secret, replace(wanted, team=secret.team)).items():
        setattr(secret, key, value)
    secret.save(update_fields=["team", "pipelines", "destinations", "unencrypted"])
    message = f"{actor.name} changed what the secret {name} is bound to."
    _emit(actor, "secret.bound", message, secret, before=before, after=_binding(secret))
    return secret


def _require_unused_by_others(secret: Secret, team: Team) -> None:
    if secret.team not in (None, team):
        words = f"The secret {secret.name} is of the team {secret.team}."
        raise Conflict(words, code="secret_of_a_team", hint="Remove it, and store it for the other team.")
    if others := [each.name for each in users().get(secret.name, ()) if each.team != team.pk]:
        raise Conflict(
            f"The secret {secret.name} is used by {listed(others)}, which are not of the team {team.name}.",
            code="secret_in_use",
            hint="Let them refer to other secrets first.",
            used_by=others,
        )


def _bound(name: str, present: Secret | None, wanted: Wanted) -> dict[str, Any]:
    """The lists as they will be. Raises Invalid. One that is bound anew goes nowhere without encryption any more."""
    if wanted.purpose is Purpose.CLUSTERS and wanted.team is not None:
        raise _invalid(name, [_OF_NO_TEAM])
    if wanted.purpose is not Purpose.PIPELINES:
        if wanted.changes:
            raise _invalid(name, [_not_for_pipelines(wanted.purpose)])
        return {}
    had = (present.pipelines, present.destinations) if present else ([], [])
    pipelines = had[0] if wanted.pipelines is None else list(dict.fromkeys(wanted.pipelines))
    destinations = had[1] if wanted.destinations is None else list(dict.fromkeys(wanted.destinations))
    is_checked = wanted.changes or not (pipelines and destinations)
    found = binding_findings(pipelines, destinations) if is_checked else []
    if wanted.team is None:
        found += label_findings(pipelines, kept=had[0])
    if found:
        raise _invalid(name, found)
    return {"pipelines": pipelines, "destinations": destinations, **({"unencrypted": []} if wanted.changes else {})}


_OF_NO_TEAM = Finding(
    path="team",
    code="secret_binding_invalid",
    message="Administrators of all teams define clusters, and their secrets are of the installation.",
    suggestion="Leave out team.",
)


def _for_pipelines_alone(purpose: Purpose) -> Finding:
    return Finding(
        path="purpose",
        code="secret_binding_invalid",
        message=f"What is kept elsewhere is bound to pipelines; {purpose} have secrets of the store alone.",
        suggestion="Store the value: headgate secrets set NAME --for " + purpose,
    )


def _not_for_pipelines(purpose: Purpose) -> Finding:
    return Finding(
        path="purpose",
        code="secret_binding_invalid",
        message=f"A secret of {purpose} is bound by what refers to it, which administrators write.",
        suggestion="Leave out pipelines and destinations.",
    )


def _invalid(name: str, findings: list[Finding]) -> Invalid:
    hint = (
        f"Say who may use it, and where it may go: headgate secrets set {name} --pipeline orders "
        "--destination broker.example.com:9093. A secret of webhooks and alerts: --for receivers."
    )
    return Invalid(f"{name} was not stored: {findings[0].message}", code="secret_invalid", hint=hint, findings=findings)


def _binding(secret: Secret) -> dict[str, Any]:
    lists = {key: list(getattr(secret, key)) for key in ("pipelines", "destinations", "unencrypted")}
    owner = {"team": secret.team.name} if secret.team else {}
    return {"purpose": str(secret.purpose), **owner, **{key: value for key, value in lists.items() if value}}


@transaction.atomic
def delete(
    *, name: str, force: bool, actor: Actor, purpose: Purpose = Purpose.PIPELINES, team: Team | None = None
) -> None:
    """Remove a secret of a team, or of the installation, for ever. Raises NotFound, and Conflict while anything refers
    to it, unless `force`."""
    secret = Secret.objects.select_related("team").filter(purpose=purpose, name=name, team=team).first()
    if secret is None:
        raise unknown(name, purpose)
    used_by = used_by_of(secret, users(), clusters_of_secrets())
    receivers = receivers_of_secrets().get((secret.team_id, name), []) if purpose is Purpose.RECEIVERS else []
    if receivers and not force:
        numbers = ", ".join(map(str, receivers))
        words = f"Receivers ({numbers}) use the secret {name}; without it they get no messages."
        hint = "Give them another secret first, or force it with ?force=true."
        raise Conflict(words, code="secret_used_by_receivers", hint=hint, receivers=receivers)
    if used_by and not force:
        raise Conflict(
            f"The secret {name} is used by {listed(used_by)}; without it they cannot start again.",
            code="secret_in_use",
            hint=f"Remove {_written(name)} from their definitions first, or force it with ?force=true: running "
            "pipelines keep the value that they have, and every later start is refused.",
            used_by=used_by,
        )
    Secret.objects.filter(pk=secret.pk).delete()
    after = {"purpose": str(purpose), "used_by": used_by, "receivers": receivers}
    _emit(actor, "secret.deleted", f"{actor.name} deleted the secret {name}.", secret, after=after)


@dataclass(frozen=True)
class Rotated:
    """How many values are now under the current key, and the names of those that no key decrypts."""

    rotated: int
    unreadable: list[str]


@transaction.atomic
def rotate(*, keyring: Keyring, actor: Actor) -> Rotated:
    """Encrypt every value anew under the current key; the values, and their versions, stay as they are."""
    changed, unreadable = [], []
    for secret in Secret.objects.select_for_update().exclude(ciphertext="").order_by("name"):
        try:
            secret.ciphertext = keyring.rotate(secret.ciphertext)
            changed.append(secret)
        except Undecryptable:
            unreadable.append(secret.name)
    Secret.objects.bulk_update(changed, ["ciphertext"], batch_size=BATCH)
    counts = {"rotated": len(changed), "unreadable": unreadable}
    message = f"{actor.name} encrypted {len(changed)} secrets anew under the current key."
    _emit(actor, "secret.rotated", message, None, after=counts)
    return Rotated(len(changed), unreadable)


def record_users(
    *, pipeline_name: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, actor: Actor
) -> None:
    """Write down which secrets a pipeline refers to from now on, where its definition changes that."""
    old, new = _referred(before), _referred(after)
    if old != new:
        told = {"secrets": old}, {"secrets": new}
        audit.record(actor=actor, action="secret.used_by", pipeline_name=pipeline_name, before=told[0], after=told[1])


def _referred(definition: Mapping[str, Any] | None) -> dict[str, list[str]]:
    """The secrets of a definition, each with its places."""
    found: dict[str, list[str]] = {}
    for reference in references(definition) if definition else []:
        found.setdefault(reference.bound, []).append(reference.path)
    return found


def _written(name: str) -> str:
    return f"${{{name}}}" if backend_of(name) != "store" else f"${{secret:{name}}}"


def _emit(
    actor: Actor, kind: str, message: str, secret: Secret | None, *, before: Any = None, after: dict[str, Any]
) -> None:
    team = secret.team if secret else None
    named = {"secret": secret.name} if secret else {}
    told, data = before and {**named, **before}, {**named, **after}
    audit.record(actor=actor, action=kind, team=team.name if team else "", before=told, after=data)
    events.record(kind=kind, message=message, team=team.pk if team else None, actor=actor.name, data=data)
