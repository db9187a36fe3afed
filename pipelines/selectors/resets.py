"""Where a pipeline stood before something happened, as a target for the plan of a position."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from controlplane.shared.errors import NotFound
from pipelines.domain.position_plan import Goal, Target
from pipelines.domain.resets import before
from pipelines.models import Event, Pipeline
from pipelines.selectors.lag import positions_before

PREFIX = "before="


def moment(event: Event, seconds: float) -> datetime:
    """So long before an event. What was found between two looks may have happened right after the first of them."""
    began = event.data.get("before_at")
    at = event.at if began is None else min(event.at, datetime.fromtimestamp(began, UTC))
    return at - timedelta(seconds=seconds)


def target_before(pipeline: Pipeline, written: str, source: str | None = None) -> Target:
    """`before=EVENT-30m` as a target: the positions that were seen last at that time; where none were, the time of the
    records. Channels that stood apart go back to the one furthest behind, so that nothing is skipped.

    Raises NotFound for the event, ValueError for another text.
    """
    wanted = before(written.removeprefix(PREFIX))
    event = Event.objects.filter(pk=wanted.event).first()
    if event is None:
        hint = "headgate events lists them with --json."
        raise NotFound(f"There is no event {wanted.event}.", code="event_not_found", hint=hint)
    at = moment(event, wanted.seconds)
    seen = positions_before(pipeline, at)
    if seen is None:
        return Target(goal=Goal.TIMESTAMP, at=round(at.timestamp() * 1000), source=source)
    offsets: dict[str, dict[int, int]] = {}
    for (_, _, topic, partition), position in seen.items():
        known = offsets.setdefault(topic, {})
        known[partition] = min(position, known.get(partition, position))
    return Target(goal=Goal.OFFSETS, offsets=offsets, source=source)
