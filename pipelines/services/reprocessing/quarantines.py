"""Setting records aside that make a pipeline crash."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.db import transaction

from pipelines.domain.base.findings import Finding
from pipelines.domain.base.states import RESTING_PHASES, Phase
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.governance.changes import ChangeKind
from pipelines.domain.runs.crashes import Suspect
from pipelines.foundation import clock
from pipelines.foundation.errors import Conflict, Invalid
from pipelines.models import Pipeline, Position, Quarantine
from pipelines.selectors.lifecycle.situations import live_run
from pipelines.selectors.runs.crashes import quarantined
from pipelines.services.base import audit, events
from pipelines.services.base.audit import Actor
from pipelines.services.governance import governing

MOST_RECORDS = 1_000_000
MOST_RANGES = 100
"""Open ranges of a pipeline: each is looked at for every record."""


@transaction.atomic
def put(*, pipeline: Pipeline, ranges: Sequence[Suspect], reason: str, actor: Actor) -> list[Quarantine]:
    """Put ranges in quarantine: the next run makes dead letters of their records, and goes on behind them.

    A range that is there already stays as it is. Raises Conflict while a process exists or may exist, Invalid with
    every finding where a range is not one that this pipeline will read, Governed where it needs the word of others.
    """
    current = Pipeline.objects.select_related("current_revision").get(id=pipeline.id)
    definition = _definition(current)
    _require_rest(current)
    findings = [*_findings(current, definition, ranges), *_too_many(current, ranges)]
    if findings:
        raise Invalid("No records were quarantined.", code="range_invalid", findings=findings)
    governing.require(pipeline=current, kind=ChangeKind.QUARANTINE, actor=actor)
    cause = reason or "Quarantined by a user."
    rows = [_put(current, each, cause, actor) for each in ranges]
    words = "; ".join(str(each) for each in ranges)
    after = {"ranges": [each.model_dump() for each in ranges], "reason": reason}
    audit.record(actor=actor, action="quarantine.put", pipeline_name=current.name, after=after)
    message = f"{actor.name} quarantined: {words}."
    events.record(kind="quarantine.put", message=message, pipeline=current, actor=actor.name, data=after)
    return rows


def _put(pipeline: Pipeline, each: Suspect, cause: str, actor: Actor) -> Quarantine:
    defaults = {"cause": cause, "created_at": clock.now(), "created_by": actor.name}
    return Quarantine.objects.get_or_create(pipeline=pipeline, **each.model_dump(), defaults=defaults)[0]


def _definition(pipeline: Pipeline) -> Definition:
    if pipeline.current_revision is None:
        raise Conflict("The pipeline has no definition.", code="no_revision", hint="Publish a revision.")
    definition = Definition.model_validate(pipeline.current_revision.definition)
    if definition.delivery.mode == "real_time":
        raise Conflict(
            "A pipeline in real-time mode keeps no dead letters, so its records cannot be quarantined.",
            code="real_time",
            hint="Plan a position after the records: headgate positions plan --to offsets=…",
        )
    return definition


def _require_rest(pipeline: Pipeline) -> None:
    if live_run(pipeline) is not None or (pipeline.phase not in RESTING_PHASES and pipeline.phase != Phase.BACKOFF):
        raise Conflict(
            f"{pipeline.name} is {pipeline.phase}; a running agent does not read a new quarantine.",
            code="pipeline_not_stopped",
            hint=f"POST /api/v1/pipelines/{pipeline.name}/stop",
        )


def _findings(pipeline: Pipeline, definition: Definition, ranges: Sequence[Suspect]) -> Iterator[Finding]:
    queries = set(definition.queries())
    rows = Position.objects.filter(pipeline=pipeline)
    reached = {(p.source, p.channel, p.topic, p.partition): p.next_offset for p in rows}
    for number, each in enumerate(ranges):
        path = f"ranges[{number}]"
        at = reached.get((each.source, each.channel, each.topic, each.partition))
        if (each.source, each.channel) not in queries:
            words = f"No query reads {each.source} for {each.channel}."
            yield Finding(path=path, code="UNKNOWN_QUERY", message=words, suggestion=f"It reads {_listed(queries)}.")
        elif at is None:
            words = f"The ledger has no position of {each.topic}/{each.partition}."
            yield Finding(path=path, code="UNKNOWN_PARTITION", message=words)
        elif each.end <= each.start:
            yield Finding(path=path, code="EMPTY_RANGE", message="The range ends before it starts.")
        elif each.start < at:
            words = f"{each.topic}/{each.partition} is already at {at}; records before it are accounted for."
            yield Finding(path=path, code="BEHIND_POSITION", message=words, suggestion=f"Start at {at} or later.")


def _listed(queries: set[tuple[str, str]]) -> str:
    return ", ".join(f"{source} for {channel}" for source, channel in sorted(queries))


def _too_many(pipeline: Pipeline, ranges: Sequence[Suspect]) -> Iterator[Finding]:
    records = sum(max(0, each.records) for each in ranges)
    if records > MOST_RECORDS:
        words = f"{records} records are more than the {MOST_RECORDS} that can be quarantined at once."
        hint = "Plan a position after them: headgate positions plan --to offsets=…"
        yield Finding(path="ranges", code="TOO_MANY_RECORDS", message=words, suggestion=hint)
    if len(quarantined(pipeline.id)) + len(ranges) > MOST_RANGES:
        words = f"A pipeline has at most {MOST_RANGES} quarantined ranges that it has not passed yet."
        yield Finding(
            path="ranges",
            code="TOO_MANY_RANGES",
            message=words,
            suggestion="Start the pipeline, so that it passes some.",
        )
