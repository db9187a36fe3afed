"""Reading secrets: names and facts for people, what is stored for the hosts that resolve it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

from django.db.models import TextField
from django.db.models.functions import Cast

from pipelines.domain.definitions.document.references import references
from pipelines.domain.monitoring.webhooks import secret_name
from pipelines.foundation.keyring import Keyring, Undecryptable
from pipelines.models import Pipeline, Receiver, Secret
from pipelines.selectors.access.schemas import SecretSchema


def ciphertexts(names: Collection[str]) -> dict[str, str]:
    """What is stored under these names, by name, in one query."""
    return dict(Secret.objects.filter(name__in=names).values_list("name", "ciphertext")) if names else {}


def users() -> dict[str, list[str]]:
    """Secret -> pipelines whose current definition refers to it, in one query over those that refer to any."""
    text = Cast("current_revision__definition", TextField())
    rows = Pipeline.objects.filter(archived_at=None).annotate(text=text).filter(text__contains="${secret:")
    found: dict[str, list[str]] = defaultdict(list)
    for pipeline, definition in rows.order_by("name").values_list("name", "current_revision__definition"):
        for name in {reference.name for reference in references(definition) if reference.kind == "secret"}:
            found[name].append(pipeline)
    return found


def receivers_of_secrets() -> dict[str, list[int]]:
    """Secret -> receivers that refer to it, in one query."""
    found: dict[str, list[int]] = defaultdict(list)
    for receiver, given in Receiver.objects.order_by("pk").values_list("pk", "secrets"):
        for name in filter(None, map(secret_name, given)):
            found[name].append(receiver)
    return found


def secret_schemas(rows: Sequence[Secret], keyring: Keyring | None) -> list[SecretSchema]:
    """Secrets as the API shows them. `keyring` None: the store is closed, so nothing can be said about reading."""
    used_by, signed = users(), receivers_of_secrets()
    return [_secret_schema(row, keyring, used_by.get(row.name, []), signed.get(row.name, [])) for row in rows]


def _secret_schema(row: Secret, keyring: Keyring | None, used_by: list[str], signed: list[int]) -> SecretSchema:
    """One secret as the API shows it."""
    return SecretSchema(
        name=row.name,
        version=row.version,
        created_at=row.created_at,
        created_by=row.created_by,
        updated_at=row.updated_at,
        updated_by=row.updated_by,
        readable=None if keyring is None else _readable(row, keyring),
        used_by=used_by,
        receivers=signed,
    )


def _readable(row: Secret, keyring: Keyring) -> bool:
    try:
        keyring.decrypt(row.ciphertext)
    except Undecryptable:
        return False
    return True
