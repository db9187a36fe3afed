"""The agents' own figures, as the last status that the supervisor recorded has them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from pipelines.domain.base.states import Phase
from pipelines.domain.definitions.document.guarantees import Guarantee
from pipelines.domain.runs.protocol import ComponentStatus, IngestBufferStatus, QueryStatus
from pipelines.models import Pipeline, Run
from pipelines.selectors.runs.schemas import (
    CheckingSchema,
    ComponentStateSchema,
    FailedSinkSchema,
    GroupSchema,
    HoldingSchema,
    IngestBufferSchema,
    LiveSchema,
    PartitionProgressSchema,
    QuerySchema,
)


def _time(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def query_statuses(run: Run | None) -> list[QueryStatus]:
    """The queries of a living run; none where nothing was reported yet."""
    observed = (run.observed if run else None) or {}
    return [QueryStatus.model_validate(each) for each in observed.get("queries", [])]


def live_schema(run: Run | None) -> LiveSchema:
    """The figures of a pipeline, over all its queries."""
    if run is None or not run.observed:
        return LiveSchema()
    figures = run.observed.get("live")
    return LiveSchema.model_validate(figures) if figures else _figures(query_statuses(run), run.observed.get("at"))


def while_in(phase: str, live: LiveSchema) -> LiveSchema:
    """The figures in a phase: while a pipeline is paused nothing is read, whatever its agent reported last."""
    return live.model_copy(update={"records_per_second": 0.0}) if phase == Phase.PAUSED and live.as_of else live


def _figures(queries: Sequence[QueryStatus], at: float | None) -> LiveSchema:
    lags = [query.lag for query in queries]
    known = [lag for lag in lags if lag is not None]
    return LiveSchema(
        records_per_second=sum(query.records_per_second for query in queries),
        lag_records=sum(known) if known and len(known) == len(lags) else None,
        last_batch_at=_time(max((query.last_batch_at for query in queries if query.last_batch_at), default=None)),
        in_flight=sum(query.in_flight for query in queries),
        as_of=_time(at),
    )


def query_schemas(run: Run | None) -> list[QuerySchema]:
    """Progress of every query of a living run."""
    return [_query_schema(query) for query in query_statuses(run)]


def _query_schema(query: QueryStatus) -> QuerySchema:
    return QuerySchema(
        source=query.source,
        channel=query.channel,
        batch=query.batch,
        in_flight=query.in_flight,
        positions=[
            PartitionProgressSchema(
                topic=each.topic,
                partition=each.partition,
                next_offset=each.next_offset,
                end_offset=each.end_offset,
                lag=each.lag,
            )
            for each in query.positions
        ],
        records_per_second=query.records_per_second,
        delivered=query.delivered,
        last_batch_at=_time(query.last_batch_at),
        holding=_holding_schema(query),
        guarantee=Guarantee(query.guarantee) if query.guarantee else None,
        checking=CheckingSchema(**query.checking.model_dump()) if query.checking else None,
        group=_group_schema(query),
    )


def _holding_schema(query: QueryStatus) -> HoldingSchema | None:
    held = query.holding
    if held is None:
        return None
    since = datetime.fromtimestamp(held.since, UTC)
    return HoldingSchema(component=held.component, cause=held.cause, attempts=held.attempts, since=since)


def _group_schema(query: QueryStatus) -> GroupSchema | None:
    group = query.group
    if group is None:
        return None
    failed = [
        FailedSinkSchema(
            sink=each.sink, failures=each.failures, until=datetime.fromtimestamp(each.until, UTC), cause=each.cause
        )
        for each in group.failed
    ]
    return GroupSchema(
        name=group.name, processor=group.processor, active=group.active or None, live=group.live, failed=failed
    )


def component_schemas(run: Run | None) -> list[ComponentStateSchema]:
    """Initialisation of every component of a living run."""
    observed = (run.observed if run else None) or {}
    states = [ComponentStatus.model_validate(each) for each in observed.get("components", [])]
    return [ComponentStateSchema(**state.model_dump(exclude={"warnings"})) for state in states]


def ingest_buffer_schemas(run: Run | None) -> list[IngestBufferSchema]:
    """The sources of a living run that are pushed to."""
    observed = (run.observed if run else None) or {}
    states = [IngestBufferStatus.model_validate(each) for each in observed.get("ingest_buffers", [])]
    return [IngestBufferSchema(**state.model_dump()) for state in states]


def live_frame(pipeline: Pipeline, queries: Sequence[QueryStatus], at: float | None) -> dict[str, Any]:
    """What an open page is told about a moving pipeline, about once a second: the payload of a `live` frame.

    `at`: wall seconds of the agent's report; None without one. The queries stand last: they are half of a frame, and
    who listens can do without (`pipelines.api.monitoring.tail`).
    """
    live = while_in(pipeline.phase, _figures(queries, at)) if at is not None else LiveSchema()
    return {
        "pipeline": pipeline.name,
        "phase": pipeline.phase,
        "desired_state": pipeline.desired_state,
        "generation": pipeline.generation,
        "observed_generation": pipeline.observed_generation,
        "live": live.model_dump(mode="json"),
        "updated_at": pipeline.updated_at.isoformat(),
        "queries": [_query_schema(query).model_dump(mode="json") for query in queries],
    }


def recorded_frame(pipeline: Pipeline, run: Run | None) -> dict[str, Any]:
    """The same, from what was recorded last."""
    return live_frame(pipeline, query_statuses(run), ((run.observed if run else None) or {}).get("at"))
