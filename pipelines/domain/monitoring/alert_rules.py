"""What deserves somebody's attention: the rules, their thresholds, and which of them a pipeline breaks now. Pure.

A rule is judged from what was observed already; nothing here asks a database or a broker.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from pipelines.domain.base.states import Phase
from pipelines.domain.hosts.disk import DISK_FULL
from pipelines.domain.ledger.journal import JOURNAL_DAMAGED
from pipelines.domain.lifecycle.conditions import ConditionStatus, ConditionType


class AlertState(StrEnum):
    """OPEN: not acknowledged. ACKNOWLEDGED: a user has acknowledged it, and its cause persists. RESOLVED: its cause
    has ended."""

    OPEN = "OPEN"
    ACKNOWLEDGED = "ACKNOWLEDGED"
    RESOLVED = "RESOLVED"


STANDING = (AlertState.OPEN, AlertState.ACKNOWLEDGED)
"""States of an alert whose cause is still there; at most one of a rule and key is in them."""


class AlertRule(StrEnum):
    """The rules that users can set; services may raise alerts of further names."""

    LAG = "lag"
    DEGRADED = "degraded"
    STALLED = "stalled"
    BLOCKED = "blocked"
    FAILED = "failed"
    UNKNOWN = "unknown"
    AGENT_CRASHED = "agent_crashed"
    JOURNAL_DAMAGED = "journal_damaged"
    DISK_FULL = "disk_full"
    UNSUPERVISED = "unsupervised"
    UNBALANCED = "unbalanced"
    OUTPUT = "output"
    GROUP_MOVED = "group_moved"
    GROUP_LOST = "group_lost"
    EXPIRING = "expiring"
    HOST_SILENT = "host_silent"
    DISK_LOW = "disk_low"
    MIGRATION_WAITS = "migration_waits"
    AUDIT_BROKEN = "audit_broken"


RULE_DESCRIPTIONS: dict[AlertRule, str] = {
    AlertRule.LAG: "Too many records wait: more than `records` of them, or the oldest for more than `seconds`.",
    AlertRule.DEGRADED: "The pipeline is DEGRADED: a source or a sink is failing, or a member of a sink group.",
    AlertRule.STALLED: "The pipeline is STALLED.",
    AlertRule.BLOCKED: "The pipeline is BLOCKED and needs a decision.",
    AlertRule.FAILED: "The pipeline is FAILED, and Headgate does not restart it.",
    AlertRule.UNKNOWN: "The phase is UNKNOWN: the agent does not report, or what it reports cannot be relied on.",
    AlertRule.AGENT_CRASHED: "A run crashed. Resolved when the pipeline has been healthy for `restart_reset_after`.",
    AlertRule.JOURNAL_DAMAGED: "The journal of a run was damaged, so the ledger may lack records.",
    AlertRule.DISK_FULL: "The disk of a pipeline's runs or checkpoints is full, so no further batch starts.",
    AlertRule.UNSUPERVISED: "The supervisor meets an error at the pipeline, and cannot do everything that is due.",
    AlertRule.UNBALANCED: "The ledger is unbalanced, or a range was skipped or reread between batches.",
    AlertRule.OUTPUT: "Of at least `records` read in `seconds` nothing was delivered, or a share, or bodies of a size, "
    "that is more than `deviations` away from what was usual; or one of several channels stopped.",
    AlertRule.GROUP_MOVED: "Another client commits to a consumer group, or its committed offsets jumped.",
    AlertRule.GROUP_LOST: "Committed offsets of a consumer group are gone.",
    AlertRule.EXPIRING: "Retention or the expiry of the group will pass a position.",
    AlertRule.HOST_SILENT: "A host has been silent for 30 s, or for `for_seconds` if that is longer.",
    AlertRule.DISK_LOW: "The disk of a host's runs or checkpoints has less room than `HEADGATE_DISK_MARGIN`.",
    AlertRule.MIGRATION_WAITS: "A migration requires action: it waits at a gate, or cannot continue by itself.",
    AlertRule.AUDIT_BROKEN: "The audit's chain does not hold: a row or the head was changed, removed or inserted.",
}


RECEIVER_DISABLED = "receiver_disabled"
"""The alert of a receiver that was disabled by itself. No setting concerns it."""
GLASS_BROKEN = "glass_broken"
"""The alert of an administrator who has passed by approvals or a freeze. No setting concerns it, and it is over when a
user has acknowledged it: its cause is a deed, which does not last."""
RULE_NAMES = (*(rule.value for rule in AlertRule), RECEIVER_DISABLED, GLASS_BROKEN)


class Severity(StrEnum):
    """CRITICAL: data is not delivered, or is at risk. WARNING: it will be, if nothing is done. INFO: a step waits."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


