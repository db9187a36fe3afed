"""The output of a host's pipelines, checked once a minute from the ledger and stored.

What is unusual is among the conditions that alerts are raised of.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from uuid import UUID

import structlog
from django.db import transaction

from pipelines.domain.ledger.ledger import Parts
from pipelines.domain.lifecycle.conditions import ConditionStatus, ConditionType
from pipelines.domain.monitoring.alert_rules import AlertRule, Facts, Override, RuleSettings, settings_for
from pipelines.domain.monitoring.output import (
    UNUSUAL,
    Bucket,
    Checked,
    Seen,
    Series,
    Verdict,
    Window,
    checked,
    knows_hour,
    verdict,
    window_seconds,
)
from pipelines.foundation import clock
from pipelines.foundation.availability import is_unavailable
from pipelines.models import Host, OutputVerdict
from pipelines.selectors.monitoring import output as reading
from pipelines.selectors.monitoring.output import Past
from pipelines.services.base import bulk
from pipelines.services.monitoring import alerts

CHECK_SECONDS = 60.0
PAST_SECONDS = 1_800.0
"""How often the past is read again."""

_WRITTEN = ("status", "reason", "message", "sources", "since")

log = structlog.get_logger(__name__)


@dataclass
class OutputWatch:
    """Checks all pipelines of a host. Everything that it remembers can be lost: the verdicts are stored."""

    host: str
    _verdicts: dict[UUID, tuple[Verdict, datetime]] = field(default_factory=dict)
    _past: Past = field(default_factory=dict)
    _check_due: float = 0.0
    _past_due: float = 0.0

    def add_to(self, facts: Mapping[UUID, Facts], now: float) -> dict[UUID, Facts]:
        """The facts with what is unusual among their conditions. `now`: seconds of a monotonic clock. A defect here
        leaves the other rules alone."""
        if now >= self._check_due:
            self._check_due = now + CHECK_SECONDS
            try:
                self._check(facts, now)
            except Exception as error:
                if is_unavailable(error):
                    raise
                log.exception("output_not_checked")
        return {pipeline: self._with_condition(pipeline, each) for pipeline, each in facts.items()}

    def _with_condition(self, pipeline: UUID, facts: Facts) -> Facts:
        found, _ = self._verdicts.get(pipeline, (None, None))
        if found is None or found.status is not ConditionStatus.FALSE:
            return facts
        condition = {"type": ConditionType.OUTPUT, "status": found.status, "reason": found.reason}
        return replace(facts, conditions=[*facts.conditions, {**condition, "message": found.message}])

    def _check(self, facts: Mapping[UUID, Facts], now: float) -> None:
        wall = clock.now()
        if facts.keys() - self._verdicts.keys():
            self._verdicts = reading.stored(self.host) | self._verdicts
        overrides = [each for each in alerts.load_overrides() if each.rule is AlertRule.OUTPUT]
        look = _Look(self.host, wall, overrides, facts)
        if now >= self._past_due:
            self._past, self._past_due = look.past(), now + PAST_SECONDS
        found = look.verdicts(self._past, self._verdicts)
        known = {pipeline: (each, self._since(pipeline, each, wall)) for pipeline, each in found.items()}
        changed = {pipeline: each for pipeline, each in known.items() if self._verdicts.get(pipeline) != each}
        record(host=self.host, changed=changed, now=wall)
        self._verdicts = known

    def _since(self, pipeline: UUID, found: Verdict, wall: datetime) -> datetime:
        before, since = self._verdicts.get(pipeline, (None, wall))
        return since if before is not None and before.status is found.status else wall


@dataclass(frozen=True)
class _Look:
    """One look at all pipelines: a query for each length of window that is set, and one more where one is unusual."""

    host: str
    wall: datetime
    overrides: Sequence[Override]
    facts: Mapping[UUID, Facts]

    @cached_property
    def limits(self) -> dict[UUID, RuleSettings]:
        """The settings of each pipeline."""
        return {
            pipeline: settings_for(AlertRule.OUTPUT, self.overrides, each.pipeline, each.labels)
            for pipeline, each in self.facts.items()
        }

    @cached_property
    def windows(self) -> dict[UUID, Mapping[str, Window]]:
        """What was read in the window of each pipeline that has read something."""
        lengths = {pipeline: window_seconds(each) for pipeline, each in self.limits.items()}
        found = {
            length: reading.windows(self.host, self._start(length), self.wall)
            for length in set(lengths.values())
            if length is not None
        }
        return {
            pipeline: found[length][pipeline]
            for pipeline, length in lengths.items()
            if length is not None and pipeline in found[length]
        }

    def past(self) -> Past:
        """The same hour of earlier days; where too few have it, the last hours, too."""
        days = reading.same_hour(self.host, self.wall)
        lacking = {
            pipeline
            for pipeline, sources in self.windows.items()
            if not all(knows_hour(days.get(pipeline, {}).get(source, ()), self.wall) for source in sources)
        }
        hours = reading.recent(self.host, lacking, self.wall) if lacking else {}
        return {pipeline: _joined(days.get(pipeline, {}), hours.get(pipeline, {})) for pipeline in {*days, *hours}}

    def verdicts(self, past: Past, before: Mapping[UUID, tuple[Verdict, datetime]]) -> dict[UUID, Verdict]:
        """What is to be said of each."""
        seen = {
            pipeline: Seen(
                each.phase,
                each.since,
                each.lag_seconds,
                self.windows.get(pipeline, {}),
                past.get(pipeline, {}),
                *before.get(pipeline, (None, None)),
            )
            for pipeline, each in self.facts.items()
        }
        found = {pipeline: checked(each, self.limits[pipeline], self.wall) for pipeline, each in seen.items()}
        taken = self._taken(found)
        return {
            pipeline: verdict(each, self.limits[pipeline], found[pipeline], taken.get(pipeline, {}))
            for pipeline, each in seen.items()
        }

    def _start(self, length: float) -> datetime:
        return self.wall - timedelta(seconds=length)

    def _taken(self, found: Mapping[UUID, Mapping[Series, Checked]]) -> dict[UUID, dict[Series, Parts]]:
        """What components have taken of those that are unusual."""
        unusual: dict[float, list[UUID]] = defaultdict(list)
        for pipeline, series in found.items():
            if any(each.reason in UNUSUAL for each in series.values()):
                unusual[window_seconds(self.limits[pipeline]) or 0.0].append(pipeline)
        taken: dict[UUID, dict[Series, Parts]] = {}
        for length, pipelines in unusual.items():
            taken |= reading.parts(self.host, pipelines, self._start(length), self.wall)
        return taken


def _joined(one: Mapping[str, list[Bucket]], other: Mapping[str, list[Bucket]]) -> dict[str, list[Bucket]]:
    return {source: [*one.get(source, ()), *other.get(source, ())] for source in {*one, *other}}


@transaction.atomic
def record(*, host: str, changed: Mapping[UUID, tuple[Verdict, datetime]], now: datetime) -> None:
    """Store the verdicts that have changed, each with since when its status is so, and that all were checked now."""
    rows = [
        OutputVerdict(
            pipeline_id=pipeline,
            status=each.status,
            reason=each.reason,
            message=each.message,
            sources={series.key: band for series, band in each.series.items()},
            since=since,
        )
        for pipeline, (each, since) in changed.items()
    ]
    bulk.insert(rows, unique=["pipeline"], update=_WRITTEN)
    Host.objects.filter(name=host).update(output_checked_at=now)
