"""Where a pipeline is to go on, as people write it: also where it stood before something happened."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pipelines.domain.base.findings import Finding, PathParts, dotted
from pipelines.domain.positions.plan import Goal, Target
from pipelines.domain.positions.resets import before
from pipelines.domain.positions.target import target
from pipelines.foundation.errors import NotFound
from pipelines.models import Event, Pipeline
from pipelines.selectors.monitoring.events import moment
from pipelines.selectors.monitoring.lag import positions_before

_PREFIX = "before="


def decided(
    pipeline: Pipeline, written: Any, *, now: datetime, source: str | None = None, within: PathParts = ()
) -> Target | list[Finding]:
    """Read a decision: its target, or everything that is wrong with it. `within`: where it stands in the request.
    Raises NotFound for an event that is not there."""
    found: list[Finding] = []
    if source is not None and source not in (known := _sources(pipeline)):
        words, advice = f"{pipeline.name} has no source {source!r}.", f"It has {', '.join(known) or 'none'}."
        found = [Finding(path=dotted((*within, "source")), code="source_unknown", message=words, suggestion=advice)]
    try:
        wanted = target_of(pipeline, written, now=now, source=source)
    except ValueError as error:
        return [*found, Finding(path=dotted((*within, "to")), code="bad_target", message=str(error))]
    return found or wanted


def _sources(pipeline: Pipeline) -> list[str]:
    return list(pipeline.current_revision.definition.get("sources", {})) if pipeline.current_revision else []


def target_of(pipeline: Pipeline, written: Any, *, now: datetime, source: str | None = None) -> Target:
    """Read every form of a target (see position_target.FORMS). Relative times count from `now`.

    Raises NotFound for an event that is not there, ValueError for what is no position.
    """
    if isinstance(written, str) and written.strip().startswith(_PREFIX):
        return _before(pipeline, written.strip().removeprefix(_PREFIX), source)
    return target(written, now=now, source=source)


def _before(pipeline: Pipeline, written: str, source: str | None) -> Target:
    """The positions that were seen last at that time; where none were, the time of the records. Channels that stood
    apart go back to the one furthest behind, so that nothing is skipped. Sources of one topic may read different
    clusters, so there one has to be named."""
    wanted = before(written)
    event = Event.objects.filter(pk=wanted.event).first()
    if event is None:
        hint = "headgate events lists them with -o json."
        raise NotFound(f"There is no event {wanted.event}.", code="event_not_found", hint=hint)
    at = moment(event, wanted.seconds)
    seen = positions_before(pipeline, at) or {}
    offsets: dict[str, dict[int, int]] = {}
    owners: dict[str, str] = {}
    for (owner, _, topic, partition), position in seen.items():
        if source not in (None, owner):
            continue
        if owners.setdefault(topic, owner) != owner:
            raise ValueError(f"{owners[topic]} and {owner} both read {topic}; choose for one source at a time")
        known = offsets.setdefault(topic, {})
        known[partition] = min(position, known.get(partition, position))
    if not offsets:
        return Target(goal=Goal.TIMESTAMP, at=round(at.timestamp() * 1000), source=source)
    return Target(goal=Goal.OFFSETS, offsets=offsets, source=source)
