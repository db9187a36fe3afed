"""What requests about lag, alerts and watched groups carry."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, BeforeValidator, Field, WithJsonSchema, model_validator

from pipelines.api.http.paging import PageQuery
from pipelines.api.http.requests import Instant, Shape, Text
from pipelines.domain.base.values import BootstrapServers, GroupId, HostName
from pipelines.domain.definitions.document.references import REFERENCE, WRONG_REFERENCE
from pipelines.domain.definitions.parts.client_options import SECRET_OPTIONS, ConsumerOptions, value_problems
from pipelines.domain.monitoring.alert_rules import THRESHOLDS, AlertState, RuleSettings, Severity
from pipelines.domain.monitoring.matching import Matchers
from pipelines.foundation import clock
from pipelines.selectors.monitoring.schemas import SilenceState
from pipelines.services.monitoring.watching import LONGEST_INTERVAL, SHORTEST_INTERVAL

_AGO = re.compile(r"-?([0-9]{1,6})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_LONGEST = timedelta(days=3660)


def _moment(value: Any) -> Any:
    """`2h` is two hours ago."""
    if isinstance(value, str) and (ago := _AGO.fullmatch(value.strip())):
        return clock.now() - min(timedelta(**{_UNITS[ago[2]]: int(ago[1])}), _LONGEST)
    return value


Since = Annotated[
    Instant,
    BeforeValidator(_moment),
    WithJsonSchema({"type": "string", "examples": ["2h", "2026-01-31T12:00:00Z"]}),
]
_STEPS = {"1m": 60, "60": 60, "5m": 300, "300": 300, "1h": 3600, "3600": 3600}


class SeriesQuery(BaseModel):
    """Since when (a time, or for how long: 30m, 2h, 7d; an hour, unless given) and in steps of what, as text or in
    seconds."""

    since: Since | None = None
    step: Literal["1m", "60", "5m", "300", "1h", "3600"] | None = None

    @property
    def step_seconds(self) -> int | None:
        """The step in seconds."""
        return _STEPS[self.step] if self.step else None


class RangeQuery(BaseModel):
    """From when until when: times, or how long ago (30m, 2h, 7d). The last hour, unless given."""

    DEFAULT: ClassVar[timedelta] = timedelta(hours=1)

    since: Since | None = None
    until: Since | None = None


class AlertsQuery(PageQuery):
    """Which alerts; without a state those that stand: OPEN and ACKNOWLEDGED."""

    state: AlertState | None = None
    rule: str | None = Field(default=None, max_length=64)
    pipeline: str | None = Field(default=None, max_length=63)
    severity: Severity | None = None
    label: str | None = Field(default=None, max_length=200)


class AcknowledgeBody(Shape):
    """What is being done about it, for those who look next."""

    note: Text = Field(default="", max_length=1000)


class MatchersBody(Shape):
    """What must be true of an alert; an empty list allows everything. Of `labels` (`NAME:VALUE` or `NAME`) each name
    must match; several values of one name are alternatives."""

    pipelines: list[Text] = Field(default=[], max_length=1000)
    labels: list[Text] = Field(default=[], max_length=1000)
    rules: list[Text] = Field(default=[], max_length=1000)
    severities: list[Text] = Field(default=[], max_length=1000)

    def matchers(self) -> Matchers:
        """As the domain has them."""
        return Matchers.of(self.model_dump())


class SilencesQuery(PageQuery):
    """Which silences; without a state all."""

    state: SilenceState | None = None


TeamName = Annotated[Text | None, Field(max_length=63)]
"""The team that owns what is made; your only one, or the installation, unless given."""


class SilenceBody(Shape):
    """Of which alerts nobody is told, until when, and why. One of a `team` is about what that team owns."""

    team: TeamName = None
    matchers: MatchersBody = MatchersBody()
    ends_at: Instant | None = None
    comment: Text = Field(default="", max_length=1000)


class RuleScope(BaseModel):
    """For which pipelines a setting is: those with a label (`NAME:VALUE` or `NAME`), or one by its name; all of them
    where neither is given."""

    label: Text = Field(default="", max_length=200)
    pipeline: Text = Field(default="", max_length=63)

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if self.label and self.pipeline:
            raise ValueError("give either label or pipeline")
        return self


class RuleBody(RuleScope, Shape):
    """What is set of a rule; what is left out comes from the wider settings, null switches a threshold off."""

    enabled: bool | None = None
    for_seconds: float | None = Field(default=None, ge=0, le=86_400)
    records: int | None = Field(default=None, ge=1, lt=2**63)
    seconds: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    deviations: float | None = Field(default=None, ge=1, le=1_000, allow_inf_nan=False)

    @property
    def values(self) -> dict[str, Any]:
        """The settings that were given; null is one for a threshold alone."""
        given = self.model_dump(include=self.model_fields_set & RuleSettings.model_fields.keys())
        return {name: value for name, value in given.items() if value is not None or name in THRESHOLDS}


class GroupsQuery(PageQuery):
    """Which groups."""

    group: str | None = Field(default=None, max_length=249)


class GroupBody(Shape):
    """An external consumer group to monitor. `interval`: seconds between measurements; `max_rate`: records per
    second that a partition can be consumed with; `leap_records`: lag that emits an event when it appears within
    one measurement. `options`: as those of a Kafka source, secrets by reference."""

    team: TeamName = None
    group: GroupId
    bootstrap_servers: BootstrapServers
    options: ConsumerOptions = {}
    interval: float = Field(default=60.0, ge=SHORTEST_INTERVAL, le=LONGEST_INTERVAL)
    max_rate: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    leap_records: int | None = Field(default=None, ge=1, lt=2**63)
    host: HostName | None = None

    @model_validator(mode="after")
    def _keeps_secrets_out(self) -> Self:
        for key, value in self.options.items():
            if key in SECRET_OPTIONS and not (isinstance(value, str) and REFERENCE.fullmatch(value)):
                raise ValueError(f'{key} is a secret: store it and write "${{secret:NAME}}"')
            if isinstance(value, str) and any(not REFERENCE.fullmatch(m[0]) for m in WRONG_REFERENCE.finditer(value)):
                raise ValueError(f"{key} has a value that is not a reference")
        for _, message, suggestion in value_problems(self.options):
            raise ValueError(f"{message} {suggestion}")
        return self


class GroupPlanBody(Shape):
    """Where to: `before=EVENT-30m`, half an hour before the event of that number."""

    to: str = Field(max_length=100, pattern=r"^before=", examples=["before=1234-30m"])