_SEVERITIES: dict[str, Severity] = {
    AlertRule.LAG: Severity.WARNING,
    AlertRule.DEGRADED: Severity.WARNING,
    AlertRule.DISK_LOW: Severity.WARNING,
    AlertRule.AGENT_CRASHED: Severity.WARNING,
    AlertRule.UNSUPERVISED: Severity.WARNING,
    AlertRule.GROUP_MOVED: Severity.WARNING,
    RECEIVER_DISABLED: Severity.WARNING,
    GLASS_BROKEN: Severity.WARNING,
    AlertRule.MIGRATION_WAITS: Severity.INFO,
}


def severity_of(rule: str) -> Severity:
    """How severe the alerts of a rule are."""
    return _SEVERITIES.get(rule, Severity.CRITICAL if rule in RULE_NAMES else Severity.WARNING)


def rules_of(severity: Severity) -> list[str]:
    """The rules of this severity, by name."""
    return [rule for rule in RULE_NAMES if severity_of(rule) is severity]


_NEXT_STEPS: dict[str, str] = {
    AlertRule.LAG: "Compare the rates of source and sinks, and look for a slow sink or too few partitions.",
    AlertRule.DEGRADED: "Bring the component back that the message names. Headgate retries, and no record is lost.",
    AlertRule.STALLED: "Open the pipeline's conditions: they name the component that makes no progress.",
    AlertRule.BLOCKED: "Read the findings of the pipeline, decide, and start it again.",
    AlertRule.FAILED: "Read the log of the last run, remove the cause, and start the pipeline again.",
    AlertRule.UNKNOWN: "Check that the host is up and its worker runs. Do not start the pipeline elsewhere before.",
    AlertRule.AGENT_CRASHED: "Read the log of the crashed run. Headgate restarts the pipeline by itself.",
    AlertRule.JOURNAL_DAMAGED: "Compare the ledger with what the sinks hold for the run that is named.",
    AlertRule.UNSUPERVISED: "Read the worker's log on the host of the pipeline for the error that is named.",
    AlertRule.UNBALANCED: "Open the pipeline's ledger, and find the batches that are not balanced.",
    AlertRule.OUTPUT: "Compare the component that the message names with the revision before. Correct it or roll back, "
    "and replay the range that it took.",
    AlertRule.GROUP_MOVED: "Find the other client of the consumer group, and check the positions of the pipeline.",
    AlertRule.GROUP_LOST: "Check the consumer group at the broker, and plan a reset to the last known offsets.",
    AlertRule.EXPIRING: "Start the pipeline, or extend the retention, before records are lost.",
    AlertRule.DISK_FULL: "Free space on the disk that the message names, or add some. The pipeline resumes by itself.",
    AlertRule.DISK_LOW: "Free space on the disk of the host before its pipelines stop, or add some.",
    AlertRule.HOST_SILENT: "Check the host and its worker. If the host is lost, follow the guide for a lost host.",
    AlertRule.MIGRATION_WAITS: "Open the migration, and continue it or roll it back.",
    AlertRule.AUDIT_BROKEN: "Run `headgate audit verify`, restore the rows from an export, and find who changed them.",
    RECEIVER_DISABLED: "Correct the receiver, send a test, and enable it again.",
    GLASS_BROKEN: "Review what was done and why, in the audit, and acknowledge the alert.",
}


