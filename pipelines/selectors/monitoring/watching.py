"""Reading watched groups: what was seen of them, whose they are, and what a reset would do."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast

from pipelines.domain.access.teams import EVERYTHING, Access
from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.definitions.components.source.kafka import KafkaSource
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.monitoring.lag import Appended, from_rows
from pipelines.domain.monitoring.watching import GroupInspection
from pipelines.domain.positions.resets import Reset, before, effects, reset, reset_csv, topics_read
from pipelines.foundation.errors import Conflict, NotFound
from pipelines.models import Event, ExternalGroup, GroupSnapshot, Pipeline, Position
from pipelines.selectors.base.visible import visible
from pipelines.selectors.monitoring.events import event_schema, events, moment
from pipelines.selectors.monitoring.lag import last_before, point_fields, window
from pipelines.selectors.monitoring.schemas import (
    ExternalGroupDetailSchema,
    ExternalGroupSchema,
    GroupPlanSchema,
    MemberSchema,
    ResetPartitionSchema,
    SinkEffectSchema,
    SnapshotSchema,
    SnapshotsSchema,
)

LAST_EVENTS = 20


def of_host(host: str) -> list[ExternalGroup]:
    """The groups that a host's worker looks at."""
    return list(ExternalGroup.objects.filter(host_id=host).order_by("pk"))


def logs_of(group: ExternalGroup) -> dict[TopicPartition, Appended]:
    """Where the logs of a group's partitions ended at earlier times, from what was asked once and from snapshots."""
    found: dict[TopicPartition, Appended] = {}
    for name, points in group.history.items():
        topic, _, number = name.rpartition("/")
        for at, offset in points:
            found.setdefault(TopicPartition(topic, int(number)), Appended()).saw(at, int(offset))
    for at, rows in group.snapshots.order_by("at").values_list("at", "partitions"):
        for part in from_rows(rows):
            if part.end is not None:
                found.setdefault(TopicPartition(part.topic, part.partition), Appended()).saw(at.timestamp(), part.end)
    return found


def read_by(group: ExternalGroup) -> dict[TopicPartition, int]:
    """How far pipelines of ours have read that mirror their positions to the group; empty where it is not ours."""
    furthest: dict[TopicPartition, int] = {}
    for pipeline, _, source in owners(group):
        rows = Position.objects.filter(pipeline=pipeline, source=source).order_by("topic", "partition")
        for topic, partition, at in rows.values_list("topic", "partition", "next_offset"):
            key = TopicPartition(topic, partition)
            furthest[key] = max(at, furthest.get(key, 0))
    return furthest


def owners(group: ExternalGroup, access: Access = EVERYTHING) -> Iterator[tuple[Pipeline, Definition, str]]:
    """Pipelines that mirror positions to a group of this name, with their definition and the source that does. The
    cluster is not compared: one has many addresses."""
    present = visible(Pipeline.objects.filter(archived_at__isnull=True), access).select_related("current_revision")
    text = Cast("current_revision__definition", TextField())
    for pipeline in present.annotate(text=text).filter(text__contains=json.dumps(group.name)).order_by("name"):
        definition = _definition(pipeline)
        for name, source in (definition.sources if definition else {}).items():
            if definition and isinstance(source, KafkaSource) and source.group_id == group.name:
                yield pipeline, definition, name


def _definition(pipeline: Pipeline) -> Definition | None:
    try:
        return Definition.model_validate(pipeline.current_revision.definition if pipeline.current_revision else None)
    except ValueError:
        return None


def external_groups(access: Access) -> QuerySet[ExternalGroup]:
    """Watched groups that exist for a user: of the teams, and of the installation."""
    return visible(ExternalGroup.objects.select_related("team"), access, shared=True)


def get_group(group_id: int, access: Access) -> ExternalGroup:
    """One watched group; raises NotFound."""
    group = external_groups(access).filter(pk=group_id).first()
    if group is None:
        hint = "GET /api/v1/consumer-groups lists them."
        raise NotFound(f"There is no external consumer group {group_id}.", code="group_not_found", hint=hint)
    return group


def group_schemas(groups: Sequence[ExternalGroup]) -> list[ExternalGroupSchema]:
    """Watched groups in short."""
    return [ExternalGroupSchema(**_fields(group)) for group in groups]


def group_detail_schema(group: ExternalGroup) -> ExternalGroupDetailSchema:
    """A watched group with its partitions."""
    newest = group.snapshots.order_by("-at").first()
    parts = point_fields(newest)["partitions"] if newest else []
    happened = Event.objects.select_related("pipeline", "run").filter(
        kind__startswith="group.", data__external_group=group.pk
    )
    last = [event_schema(event) for event in happened.order_by("-id")[:LAST_EVENTS]]
    return ExternalGroupDetailSchema(**_fields(group), partitions=parts, events=last)


