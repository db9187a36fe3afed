"""The fleet: pipelines with the phases of their last 24 hours, any number of them with a constant number of queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple, cast

from django.db.models import F, QuerySet
from django.db.models.fields.json import KT

from pipelines.domain.base.states import DesiredState, Phase
from pipelines.domain.lifecycle.attention import attention
from pipelines.domain.lifecycle.history import SLOT, Change, Past, Span, Window, gaps, phases
from pipelines.foundation import clock
from pipelines.models import Event, Host, Pipeline, Supervision
from pipelines.selectors.hosts.hosts import LOST_AFTER, seen_within, supervised
from pipelines.selectors.lifecycle.schemas import FleetPipelineSchema, HistorySchema

MOST_CHANGES = 20_000
"""Changes of phase that are read, the newest; what was before them is unknown."""

_PHASES = {phase.value: phase for phase in Phase}


class Member(NamedTuple):
    """The columns of a pipeline that the fleet shows."""

    name: str
    team_name: str
    labels: dict[str, str]
    host_id: str | None
    desired_state: str
    phase: str
    phase_since: datetime
    created_at: datetime


def members() -> QuerySet[Pipeline]:
    """Every pipeline that was not deleted."""
    return Pipeline.objects.filter(archived_at=None).annotate(team_name=F("team__name"))


def as_members(found: QuerySet[Pipeline]) -> QuerySet[Pipeline, Member]:
    """The same with what the fleet shows."""
    return cast("QuerySet[Pipeline, Member]", found.values_list(*Member._fields, named=True))


def fleet_schemas(found: Sequence[Member]) -> list[FleetPipelineSchema]:
    """Pipelines as the fleet shows them: three queries, however many they are."""
    window = Window.until(clock.now())
    changes, complete_from = _changes(window, {each.name for each in found})
    window = replace(window, complete_from=complete_from)
    hosts = {host.name: host for host in Host.objects.only("name", "seen_at", "supervised_since")}
    unsupervised = _unsupervised(hosts, window)
    return [
        _schema(
            each, hosts.get(each.host_id or ""), phases(_past(each, changes[each.name]), unsupervised, window), window
        )
        for each in found
    ]


def _schema(each: Member, host: Host | None, shown: list[Phase | None], window: Window) -> FleetPipelineSchema:
    phase, desired, watched = Phase(each.phase), DesiredState(each.desired_state), supervised(host)
    return FleetPipelineSchema(
        name=each.name,
        team=each.team_name,
        labels=each.labels,
        host=each.host_id,
        desired_state=desired,
        phase=phase,
        phase_since=each.phase_since,
        supervised=watched,
        attention=attention(phase, desired, supervised=watched),
        history=HistorySchema(since=window.start, slot_seconds=int(SLOT.total_seconds()), phases=shown),
    )


def _past(each: Member, changes: Sequence[Change]) -> Past:
    return Past(each.created_at, Phase(each.phase), each.phase_since, each.host_id, changes)


def _changes(window: Window, wanted: set[str]) -> tuple[defaultdict[str, list[Change]], datetime]:
    """The changes of phase of these pipelines, the oldest first, and from when on none is missing."""
    stored = Event.objects.filter(kind="phase.changed", at__gte=window.start, pipeline__archived_at=None)
    columns = ("pipeline__name", "at", KT("data__old"), KT("data__new"), "run__host_id")
    rows = list(stored.order_by("-at", "-id").values_list(*columns)[:MOST_CHANGES])
    found: defaultdict[str, list[Change]] = defaultdict(list)
    for name, at, old, new, host in reversed(rows):
        if name in wanted:
            found[name].append(Change(at, _PHASES.get(old, Phase.UNKNOWN), _PHASES.get(new, Phase.UNKNOWN), host))
    return found, rows[-1][1] if len(rows) == MOST_CHANGES else window.start


def _unsupervised(hosts: dict[str, Host], window: Window) -> dict[str, list[Span]]:
    """The gaps of every host."""
    spans: defaultdict[str, list[Span]] = defaultdict(list)
    over = Supervision.objects.filter(until__gt=window.start).order_by("since")
    for name, since, until in over.values_list("host_id", "since", "until"):
        spans[name].append(Span(since, until))
    for name, host in hosts.items():
        if host.supervised_since is not None and host.seen_at is not None:
            until = window.now if seen_within(host.seen_at, LOST_AFTER) else host.seen_at
            spans[name].append(Span(host.supervised_since, until))
    return {name: gaps(spans[name], window) for name in hosts}
