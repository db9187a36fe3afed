"""Watched consumer groups: begun and ended by people; what was seen of them, by the worker of the host that looks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q

from pipelines.domain.access.uses import finding, servers
from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.definitions.document.references import references
from pipelines.domain.monitoring.alert_rules import AlertRule
from pipelines.domain.monitoring.lag import STEPS, PartitionLag
from pipelines.domain.monitoring.watching import GroupInspection, Happening, Kind, Limits, fastest, happenings
from pipelines.foundation import clock
from pipelines.foundation.errors import Conflict, Invalid, NotFound
from pipelines.models import Alert, ExternalGroup, GroupSnapshot, Team
from pipelines.selectors.access import reach
from pipelines.selectors.hosts.hosts import LOST_AFTER, expected
from pipelines.services.base import audit, events
from pipelines.services.base.audit import Actor
from pipelines.services.monitoring import alerts
from pipelines.services.monitoring.lag import measures

MOST_GROUPS = 500
SHORTEST_INTERVAL = 1.0
LONGEST_INTERVAL = 3600.0
MOVED_FOR = timedelta(hours=1)
"""So long after a jump its alert stands, unless another one comes."""
_JUMPS = frozenset({Kind.JUMPED_BACK, Kind.JUMPED_FORWARD, Kind.LAG_LEAPT})


@dataclass(frozen=True)
class ExternalGroupSettings:
    """What to watch. `host`: whose worker looks; None: any."""

    name: str
    bootstrap_servers: str
    options: Mapping[str, Any] = field(default_factory=dict)
    interval: float = 60.0
    max_rate: float | None = None
    leap_records: int | None = None
    host: str | None = None


@transaction.atomic
def watch(*, wanted: ExternalGroupSettings, team: Team | None = None, actor: Actor) -> ExternalGroup:
    """Begin to watch a group, for a team or for the installation. Raises NotFound for a host; Invalid where its servers
    may not be reached; Conflict where it is watched, or too many are."""
    _require_reach(wanted.bootstrap_servers, team)
    if wanted.host is not None and not expected().filter(name=wanted.host).exists():
        raise NotFound(f"There is no host {wanted.host}.", code="host_not_found", hint="GET /api/v1/hosts lists them.")
    if ExternalGroup.objects.filter(team=team).count() >= MOST_GROUPS:
        words = f"{MOST_GROUPS} external consumer groups are already monitored."
        raise Conflict(words, code="too_many_groups", hint="Remove one that is not needed.")
    try:
        with transaction.atomic():
            group = ExternalGroup.objects.create(
                team=team,
                name=wanted.name,
                bootstrap_servers=wanted.bootstrap_servers,
                options=dict(wanted.options),
                interval=wanted.interval,
                max_rate=wanted.max_rate,
                leap_records=wanted.leap_records,
                host_id=wanted.host,
                created_by=actor.name,
            )
    except IntegrityError:
        words = f"The group {wanted.name} at {wanted.bootstrap_servers} is already monitored."
        raise Conflict(words, code="already_monitored", hint="Remove it first to change its settings.") from None
    _note(actor, group, "group.watch", after=_told(group))
    return group


def _require_reach(bootstrap_servers: str, team: Team | None) -> None:
    """A worker connects to these servers, so that the rules for pipelines hold for them, too. Raises Invalid."""
    policy = reach.policy([team.pk] if team else [])
    named = servers("bootstrap_servers", bootstrap_servers)
    problems = [(each, policy.host_problem(each.host, each.port)) for each in named]
    if found := [finding(each, problem) for each, problem in problems if problem]:
        raise Invalid("These servers may not be reached.", code="address_not_allowed", findings=found)


@transaction.atomic
def unwatch(*, group: ExternalGroup, actor: Actor) -> None:
    """Watch it no longer; its series goes with it, its events stay."""
    for rule in (AlertRule.GROUP_LOST, AlertRule.GROUP_MOVED):
        alerts.clear_alert(rule=rule, key=_key(group))
    _note(actor, group, "group.unwatch", before=_told(group))
    group.delete()


def _told(group: ExternalGroup) -> dict[str, Any]:
    """A group as the audit tells of it, with the secrets that it uses."""
    used = sorted({each.bound for each in references(group.options)})
    return {"group": group.name, "servers": group.bootstrap_servers, **({"secrets": used} if used else {})}


def _note(actor: Actor, group: ExternalGroup, action: str, **facts: Any) -> None:
    audit.record(actor=actor, action=action, team=group.team.name if group.team else "", **facts)


def claim(host: str) -> int:
    """Take groups that nobody looks at, because they have no host or theirs is lost; returns their number."""
    lost = clock.now() - LOST_AFTER
    unseen = Q(host__isnull=True) | Q(host__seen_at__lt=lost) | Q(host__seen_at__isnull=True)
    orphans = ExternalGroup.objects.filter(unseen).exclude(host_id=host)
    return orphans.update(host_id=host) if orphans.exists() else 0


def failed(*, group: ExternalGroup, error: str) -> None:
    """A look did not succeed; what was seen before stays."""
    ExternalGroup.objects.filter(pk=group.pk).update(error=error, inspected_at=clock.now())


@transaction.atomic
def saw(
    *,
    group: ExternalGroup,
    before: GroupInspection | None,
    after: GroupInspection,
    ages: Mapping[TopicPartition, float],
    read: Mapping[TopicPartition, int],
) -> list[Happening]:
    """Write a look down, and everything that must have happened since the one before: an event each.

    `read`: how far our own pipelines have read, where the group is theirs. Nothing is written where another worker has
    looked meanwhile, or nobody wants the group watched any more.
    """
    fields: dict[str, Any] = {"last": after.plain(), "history": group.history, "error": "", "inspected_at": clock.now()}
    if before is not None:
        fields["fastest"] = fastest(before, after, group.fastest)
    same = ExternalGroup.objects.filter(pk=group.pk, inspected_at=group.inspected_at)
    if not same.update(**fields):
        return []
    _snapshot(group, after, ages)
    if before is None:
        return []
    limits = Limits(group.fastest, group.max_rate, group.leap_records, read)
    found = happenings(before, after, limits)
    for each in found:
        words = f"{group.name}: {each.message}"
        events.record(kind=each.kind, message=words, team=group.team_id, data=_data(group, each))
    _alert(group, after, found)
    return found


def _snapshot(group: ExternalGroup, inspection: GroupInspection, ages: Mapping[TopicPartition, float]) -> None:
    parts = [
        PartitionLag("", "", key.topic, key.partition, part.committed, part.end, part.lag, ages.get(key))
        for key, part in sorted(inspection.partitions.items())
    ]
    GroupSnapshot.objects.create(
        group=group,
        at=datetime.fromtimestamp(inspection.at, UTC),
        step=STEPS[0],
        state=inspection.description.state,
        coordinator=inspection.description.coordinator,
        members=[{"client": client, "host": host} for client, host in inspection.description.members],
        **measures(parts),
    )


def _data(group: ExternalGroup, happening: Happening) -> dict[str, Any]:
    return {
        "group": group.name,
        "bootstrap_servers": group.bootstrap_servers,
        "external_group": group.pk,
        **happening.data,
    }


def _key(group: ExternalGroup) -> str:
    return f"group:{group.pk}"


def _alert(group: ExternalGroup, inspection: GroupInspection, found: list[Happening]) -> None:
    """GROUP_LOST stands for as long as a commit is missing, GROUP_MOVED for an hour after the last jump."""
    missing = sorted(f"{topic}/{number}" for (topic, number), part in inspection.partitions.items() if _is_lost(part))
    if missing:
        message = f"{group.name} at {group.bootstrap_servers} no longer has a commit for {', '.join(missing)}."
        facts = {"group": group.name}
        alerts.raise_alert(rule=AlertRule.GROUP_LOST, key=_key(group), message=message, team=group.team_id, data=facts)
    else:
        alerts.clear_alert(rule=AlertRule.GROUP_LOST, key=_key(group))
    jumps = [each for each in found if each.kind in _JUMPS]
    if jumps:
        message = f"{group.name} at {group.bootstrap_servers}: {jumps[0].message}"
        data = _data(group, jumps[0])
        alerts.raise_alert(rule=AlertRule.GROUP_MOVED, key=_key(group), message=message, team=group.team_id, data=data)
    elif Alert.objects.filter(
        rule=AlertRule.GROUP_MOVED, key=_key(group), resolved_at=None, changed_at__lt=clock.now() - MOVED_FOR
    ).exists():
        alerts.clear_alert(rule=AlertRule.GROUP_MOVED, key=_key(group))


def _is_lost(part: Any) -> bool:
    return part.committed is None and part.known is not None
