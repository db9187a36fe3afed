"""The kinds of events, and the categories in which users look for them. Pure."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from pipelines.domain.base.findings import listed, nearest, quote
from pipelines.domain.base.states import MigrationStage
from pipelines.domain.base.values import refuse
from pipelines.domain.monitoring.watching import Kind
from pipelines.domain.monitoring.webhooks import wants


class EventCategory(StrEnum):
    """What an event is about."""

    STATES = "states"
    REQUESTS = "requests"
    MIGRATIONS = "migrations"
    FAULTS = "faults"
    CONFIGURATION = "configuration"


CATEGORY_LABELS: dict[EventCategory, str] = {
    EventCategory.STATES: "State changes",
    EventCategory.REQUESTS: "Operator actions",
    EventCategory.MIGRATIONS: "Migrations",
    EventCategory.FAULTS: "Alerts and faults",
    EventCategory.CONFIGURATION: "Configuration",
}

KINDS: dict[EventCategory, tuple[str, ...]] = {
    EventCategory.STATES: (
        "host.changed",
        "phase.changed",
        "run.adopted",
        "run.ended",
        "run.started",
        "standby.discarded",
        "standby.ended",
        "standby.prepared",
        "standby.promoted",
    ),
    EventCategory.REQUESTS: (
        "batch.resolved",
        "change_request.updated",
        "dead_letters.discarded",
        "desired.changed",
        "host.drain",
        "host.remove",
        "host.undrain",
        "installation.read_only_off",
        "installation.read_only_on",
        "operation.updated",
        "pipeline.glass_broken",
        "pipeline.reconcile",
        "position.changed",
        "quarantine.put",
    ),
    EventCategory.MIGRATIONS: (
        "host.evacuation",
        *(f"migration.{stage.lower()}" for stage in MigrationStage),
        "migration.restored",
        "migration.updated",
    ),
    EventCategory.FAULTS: (
        "alert.acknowledged",
        "alert.opened",
        "alert.resolved",
        "batch.abandoned",
        "checkpoint.repaired",
        "database.behind",
        "database.reconciled",
        "database.restored",
        "dead_letters.added",
        "demo.fault",
        *Kind,
        "guard.*",
        "host.broker_connection",
        "journal.damaged",
        "ledger.gap",
        "ledger.overlap",
        "ledger.unbalanced",
        "receiver.disabled",
        "run.dumped",
        "run.interrupted",
        "run.killed",
        "run.spawn_failed",
        "sink.failed",
        "sink.recovered",
        "sink.switched",
        "source.failed",
        "supervisor.error",
    ),
    EventCategory.CONFIGURATION: (
        "cluster.changed",
        "cluster.created",
        "cluster.deleted",
        "host.pruned",
        "pipeline.archived",
        "pipeline.created",
        "pipeline.moved",
        "pipeline.updated",
        "receiver.created",
        "receiver.deleted",
        "receiver.test",
        "receiver.updated",
        "revision.created",
        "revision.reworded",
        "secret.bound",
        "secret.created",
        "secret.deleted",
        "secret.replaced",
        "secret.rotated",
        "silence.created",
        "silence.ended",
        "webhook.ping",
    ),
}
"""Every kind in one category. `guard.*`: what follows is a rule of the guard."""

_FAMILY = ".*"
_KNOWN = tuple(kind for kinds in KINDS.values() for kind in kinds)
_OPEN = [kind for kind in _KNOWN if kind.endswith(_FAMILY)]
_FAMILIES = sorted({kind.partition(".")[0] + _FAMILY for kind in _KNOWN})


def known_kind(written: str) -> str:
    """A kind, or the beginning of kinds (`migration.*`), that exists; any other is refused with those that do."""
    if written not in (*_KNOWN, *_FAMILIES) and not wants(_OPEN, written):
        allowed = f"Known kinds: {listed(_KNOWN)}. The beginning of kinds: {listed(_FAMILIES)}."
        near = nearest(written, (*_KNOWN, *_FAMILIES))
        suggestion = f"Did you mean {quote(near)}? {allowed}" if near else allowed
        refuse("unknown_event_kind", f"{quote(written)} is no kind of event.", suggestion)
    return written


def selected(kinds: Collection[str], categories: Collection[EventCategory]) -> list[str]:
    """The patterns of all events of these kinds and of these categories together; empty for every event."""
    return sorted({*kinds, *(kind for category in categories for kind in KINDS[category])})
