"""Reading clusters, and who is placed on them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

from django.db.models import QuerySet

from pipelines.domain.access.teams import EVERYTHING, Access
from pipelines.domain.base.states import RunState
from pipelines.domain.definitions.checks.cluster_checks import placement_findings
from pipelines.domain.definitions.checks.validate import Validation
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.definitions.parts.launchers import SparkLauncher
from pipelines.models import Cluster, Pipeline, Run
from pipelines.selectors.access.schemas import ClusterSchema
from pipelines.selectors.base.visible import usable, visible

NAMED = "definition__placement__launcher__cluster"


def placed(validation: Validation, teams: Collection[int] | None) -> Validation:
    """A validation with what stands against the cluster that the definition names. `teams`: those whose clusters it may
    name, beside those of the installation; None for all."""
    definition = validation.definition
    if definition is None or not isinstance(definition.placement.launcher, SparkLauncher):
        return validation
    specs = dict(usable(Cluster.objects.all(), teams).values_list("name", "spec"))
    found = placement_findings(definition, specs)
    refused = any(each.is_error for each in found)
    return Validation(None if refused else definition, [*validation.findings, *found])


def cluster_of(definition: Definition) -> Cluster | None:
    """The cluster that a definition names; None where it names none, or one that is not there."""
    launcher = definition.placement.launcher
    return Cluster.objects.filter(name=launcher.cluster).first() if isinstance(launcher, SparkLauncher) else None


def used_by(access: Access = EVERYTHING) -> dict[str, list[str]]:
    """Cluster -> pipelines that a user may see whose current revision or living run is placed on it."""
    found: dict[str, set[str]] = defaultdict(set)
    current = f"current_revision__{NAMED}"
    rows = visible(Pipeline.objects.all(), access).filter(archived_at=None, **{f"{current}__isnull": False})
    running = _living(access).filter(**{f"revision__{NAMED}__isnull": False})
    for cluster, pipeline in rows.values_list(current, "name"):
        found[cluster].add(pipeline)
    for cluster, pipeline in running.values_list(f"revision__{NAMED}", "pipeline_name"):
        found[cluster].add(pipeline)
    return {cluster: sorted(names) for cluster, names in found.items()}


def _living(access: Access) -> QuerySet[Run]:
    return visible(Run.objects.exclude(state=RunState.ENDED), access, "pipeline__team")


def pending(access: Access) -> dict[str, list[str]]:
    """Cluster -> pipelines that a user may see and that run on an earlier version of it; they take the present one at
    their next start."""
    versions = dict(Cluster.objects.values_list("name", "version"))
    found: dict[str, set[str]] = defaultdict(set)
    rows = _living(access).filter(cluster_version__isnull=False)
    for cluster, version, pipeline in rows.values_list(f"revision__{NAMED}", "cluster_version", "pipeline_name"):
        if version < versions.get(cluster, version):
            found[cluster].add(pipeline)
    return {cluster: sorted(names) for cluster, names in found.items()}


def cluster_schemas(rows: Sequence[Cluster], access: Access) -> list[ClusterSchema]:
    """Clusters as the API shows them, with the pipelines that a user may see."""
    users, waiting = used_by(access), pending(access)
    return [
        ClusterSchema(
            name=row.name,
            team=row.team.name if row.team else None,
            spec=row.spec,
            version=row.version,
            created_at=row.created_at,
            created_by=row.created_by,
            updated_at=row.updated_at,
            updated_by=row.updated_by,
            used_by=users.get(row.name, []),
            pending=waiting.get(row.name, []),
        )
        for row in rows
    ]
