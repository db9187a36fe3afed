"""What a pipeline read in a while, and what became of it: by channel, component and sink, and along its graph."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import Any

from django.db.models import F, Min, Q, QuerySet, Sum

from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.ledger.components import ComponentCounts, missing
from pipelines.domain.ledger.ledger import COUNTERS, Cause, Counts, Parts, added_up
from pipelines.domain.ledger.topology import Moved, topology
from pipelines.models import LedgerBatch, Pipeline, Revision, Run
from pipelines.selectors.ledger.ledger import Query, component_schema, components_of, finished, last
from pipelines.selectors.ledger.schemas import ChannelFlow, EdgeSchema, FlowSchema, NodeSchema, TopologySchema

_BATCHES = Sum(F("last_batch") - F("first_batch") + 1)


def flow(pipeline: Pipeline, minutes: int) -> FlowSchema:
    """The flow of the last minutes, in three queries."""
    since, until = last(minutes)
    rows = _finished(pipeline, since, until)
    components = components_of(pipeline, _parts(rows))
    channels = [_channel(query, sums, components.get(query, [])) for query, sums in sorted(_sums(rows).items())]
    return FlowSchema(since=since, until=until, channels=channels)


def pipeline_topology(pipeline: Pipeline, minutes: int) -> TopologySchema:
    """The graph of the published revision with its figures of the last minutes, in three queries: since its first
    record where that is less, so that rates are of the time in which there was something to count."""
    since, until = last(minutes)
    revision = pipeline.current_revision
    if revision is None:
        return TopologySchema(revision=None, since=since, until=until, nodes=[], edges=[])
    since = max(since, _first_record(revision, since) or since)
    rows = _finished(pipeline, since, until).filter(run__revision=revision)
    found = topology(Definition.model_validate(revision.definition), _moved(rows))
    return TopologySchema(
        revision=revision.number,
        since=since,
        until=until,
        nodes=[NodeSchema(**node.model_dump(), passed=node.passed) for node in found.nodes],
        edges=[EdgeSchema(**edge.model_dump()) for edge in found.edges],
    )


def _first_record(revision: Revision, since: datetime) -> datetime | None:
    """When the first of the revision's runs that lived since then read its first record."""
    living = Q(ended_at__isnull=True) | Q(ended_at__gt=since)
    runs = Run.objects.filter(living, revision=revision, first_record_at__isnull=False)
    first: datetime | None = runs.aggregate(first=Min("first_record_at"))["first"]
    return first


def _finished(pipeline: Pipeline, since: datetime, until: datetime) -> QuerySet[LedgerBatch]:
    return LedgerBatch.objects.filter(finished(since, until), pipeline=pipeline)


def _moved(rows: QuerySet[LedgerBatch]) -> dict[Query, Moved]:
    """What each (source, channel) has moved."""
    parts: dict[Query, Parts] = defaultdict(dict)
    for (_, source, channel), counted in _counted(rows).items():
        parts[(source, channel)] = added_up(parts[(source, channel)], counted)
    return {
        query: Moved(counts=Counts(**_total(sums), components=parts[query]), by_sink=_by_sink(sums))
        for query, sums in _sums(rows).items()
    }


def _sums(rows: QuerySet[LedgerBatch]) -> dict[Query, list[dict[str, Any]]]:
    """The sums of each sink of a (source, channel)."""
    found: dict[Query, list[dict[str, Any]]] = defaultdict(list)
    sums = {f"sum_{name}": Sum(name) for name in COUNTERS}
    for row in rows.values("source", "channel", "sink").annotate(**sums, batches=_BATCHES):
        found[(row["source"], row["channel"])].append(dict(row))
    return found


def _parts(rows: QuerySet[LedgerBatch]) -> dict[Query, list[tuple[int, str, dict[Cause, int]]]]:
    """What the components of each revision counted of each (source, channel), oldest revision first."""
    found: dict[Query, list[tuple[int, str, dict[Cause, int]]]] = defaultdict(list)
    for (number, source, channel), parts in sorted(_counted(rows).items()):
        found[(source, channel)] += [(number, path, dict(counts)) for path, counts in parts.items()]
    return found


def _counted(rows: QuerySet[LedgerBatch]) -> dict[tuple[int, str, str], Parts]:
    """What components counted, by revision, source and channel."""
    sums: dict[tuple[int, str, str], Parts] = defaultdict(dict)
    columns = ("run__revision__number", "source", "channel", "components")
    for number, source, channel, components in rows.filter(components__isnull=False).values_list(*columns).iterator():
        sums[(number, source, channel)] = added_up(sums[(number, source, channel)], components or {})
    return sums


def _channel(query: Query, rows: list[dict[str, Any]], components: list[ComponentCounts]) -> ChannelFlow:
    sums = _total(rows)
    source, channel = query
    return ChannelFlow(
        source=source,
        channel=channel,
        batches=sum(row["batches"] for row in rows),
        **sums,
        delivered_by=_by_sink(rows),
        components=[component_schema(each) for each in components],
        not_by_component=dict(missing(sums, [each.counts for each in components])),
    )


def _total(rows: list[dict[str, Any]]) -> dict[str, int]:
    return {name: sum(row[f"sum_{name}"] for row in rows) for name in COUNTERS}


def _by_sink(rows: list[dict[str, Any]]) -> dict[str, int]:
    return {row["sink"]: row["sum_delivered"] for row in rows if row["sink"]}
