"""Reading secrets: names and facts for people, what is stored for the hosts that resolve it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast

from pipelines.domain.access.secret_bindings import GROUPS, Purpose, SecretBinding, SecretUser
from pipelines.domain.access.secret_findings import secret_findings
from pipelines.domain.access.secret_uses import secret_uses
from pipelines.domain.access.secrets import backend_of
from pipelines.domain.access.teams import EVERYTHING, Access
from pipelines.domain.base.findings import Finding
from pipelines.domain.base.states import RunState
from pipelines.domain.definitions.document.references import references
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.monitoring.webhooks import secret_name
from pipelines.foundation.keyring import Keyring, Undecryptable
from pipelines.models import Cluster, ExternalGroup, Pipeline, Receiver, Run, Secret
from pipelines.selectors.access.schemas import OutdatedSecretSchema, SecretSchema
from pipelines.selectors.base.visible import seen_names, visible


class Stored(NamedTuple):
    """What is stored of a secret, and since when it has this value."""

    ciphertext: str
    version: int
    updated_at: datetime


def stored(names: Collection[str], purpose: Purpose) -> dict[str, Stored]:
    """What is stored under these names of a purpose, by name, in one query."""
    if not names:
        return {}
    rows = Secret.objects.filter(purpose=purpose, name__in=names).exclude(ciphertext="")
    return {row.name: Stored(row.ciphertext, row.version, row.updated_at) for row in rows}


def bindings(names: Collection[str], purpose: Purpose = Purpose.PIPELINES) -> dict[str, SecretBinding]:
    """What the secrets of these names are bound to, by name, in one query; those that are not stored are left out."""
    rows = Secret.objects.filter(purpose=purpose, name__in=names) if names else []
    return {row.name: binding_of(row) for row in rows}


def binding_of(row: Secret) -> SecretBinding:
    """What a secret is bound to."""
    return SecretBinding(
        version=row.version, pipelines=row.pipelines, destinations=row.destinations, unencrypted=row.unencrypted
    )


def user_of(name: str, *labels: Mapping[str, str]) -> SecretUser:
    """A pipeline as the user of secrets, with its labels."""
    return SecretUser(name=name, labels=frozenset(f"{key}={value}" for each in labels for key, value in each.items()))


def definition_findings(definition: Definition) -> list[Finding]:
    """What stands against the secrets of a definition that is about to be stored, warnings among it."""
    uses = secret_uses(definition.plain(), definition)
    return secret_findings(
        uses,
        user_of(definition.name, definition.labels),
        bindings({use.name for use in uses}),
        at_launch=False,
        development=settings.HEADGATE.development,
    )


def secrets(access: Access) -> QuerySet[Secret]:
    """Secrets; for a user of single teams those that what the user may see refers to."""
    if access.visible is None:
        return Secret.objects.all()
    of_pipelines = Q(purpose=Purpose.PIPELINES, name__in=users(access))
    return Secret.objects.filter(of_pipelines | Q(purpose=Purpose.RECEIVERS, name__in=receivers_of_secrets(access)))


def users(access: Access = EVERYTHING) -> dict[str, list[str]]:
    """Secret of pipelines -> pipelines whose current definition refers to it, and consumer groups that do, of those
    that a user may see."""
    text = Cast("current_revision__definition", TextField())
    present = visible(Pipeline.objects.filter(archived_at=None), access)
    rows = present.annotate(text=text).filter(text__contains="${")
    found: dict[str, list[str]] = defaultdict(list)
    for pipeline, definition in rows.order_by("name").values_list("name", "current_revision__definition"):
        for name in secret_names(definition):
            found[name].append(pipeline)
    groups = visible(ExternalGroup.objects.all(), access, shared=True)
    for group, options in groups.order_by("name").values_list("name", "options"):
        for name in secret_names(options):
            found[name].append(f"{GROUPS}{group}")
    return found


def secret_names(data: Mapping[str, Any]) -> set[str]:
    """The secrets that a definition, or a part of one, refers to, and what may be bound as one."""
    return {reference.bound for reference in references(data)}


def clusters_of_secrets() -> dict[str, list[str]]:
    """Secret of clusters -> clusters that have it."""
    found: dict[str, list[str]] = defaultdict(list)
    for cluster, spec in Cluster.objects.order_by("name").values_list("name", "spec"):
        for name in secret_names(spec):
            found[name].append(f"clusters/{cluster}")
    return found


def outdated(access: Access) -> dict[str, list[str]]:
    """Secret of pipelines -> pipelines that a user may see and that run with an earlier version of it; they take the
    present one at their next start."""
    versions = dict(Secret.objects.filter(purpose=Purpose.PIPELINES).values_list("name", "version"))
    found: dict[str, set[str]] = defaultdict(set)
    living = visible(Run.objects.exclude(state=RunState.ENDED), access, "pipeline__team")
    rows = living.exclude(secret_versions={})
    for given, pipeline in rows.values_list("secret_versions", "pipeline_name"):
        for name, version in given.items():
            if version < versions.get(name, version):
                found[name].add(pipeline)
    return {name: sorted(pipelines) for name, pipelines in found.items()}


def outdated_of(run: Run | None) -> list[OutdatedSecretSchema]:
    """The secrets that a run has in an earlier version than the store."""
    given: dict[str, int] = run.secret_versions if run else {}
    stored = Secret.objects.filter(purpose=Purpose.PIPELINES, name__in=given).order_by("name") if given else []
    return [
        OutdatedSecretSchema(name=row.name, running=given[row.name], current=row.version)
        for row in stored
        if given[row.name] < row.version
    ]


def given_from(backend: str, host: str) -> set[str]:
    """The names from a backend whose values living runs of a host were given."""
    rows = Run.objects.filter(host=host).exclude(state=RunState.ENDED).exclude(secret_versions={})
    names = {name for given in rows.values_list("secret_versions", flat=True) for name in given}
    return {name for name in names if backend_of(name) == backend}


def receivers_of_secrets(access: Access = EVERYTHING) -> dict[str, list[int]]:
    """Secret -> receivers that a user may see and that refer to it, in one query."""
    found: dict[str, list[int]] = defaultdict(list)
    for receiver, given in visible(Receiver.objects.all(), access).order_by("pk").values_list("pk", "secrets"):
        for name in filter(None, map(secret_name, given)):
            found[name].append(receiver)
    return found


def secret_schemas(rows: Sequence[Secret], keyring: Keyring | None, access: Access) -> list[SecretSchema]:
    """Secrets as the API shows them. `keyring` None: the store is closed, so nothing can be said about reading."""
    used_by = {Purpose.PIPELINES: users(access), Purpose.CLUSTERS: clusters_of_secrets()}
    signed, waiting = receivers_of_secrets(access), outdated(access)
    seen = None if access.visible is None else _seen(rows, access)
    return [
        SecretSchema(
            **{name: getattr(row, name) for name in _SHOWN},
            backend=backend_of(row.name),
            **_named(row, seen),
            readable=_readable(row, keyring),
            used_by=used_by.get(Purpose(row.purpose), {}).get(row.name, []),
            receivers=signed.get(row.name, []) if row.purpose == Purpose.RECEIVERS else [],
            outdated=waiting.get(row.name, []) if row.purpose == Purpose.PIPELINES else [],
        )
        for row in rows
    ]


_SHOWN = (
    "name",
    "purpose",
    "destinations",
    "unencrypted",
    "version",
    "created_at",
    "created_by",
    "updated_at",
    "updated_by",
)


def _seen(rows: Sequence[Secret], access: Access) -> set[str]:
    """Names in secrets of pipelines and consumer groups that a user may see."""
    groups = visible(ExternalGroup.objects.all(), access, shared=True).values_list("name", flat=True)
    names = {name for row in rows for name in (*row.pipelines, row.last_used_by.partition("/")[0])}
    return seen_names(names, access) | {f"{GROUPS}{name}" for name in groups}


def _named(row: Secret, seen: Collection[str] | None) -> dict[str, Any]:
    """What names pipelines, of those that a user may see (None: all): bindings by pattern or label are shown to those
    alone who may see every pipeline."""
    by = row.last_used_by.partition("/")[0]
    if seen is None or by in seen:
        used = {"last_used_at": row.last_used_at, "last_used_by": row.last_used_by}
    else:
        used = {"last_used_at": None, "last_used_by": ""}
    return {"pipelines": [name for name in row.pipelines if seen is None or name in seen], **used}


def _readable(row: Secret, keyring: Keyring | None) -> bool | None:
    if keyring is None or not row.ciphertext:
        return None
    try:
        keyring.decrypt(row.ciphertext)
    except Undecryptable:
        return False
    return True
