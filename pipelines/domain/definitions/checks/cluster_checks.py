"""Semantic findings about executors on a cluster: the cluster itself, what they cannot reach, and what
should not travel in the clear."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from pipelines.domain.base.findings import Finding, did_you_mean, dotted, quote
from pipelines.domain.base.plain import clean
from pipelines.domain.definitions.checks.structure import structural_findings
from pipelines.domain.definitions.document.outline import Outline, parts
from pipelines.domain.definitions.document.outline import error as error_at
from pipelines.domain.definitions.document.references import ALWAYS_SECRET, REFERENCE, texts
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.definitions.parts.clusters import ClusterSpec
from pipelines.domain.definitions.parts.launchers import SparkLauncher

_ON_DISK = {
    "sources": frozenset({"exec", "http", "spooldir", "taildir"}),
    "channels": frozenset({"file"}),
    "sinks": frozenset({"file"}),
}


def executors_reach_the_disk(outline: Outline) -> Iterator[Finding]:
    """Executors on other machines see no file of the owning host, unless both mount the same directory."""
    launcher = _launcher(outline)
    if launcher is None or "storage" in launcher:
        return
    for section, kinds in _ON_DISK.items():
        for part in parts(outline.data, section):
            kind = part.text("type")
            if kind in kinds:
                message = f"Executors on a cluster read and write the files of a {section[:-1]} of type {quote(kind)}."
                suggestion = "Set placement.launcher.storage to a directory that all of them mount, or use type local."
                yield error_at((*part.path, "type"), "needs_shared_storage", message, suggestion)


def _launcher(outline: Outline) -> dict[str, Any] | None:
    placement = outline.data.get("placement")
    launcher = placement.get("launcher") if isinstance(placement, dict) else None
    return launcher if isinstance(launcher, dict) and launcher.get("type") == "spark" else None


CHECKS: tuple[Callable[[Outline], Iterator[Finding]], ...] = (executors_reach_the_disk,)


def cluster_findings(spec: dict[str, Any]) -> tuple[ClusterSpec | None, list[Finding]]:
    """A cluster as it was sent, with every finding about it; None where one is an error."""
    cleaned = clean(spec)
    findings = list(cleaned.findings)
    try:
        cluster = ClusterSpec.model_validate(cleaned.data)
    except ValidationError as error:
        return None, [*findings, *structural_findings(error, ClusterSpec)]
    if cluster.cluster_secret is not None and not REFERENCE.fullmatch(cluster.cluster_secret):
        message = "The secret of a cluster must not be part of its definition."
        findings.append(
            error_at(("cluster_secret",), "literal_secret", message, 'Store it and write "${secret:NAME}".')
        )
    return (None if any(each.is_error for each in findings) else cluster), findings


def placement_findings(definition: Definition, clusters: Mapping[str, dict[str, Any]]) -> list[Finding]:
    """What stands against running a definition on the cluster that it names, out of all clusters."""
    launcher = definition.placement.launcher
    if not isinstance(launcher, SparkLauncher):
        return []
    path = ("placement", "launcher", "cluster")
    if launcher.cluster not in clusters:
        advice = did_you_mean(
            launcher.cluster, clusters, otherwise="An administrator defines it: headgate clusters apply."
        )
        return [error_at(path, "unknown_cluster", f"There is no cluster {quote(launcher.cluster)}.", advice)]
    cluster, wrong = cluster_findings(clusters[launcher.cluster])
    if cluster is None:
        message = f"The cluster {quote(launcher.cluster)} cannot be used: {wrong[0].path}: {wrong[0].message}"
        return [error_at(path, "cluster_invalid", message, "An administrator corrects it: headgate clusters apply.")]
    secrets = any(kind in ALWAYS_SECRET for _, text in texts(definition.plain()) for kind, _ in REFERENCE.findall(text))
    if not secrets or not cluster.standalone or cluster.cluster_secret is not None:
        return []
    return [
        Finding(
            path=dotted(path),
            code="secrets_in_the_clear",
            severity="warning",
            message="Secrets of this pipeline go to the executors over connections that are not encrypted.",
            suggestion="An administrator gives the cluster a cluster_secret.",
        )
    ]
