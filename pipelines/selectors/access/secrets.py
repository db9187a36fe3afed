"""Reading secrets: names and facts for people, what is stored for the hosts that resolve it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
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
from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import RunState
from pipelines.domain.definitions.document.references import references
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.monitoring.webhooks import secret_name
from pipelines.foundation.errors import NotFound
from pipelines.foundation.keyring import Keyring, Undecryptable
from pipelines.models import Cluster, ExternalGroup, Pipeline, Receiver, Run, Secret, Team
from pipelines.selectors.access.schemas import OutdatedSecretSchema, SecretSchema
from pipelines.selectors.base.visible import seen_names, visible


class Stored(NamedTuple):
    """What is stored of a secret, and since when it has this value."""

    ciphertext: str
    version: int
    updated_at: datetime
    team: int | None


class User(NamedTuple):
    """A pipeline or a consumer group that refers to a secret, and its team."""

    name: str
    team: int | None


def stored(names: Collection[str], purpose: Purpose) -> dict[str, Stored]:
    """What is stored under these names of a purpose, by name, in one query."""
    if not names:
        return {}
    rows = Secret.objects.filter(purpose=purpose, name__in=names).exclude(ciphertext="")
    return {row.name: Stored(row.ciphertext, row.version, row.updated_at, row.team_id) for row in rows}


def bindings(names: Collection[str], purpose: Purpose = Purpose.PIPELINES) -> dict[str, SecretBinding]:
    """What the secrets of these names are bound to, by name, in one query; those that are not stored are left out."""
    rows = Secret.objects.filter(purpose=purpose, name__in=names) if names else []
    return {row.name: binding_of(row) for row in rows}


def binding_of(row: Secret) -> SecretBinding:
    """What a secret is bound to."""
    return SecretBinding(
        version=row.version,
        team=row.team_id,
        pipelines=row.pipelines,
        destinations=row.destinations,
        unencrypted=row.unencrypted,
    )


def user_of(name: str, teams: Iterable[int] | None, *labels: Mapping[str, str]) -> SecretUser:
    """A pipeline or a consumer group of these teams as the user of secrets, with its labels."""
    return SecretUser(
        name=name,
        teams=None if teams is None else frozenset(teams),
        labels=frozenset(f"{key}={value}" for each in labels for key, value in each.items()),
    )


def definition_findings(definition: Definition, teams: Iterable[int] | None) -> list[Finding]:
    """What stands against the secrets of a definition that is about to be stored, warnings among it. `teams`: those
    whose secrets exist for it, beside those of the installation; None for all."""
    uses = secret_uses(definition.plain(), definition)
    return secret_findings(
        uses,
        user_of(definition.name, teams, definition.labels),
        bindings({use.name for use in uses}),
        at_launch=False,
        development=settings.HEADGATE.development,
    )


def left_behind(definition: Definition, team: Team) -> list[Finding]:
    """The secrets of its team that a definition refers to, and that pipelines of other teams do not have."""
    uses = secret_uses(definition.plain(), definition)
    rows = Secret.objects.filter(purpose=Purpose.PIPELINES, team=team, name__in={use.name for use in uses})
    own = set(rows.values_list("name", flat=True))
    return [
        Finding(
            path=use.path,
            code="SECRET_OF_A_TEAM",
            message=f"The secret {use.name} is of the team {team.name}.",
            suggestion="Refer to a secret of the installation instead, or to none, until the pipeline has moved.",
        )
        for use in uses
        if use.name in own
    ]


def secrets(access: Access) -> QuerySet[Secret]:
    """Secrets; for an operator of single teams theirs, and those of the installation that what the user may see refers
    to."""
    rows, teams = Secret.objects.select_related("team"), access.teams_with(Role.OPERATOR)
    if teams is None:
        return rows
    shared = Q(team=None, purpose=Purpose.PIPELINES, name__in=users(access))
    return rows.filter(Q(team__in=teams) | shared)


def get_secret(name: str, purpose: Purpose, access: Access) -> Secret:
    """One secret; raises NotFound, also for one that does not exist for the user."""
    found = secrets(access).filter(purpose=purpose, name=name).first()
    if found is None:
        raise unknown(name, purpose)
    return found


def unknown(name: str, purpose: Purpose = Purpose.PIPELINES) -> NotFound:
    """The error for a name that no secret of a purpose has."""
    words = "" if purpose is Purpose.PIPELINES else f" for {purpose}"
    return NotFound(
        f"There is no secret {name}{words}.", code="secret_not_found", hint="GET /api/v1/secrets lists them."
    )


def users(access: Access = EVERYTHING) -> dict[str, list[User]]:
    """Secret of pipelines -> pipelines whose current definition refers to it, and consumer groups that do, of those
    that a user may see."""
    text = Cast("current_revision__definition", TextField())
    present = visible(Pipeline.objects.filter(archived_at=None), access)
    rows = present.annotate(text=text).filter(text__contains="${")
    found: dict[str, list[User]] = defaultdict(list)
    of_pipelines = rows.order_by("name").values_list("name", "team_id", "current_revision__definition")
    for pipeline, team, definition in of_pipelines:
        for name in secret_names(definition):
            found[name].append(User(pipeline, team))
    groups = visible(ExternalGroup.objects.all(), access, shared=True)
    for group, team, options in groups.order_by("name").values_list("name", "team_id", "options"):
        for name in secret_names(options):
            found[name].append(User(f"{GROUPS}{group}", team))
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
    rows = Secret.objects.filter(purpose=Purpose.PIPELINES).values_list("name", "version", "team_id")
    present = {name: (version, team) for name, version, team in rows}
    found: dict[str, set[str]] = defaultdict(set)
    living = visible(Run.objects.exclude(state=RunState.ENDED), access, "pipeline__team")
    runs = living.exclude(secret_versions={})
    for given, pipeline, team in runs.values_list("secret_versions", "pipeline_name", "pipeline__team_id"):
        for name, version in given.items():
            current, owner = present.get(name, (version, None))
            if version < current and owner in (None, team):
                found[name].add(pipeline)
    return {name: sorted(pipelines) for name, pipelines in found.items()}


def outdated_of(run: Run | None) -> list[OutdatedSecretSchema]:
    """The secrets that a run has in an earlier version than the store."""
    if run is None or not run.secret_versions:
        return []
    given: dict[str, int] = run.secret_versions
    teams = Pipeline.objects.filter(pk=run.pipeline_id).values("team")
    theirs = Secret.objects.filter(Q(team=None) | Q(team__in=teams), purpose=Purpose.PIPELINES, name__in=given)
    return [
        OutdatedSecretSchema(name=row.name, running=given[row.name], current=row.version)
        for row in theirs.order_by("name")
        if given[row.name] < row.version
    ]


def given_from(backend: str, host: str) -> set[str]:
    """The names from a backend whose values living runs of a host were given."""
    rows = Run.objects.filter(host=host).exclude(state=RunState.ENDED).exclude(secret_versions={})
    names = {name for given in rows.values_list("secret_versions", flat=True) for name in given}
    return {name for name in names if backend_of(name) == backend}


def receivers_of_secrets(access: Access = EVERYTHING) -> dict[tuple[int | None, str], list[int]]:
    """Team and secret -> receivers of the team that a user may see and that refer to it, in one query."""
    found: dict[tuple[int | None, str], list[int]] = defaultdict(list)
    rows = visible(Receiver.objects.all(), access).order_by("pk")
    for receiver, team, given in rows.values_list("pk", "team_id", "secrets"):
        for name in filter(None, map(secret_name, given)):
            found[team, name].append(receiver)
    return found


def used_by_of(
    row: Secret, of_pipelines: Mapping[str, Sequence[User]], of_clusters: Mapping[str, list[str]]
) -> list[str]:
    """What refers to a secret, of `users` and `clusters_of_secrets`: one of a team does not exist for others who name
    it."""
    if row.purpose == Purpose.PIPELINES:
        return [each.name for each in of_pipelines.get(row.name, ()) if row.team_id in (None, each.team)]
    return of_clusters.get(row.name, []) if row.purpose == Purpose.CLUSTERS else []


def secret_schemas(rows: Sequence[Secret], keyring: Keyring | None, access: Access) -> list[SecretSchema]:
    """Secrets as the API shows them. `keyring` None: the store is closed, so nothing can be said about reading."""
    of_pipelines, of_clusters = users(access), clusters_of_secrets()
    signed, waiting = receivers_of_secrets(access), outdated(access)
    seen = None if access.visible is None else _seen(rows, access)
    return [
        SecretSchema(
            **{name: getattr(row, name) for name in _SHOWN},
            team=row.team.name if row.team else None,
            backend=backend_of(row.name),
            **_named(row, seen),
            readable=_readable(row, keyring),
            used_by=used_by_of(row, of_pipelines, of_clusters),
            receivers=signed.get((row.team_id, row.name), []) if row.purpose == Purpose.RECEIVERS else [],
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
    """What names pipelines, of those that a user may see (None: all). What a secret of the installation is bound to by
    pattern or label is shown to those alone who may see every pipeline."""
    by = row.last_used_by.partition("/")[0]
    if seen is None or by in seen:
        used = {"last_used_at": row.last_used_at, "last_used_by": row.last_used_by}
    else:
        used = {"last_used_at": None, "last_used_by": ""}
    if seen is None or row.team_id is not None:
        return {"pipelines": row.pipelines, **used}
    return {"pipelines": [name for name in row.pipelines if name in seen], **used}


def _readable(row: Secret, keyring: Keyring | None) -> bool | None:
    if keyring is None or not row.ciphertext:
        return None
    try:
        keyring.decrypt(row.ciphertext)
    except Undecryptable:
        return False
    return True