def _fields(group: ExternalGroup) -> dict[str, Any]:
    inspection = None if group.last is None else GroupInspection.of_plain(group.last)
    reported = inspection.description if inspection else None
    return {
        "id": group.pk,
        "group": group.name,
        "team": group.team.name if group.team else None,
        "bootstrap_servers": group.bootstrap_servers,
        "interval": group.interval,
        "max_rate": group.max_rate,
        "leap_records": group.leap_records,
        "host": group.host_id,
        "created_at": group.created_at,
        "created_by": group.created_by,
        "inspected_at": group.inspected_at,
        "error": group.error,
        "state": reported.state if reported else "",
        "simple": reported.simple if reported else False,
        "coordinator": reported.coordinator if reported else "",
        "members": [MemberSchema(client=client, host=host) for client, host in reported.members] if reported else [],
        "records": inspection.lag if inspection else None,
    }


def snapshots_schema(group: ExternalGroup, since: datetime | None, step: int | None) -> SnapshotsSchema:
    """What was seen of a group since a time (an hour ago, unless given)."""
    chosen, points = window(GroupSnapshot.objects.filter(group=group), since, step)
    return SnapshotsSchema(step=chosen, points=[_snapshot_schema(point) for point in points])


def _snapshot_schema(point: GroupSnapshot) -> SnapshotSchema:
    members = [MemberSchema(**member) for member in point.members]
    return SnapshotSchema(**point_fields(point), state=point.state, coordinator=point.coordinator, members=members)


def plan_schema(group: ExternalGroup, target: str, access: Access) -> GroupPlanSchema:
    """A reset of a group to before an event; `target` is what follows `before=`, for example `1234-30m`.

    Raises NotFound for the event, Conflict where nothing was seen of the group yet, ValueError for another text.
    """
    wanted = before(target)
    event = events(access).filter(pk=wanted.event).first()
    if event is None:
        hint = "headgate events lists them with -o json."
        raise NotFound(f"There is no event {wanted.event}.", code="event_not_found", hint=hint)
    if group.last is None:
        words = f"{group.name} has no measurement yet. {group.error}".strip()
        raise Conflict(words, code="not_seen_yet", hint="Wait for the first measurement, or fix its error.")
    inspection, at = GroupInspection.of_plain(group.last), moment(event, wanted.seconds)
    resets = reset(inspection, _seen_before(group, at), logs_of(group), at.timestamp())
    return GroupPlanSchema(
        group=group.name,
        bootstrap_servers=group.bootstrap_servers,
        event=event.pk,
        event_message=event.message,
        target_time=at,
        as_of=group.inspected_at,
        state=inspection.description.state,
        members=len(inspection.description.members),
        replay=sum(each.replay for each in resets),
        skip=sum(each.skip for each in resets),
        gone=sum(each.gone for each in resets),
        partitions=[_reset_schema(each) for each in resets],
        sinks=_effects(group, resets, access),
        warnings=list(_warnings(group, inspection, resets, access)),
        reset_csv=reset_csv(resets),
    )


def _seen_before(group: ExternalGroup, at: datetime) -> Mapping[TopicPartition, int]:
    point = last_before(GroupSnapshot.objects.filter(group=group), at)
    found = from_rows(point.partitions) if point else []
    return {TopicPartition(part.topic, part.partition): part.position for part in found if part.position is not None}


def _reset_schema(each: Reset) -> ResetPartitionSchema:
    topic, partition = each.key
    return ResetPartitionSchema(
        topic=topic,
        partition=partition,
        committed=each.committed,
        target=each.target,
        basis=each.basis,
        replay=each.replay,
        skip=each.skip,
        gone=each.gone,
    )


def _effects(group: ExternalGroup, resets: Sequence[Reset], access: Access) -> list[SinkEffectSchema]:
    """What the duplicates do to the sinks of our own pipelines that the group belongs to."""
    return [
        SinkEffectSchema(
            pipeline=pipeline.name,
            source=source,
            channel=effect.channel,
            sink=effect.sink,
            type=effect.type,
            duplicates_max=again,
            effect=effect.effect if again else "Nothing is reread.",
        )
        for pipeline, definition, source in owners(group, access)
        for again in [_again(definition, source, resets)]
        for effect in effects(definition, source)
    ]


def _again(definition: Definition, source: str, resets: Sequence[Reset]) -> int:
    topics = topics_read(definition, source, [each.key.topic for each in resets])
    return sum(each.replay for each in resets if each.key.topic in topics)


def _warnings(
    group: ExternalGroup, inspection: GroupInspection, resets: Sequence[Reset], access: Access
) -> Iterator[str]:
    if inspection.description.members:
        yield "The group has members. Kafka resets the offsets of a group only while it has none: stop them first."
    for pipeline, _, source in owners(group, access):
        yield (
            f"{pipeline.name}.{source} only mirrors its positions here and does not read them: "
            f"use `headgate positions plan {pipeline.name} --to before=…` to move the pipeline."
        )
    if gone := sum(each.gone for each in resets):
        yield f"{gone} records that would be reread have expired."
    if any(each.basis == "record_times" for each in resets):
        yield "Some partitions were not monitored at that time; their offset is by the time of the records."
