"""Semantic findings about executors on a cluster: what they cannot reach, and what should not travel in the clear."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pipelines.domain.base.findings import Finding, PathParts, dotted, quote
from pipelines.domain.definitions.document.outline import Outline, error, parts
from pipelines.domain.definitions.document.references import REFERENCE, texts

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
                yield error((*part.path, "type"), "needs_shared_storage", message, suggestion)


def cluster_secret_is_a_reference(outline: Outline) -> Iterator[Finding]:
    """It opens every connection of the cluster."""
    secret = (_launcher(outline) or {}).get("cluster_secret")
    if isinstance(secret, str) and not REFERENCE.fullmatch(secret):
        message = "The secret of a cluster must not be part of the definition."
        yield error(_path("cluster_secret"), "literal_secret", message, 'Store it and write "${secret:NAME}".')


def secrets_travel_encrypted(outline: Outline) -> Iterator[Finding]:
    """Tasks carry the options of Kafka clients, passwords among them, to the executors."""
    launcher = _launcher(outline)
    if launcher is None or "cluster_secret" in launcher or not str(launcher.get("master", "")).startswith("spark://"):
        return
    if any(kind == "secret" for _, text in texts(outline.data) for kind, _ in REFERENCE.findall(text)):
        yield Finding(
            path=dotted(_path("cluster_secret")),
            code="secrets_in_the_clear",
            severity="warning",
            message="Secrets of this pipeline go to the executors over connections that are not encrypted.",
            suggestion="Give the cluster a secret, and set it here.",
        )


def _launcher(outline: Outline) -> dict[str, Any] | None:
    placement = outline.data.get("placement")
    launcher = placement.get("launcher") if isinstance(placement, dict) else None
    return launcher if isinstance(launcher, dict) and launcher.get("type") == "spark" else None


def _path(key: str) -> PathParts:
    return ("placement", "launcher", key)


CHECKS: tuple[Callable[[Outline], Iterator[Finding]], ...] = (
    executors_reach_the_disk,
    cluster_secret_is_a_reference,
    secrets_travel_encrypted,
)
