"""Whether a new run may continue the Spark checkpoint of the one before, begins a new lineage, or must not start."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.base.findings import Finding
from pipelines.domain.definitions.document.spec import ANY_HOST, Definition
from pipelines.domain.hosts.moving import stores


@dataclass(frozen=True)
class Before:
    """The last run of the pipeline. `has_read`: the ledger holds positions. `open_batches`: begun, and not finished.

    `closed`: a decision about positions has ended the lineage. `identified`: sources whose log is known by its ids, so
    that an agent can tell whether another address leads to another cluster.
    """

    definition: Definition
    lineage: int
    host: str
    has_read: bool
    open_batches: tuple[str, ...] = ()
    closed: bool = False
    identified: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Lineage:
    """`number` None: a new lineage, from the positions in the ledger."""

    number: int | None


def continue_from(before: Before | None, definition: Definition, host: str) -> Lineage | list[Finding]:
    """Same sources, topics and channels continue the lineage on its host. On another host, that has no checkpoint of
    it, a new one begins from the ledger, unless data was left behind. Another cluster needs a person."""
    findings = _misplaced(definition, host)
    if before is None:
        return findings or Lineage(None)
    if before.has_read:
        findings += [*_host_changed(before, host), *_cluster_changed(before, definition)]
    here = before.host == host
    if not findings and here and not before.closed and _shape(before.definition) == _shape(definition):
        return Lineage(before.lineage)
    findings += _open_batches(before)
    return findings or Lineage(None)


def _shape(definition: Definition) -> dict[str, tuple[str, tuple[str, ...]]]:
    """What Spark's checkpoints depend on: per query the cluster and the topics."""
    return {read.name: _reads(definition, read.source) for read in definition.reads()}


def _reads(definition: Definition, source: str) -> tuple[str, tuple[str, ...]]:
    spec = definition.source_spec(source)
    topics = getattr(spec, "topics", None) or [getattr(spec, "topic", "")]
    return str(getattr(spec, "bootstrap_servers", "")), tuple(sorted(topics))


def _misplaced(definition: Definition, host: str) -> list[Finding]:
    wanted = definition.placement.host
    if wanted in (ANY_HOST, host):
        return []
    return [
        Finding(
            path="placement.host",
            code="HOST_CHANGED",
            message=f"The definition names host {wanted}; the pipeline belongs to {host}.",
            suggestion=f"Set placement.host to {host} or any; checkpoints are on the disk of {host}.",
        )
    ]


def _host_changed(before: Before, host: str) -> list[Finding]:
    """What was taken in on one host and not delivered is on no other."""
    if before.host == host:
        return []
    return [
        Finding(
            path=path,
            code="HOST_CHANGED",
            message=f"The last run was on {before.host}; what {path} keeps there is not on {host}.",
            suggestion=f"Set placement.host to {before.host}.",
        )
        for path in stores(before.definition)
    ]


def _cluster_changed(before: Before, new: Definition) -> list[Finding]:
    old = before.definition
    return [
        Finding(
            path=f"sources.{name}.bootstrap_servers",
            code="CLUSTER_CHANGED",
            message=f"The source reads from {_reads(new, name)[0]}; its positions are offsets of "
            f"{_reads(old, name)[0]}.",
            suggestion="Offsets of one cluster mean nothing on another: use the old address, or another source name.",
        )
        for name in sorted((set(old.sources) & set(new.sources)) - before.identified)
        if _reads(old, name)[0] != _reads(new, name)[0]
    ]


def _open_batches(before: Before) -> list[Finding]:
    """Only the lineage that began a batch can ask its sink what came of it."""
    return [
        Finding(
            path="",
            code="OPEN_BATCH",
            message=f"Batch {batch} was started and not finished; a changed graph cannot account for it.",
            suggestion="Start the previous revision once and stop it, then start this one.",
        )
        for batch in before.open_batches
    ]