def next_step(rule: str) -> str:
    """What to do about an alert of a rule; empty where it is unknown."""
    return _NEXT_STEPS.get(rule, "")


class RuleSettings(BaseModel):
    """When a rule raises an alert. `for_seconds`: it must be broken for so long; null thresholds never raise one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = True
    for_seconds: Annotated[float, Field(ge=0, le=86_400)] = 0.0
    records: Annotated[int, Field(ge=1)] | None = None
    seconds: Annotated[float, Field(gt=0)] | None = None
    deviations: Annotated[float, Field(ge=1, le=1_000)] | None = None


THRESHOLDS = frozenset({"records", "seconds", "deviations"})
"""What a setting switches off by null."""
WITHOUT_PIPELINE = frozenset({AlertRule.HOST_SILENT, AlertRule.DISK_LOW, AlertRule.AUDIT_BROKEN})
"""Rules that are not about pipelines: settings for a label or a pipeline would change nothing."""

DEFAULTS: dict[AlertRule, RuleSettings] = {
    **{rule: RuleSettings() for rule in AlertRule},
    AlertRule.LAG: RuleSettings(for_seconds=120.0, seconds=900.0),
    AlertRule.OUTPUT: RuleSettings(records=1_000, seconds=300.0, deviations=6.0),
}
"""Without a setting. Lag in records has no default: how many are many depends on the topic."""

_MEASURED: dict[AlertRule, tuple[str, ...]] = {
    AlertRule.LAG: ("records", "seconds"),
    AlertRule.OUTPUT: ("records", "seconds", "deviations"),
}


def thresholds_of(rule: AlertRule) -> tuple[str, ...]:
    """The thresholds that a rule compares with; the others of a setting change nothing of it."""
    return _MEASURED.get(rule, ())


def has_label(labels: Mapping[str, str], selector: str) -> bool:
    """Whether labels have what a selector names: `NAME:VALUE`, or `NAME` with any value."""
    name, colon, value = selector.partition(":")
    return name in labels and (not colon or labels[name] == value)


@dataclass(frozen=True)
class Override:
    """A setting for everything, for the pipelines with a label (`NAME:VALUE` or `NAME`), or for one pipeline. `values`
    has the keys of RuleSettings that it sets."""

    rule: AlertRule
    values: Mapping[str, Any]
    label: str = ""
    pipeline: str = ""

    @property
    def rank(self) -> tuple[int, str]:
        """Later ones win: everything, labels in the order of their text, the pipeline."""
        return (2 if self.pipeline else 1 if self.label else 0, self.label)

    def applies(self, pipeline: str, labels: Mapping[str, str]) -> bool:
        """Whether it is meant for a pipeline."""
        if self.pipeline:
            return self.pipeline == pipeline
        return not self.label or has_label(labels, self.label)


def settings_for(
    rule: AlertRule, overrides: Iterable[Override], pipeline: str, labels: Mapping[str, str]
) -> RuleSettings:
    """The settings of a rule for one pipeline: the defaults, and over them what applies, the more special the later."""
    found = [each for each in overrides if each.rule is rule and each.applies(pipeline, labels)]
    merged = DEFAULTS[rule].model_dump()
    for each in sorted(found, key=lambda override: override.rank):
        merged |= each.values
    return RuleSettings.model_validate(merged)


@dataclass(frozen=True)
class Facts:
    """What is known of a pipeline when its rules are judged. `lag_seconds`: age of the oldest record that waits.
    `since`: when its living run began to consume. `team`: the id of the team that owns it."""

    pipeline: str
    phase: Phase
    phase_message: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    conditions: Iterable[Mapping[str, Any]] = ()
    lag_records: int | None = None
    lag_seconds: float | None = None
    since: datetime | None = None
    team: int = 0


@dataclass(frozen=True)
class Broken:
    """A rule that is broken now. The pair (rule, key) is one alert, however often it is found."""

    rule: AlertRule
    key: str
    message: str
    data: Mapping[str, Any] = field(default_factory=dict)


_BY_PHASE = {
    Phase.DEGRADED: AlertRule.DEGRADED,
    Phase.STALLED: AlertRule.STALLED,
    Phase.BLOCKED: AlertRule.BLOCKED,
    Phase.FAILED: AlertRule.FAILED,
    Phase.UNKNOWN: AlertRule.UNKNOWN,
}
_BY_CONDITION = {
    (ConditionType.LEDGER_BALANCED, JOURNAL_DAMAGED.lower()): AlertRule.JOURNAL_DAMAGED,
    (ConditionType.SUPERVISED, "error"): AlertRule.UNSUPERVISED,
    (ConditionType.DISK_SPACE, DISK_FULL.lower()): AlertRule.DISK_FULL,
}
EVALUATED = frozenset(
    {AlertRule.LAG, AlertRule.UNBALANCED, AlertRule.OUTPUT, *_BY_PHASE.values(), *_BY_CONDITION.values()}
)
"""Rules that `broken` looks at; alerts of a pipeline that it does not find any more are over. The others are raised and
cleared by whoever notices."""


def broken(facts: Facts, overrides: Iterable[Override]) -> list[tuple[Broken, RuleSettings]]:
    """Every rule that a pipeline breaks now, with the settings that made it so."""
    given = list(overrides)
    found = [(each, settings_for(each.rule, given, facts.pipeline, facts.labels)) for each in _candidates(facts)]
    lag = settings_for(AlertRule.LAG, given, facts.pipeline, facts.labels)
    return [(each, settings) for each, settings in [*found, *_lagging(facts, lag)] if settings.enabled]


def _candidates(facts: Facts) -> Iterator[Broken]:
    """What is broken, whatever the settings; that a disk is full says more than that the pipeline is DEGRADED by it."""
    by_condition = [
        Broken(rule, facts.pipeline, str(each["message"]))
        for each in facts.conditions
        if (rule := _BY_CONDITION.get((each["type"], each["reason"]))) is not None
    ]
    rule = _BY_PHASE.get(facts.phase)
    caused = rule is AlertRule.DEGRADED and any(each.rule is AlertRule.DISK_FULL for each in by_condition)
    if rule is not None and not caused:
        yield Broken(rule, facts.pipeline, facts.phase_message or f"The pipeline is {facts.phase}.")
    yield from by_condition
    yield from _unbalanced(facts)
    for each in facts.conditions:
        if (each["type"], each["status"]) == (ConditionType.OUTPUT, ConditionStatus.FALSE):
            yield Broken(AlertRule.OUTPUT, facts.pipeline, str(each["message"]))


def _unbalanced(facts: Facts) -> Iterator[Broken]:
    """One alert whichever of the two conditions tells of it."""
    reported = {
        each["type"]: each
        for each in facts.conditions
        if each["status"] == ConditionStatus.FALSE
        and (
            each["type"] == ConditionType.LEDGER_BALANCED
            or (each["type"] == ConditionType.POSITIONS_SAFE and each["reason"] == "discontinuous")
        )
    }
    if reported:
        message = " ".join(str(each["message"]) for _, each in sorted(reported.items()))
        yield Broken(AlertRule.UNBALANCED, facts.pipeline, message)


def _lagging(facts: Facts, limits: RuleSettings) -> Iterator[tuple[Broken, RuleSettings]]:
    """Records wait for a pipeline that is STOPPED because somebody wants it so."""
    if facts.phase is Phase.STOPPED:
        return
    records, seconds = facts.lag_records, facts.lag_seconds
    many = records is not None and limits.records is not None and records > limits.records
    old = seconds is not None and limits.seconds is not None and seconds > limits.seconds
    if many or old:
        # Words that stay the same while the figures change, so that an alert is not written again with every look.
        over = [f"more than {limits.records} records wait"] if many else []
        over += [f"the oldest waiting record is older than {limits.seconds:g} s"] if old else []
        data = {"limit_records": limits.records, "limit_seconds": limits.seconds}
        yield Broken(AlertRule.LAG, facts.pipeline, f"Lag: {', and '.join(over)}.", data), limits
