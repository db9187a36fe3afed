"""A pipeline's state in words: pure functions of what is known.

The supervisor records conditions as it observes them, and that it meets an error. Here they are completed by what it
cannot know: that it is silent itself, and what is unknown of a pipeline that no supervisor has looked at yet.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from pipelines.domain.base.states import LIVE_PHASES, DesiredState, Phase, StopReason
from pipelines.domain.lifecycle.vocabulary import PHASES, STOPPED_BY


class ConditionType(StrEnum):
    """What a condition is about."""

    STABLE = "Stable"
    POSITIONS_SAFE = "PositionsSafe"
    LEDGER_BALANCED = "LedgerBalanced"
    OUTPUT = "Output"
    SUPERVISED = "Supervised"
    DISK_SPACE = "DiskSpace"
    STANDBY = "Standby"


class ConditionStatus(StrEnum):
    """Whether it holds."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


@dataclass(frozen=True)
class Condition:
    """One statement: a word for programs, a sentence for people, and since when."""

    type: ConditionType
    status: ConditionStatus
    reason: str
    message: str
    since: datetime


@dataclass(frozen=True)
class Known:
    """What the words are made of. `supervised`: the host's supervisor was heard within the last seconds.
    `output_checked`: its worker has checked the output of its pipelines within the last minutes.
    `restart_cause`: how the run before ended, until the pipeline has been healthy for long enough. `advice`: what to do
    about the first finding."""

    desired: DesiredState
    phase: Phase
    phase_since: datetime
    phase_message: str
    supervised: bool
    host: str | None
    host_seen_at: datetime | None
    output_checked: bool = False
    stop_reason: StopReason | None = None
    restart_cause: str = ""
    advice: str = ""


def completed(recorded: Iterable[Condition], known: Known) -> list[Condition]:
    """One condition of every type: what was recorded, what is unknown, and whether anybody watches. Standby is there
    where the definition asks for one."""
    found = {condition.type: condition for condition in recorded}
    supervised = _supervised(known)
    if supervised.status is not ConditionStatus.TRUE or ConditionType.SUPERVISED not in found:
        found[ConditionType.SUPERVISED] = supervised
    if known.host is None:
        found[ConditionType.STABLE] = _unplaced(known)
    if not known.output_checked:
        found.pop(ConditionType.OUTPUT, None)
    kinds = [kind for kind in ConditionType if kind in found or kind is not ConditionType.STANDBY]
    return [found.get(kind) or _unknown(kind, known) for kind in kinds]


def _unplaced(known: Known) -> Condition:
    stable = known.phase == Phase.STOPPED and known.desired == DesiredState.STOPPED
    status = ConditionStatus.TRUE if stable else ConditionStatus.FALSE
    words = "The pipeline is in its desired state." if stable else "The pipeline waits for a host."
    return Condition(ConditionType.STABLE, status, "as_desired" if stable else "no_host", words, known.phase_since)


def _unknown(kind: ConditionType, known: Known) -> Condition:
    if kind is ConditionType.DISK_SPACE:
        words = "The disk is checked while the pipeline runs."
        return Condition(kind, ConditionStatus.UNKNOWN, "not_checked", words, known.phase_since)
    if kind is ConditionType.OUTPUT:
        words = "No recent check. The worker of the pipeline's host checks the output once a minute."
        return Condition(kind, ConditionStatus.UNKNOWN, "not_checked", words, known.phase_since)
    words = "The pipeline has not been started yet."
    return Condition(kind, ConditionStatus.UNKNOWN, "never_observed", words, known.phase_since)


def _supervised(known: Known) -> Condition:
    kind, since = ConditionType.SUPERVISED, known.host_seen_at or known.phase_since
    if known.host is None:
        return Condition(kind, ConditionStatus.UNKNOWN, "not_placed", "The pipeline gets a host when it starts.", since)
    if known.supervised:
        return Condition(kind, ConditionStatus.TRUE, "ticking", "The host's supervisor is watching.", since)
    words = f"The supervisor on {known.host} is silent. An agent there continues without it."
    return Condition(kind, ConditionStatus.FALSE, "host_silent", words, since)


CONDITION_LABELS: dict[ConditionType, dict[ConditionStatus, str]] = {
    ConditionType.STABLE: {
        ConditionStatus.TRUE: "Stable",
        ConditionStatus.FALSE: "Changing",
        ConditionStatus.UNKNOWN: "Stability unknown",
    },
    ConditionType.POSITIONS_SAFE: {
        ConditionStatus.TRUE: "Positions safe",
        ConditionStatus.FALSE: "Positions unsafe",
        ConditionStatus.UNKNOWN: "Positions unknown",
    },
    ConditionType.LEDGER_BALANCED: {
        ConditionStatus.TRUE: "Ledger balanced",
        ConditionStatus.FALSE: "Ledger unbalanced",
        ConditionStatus.UNKNOWN: "Ledger unknown",
    },
    ConditionType.SUPERVISED: {
        ConditionStatus.TRUE: "Supervised",
        ConditionStatus.FALSE: "Not supervised",
        ConditionStatus.UNKNOWN: "Supervision unknown",
    },
    ConditionType.DISK_SPACE: {
        ConditionStatus.TRUE: "Disk has room",
        ConditionStatus.FALSE: "Disk low",
        ConditionStatus.UNKNOWN: "Disk not checked",
    },
    ConditionType.STANDBY: {
        ConditionStatus.TRUE: "Standby ready",
        ConditionStatus.FALSE: "No standby",
        ConditionStatus.UNKNOWN: "Standby unknown",
    },
    ConditionType.OUTPUT: {
        ConditionStatus.TRUE: "Output as usual",
        ConditionStatus.FALSE: "Output unusual",
        ConditionStatus.UNKNOWN: "Output not checked",
    },
}

_SAID_BY_MEANING = frozenset({Phase.STOPPED, Phase.RUNNING, Phase.PAUSING, Phase.PAUSED})
"""Phases of which the supervisor's message says no more than their meaning."""


_WITH_ADVICE = frozenset({Phase.BLOCKED, Phase.FAILED})
"""Phases in which the findings of a pipeline are the cause."""


_AFTER_A_RESTART = LIVE_PHASES - {Phase.STOPPING}
"""Phases whose message does not say how the run before ended."""


def headline(known: Known) -> str:
    """The state in a few sentences: what is, why, what to do, and whether the supervisor is silent.

    Live figures are left out, since they change between two reads of a headline.
    """
    sentences = [_state(known)]
    if known.phase_message and known.phase not in _SAID_BY_MEANING:
        sentences.append(known.phase_message)
        if known.advice and known.phase in _WITH_ADVICE:
            sentences.append(known.advice)
    if known.restart_cause and known.phase in _AFTER_A_RESTART:
        sentences.append(f"Restarted by Headgate: {known.restart_cause}")
    if known.host is not None and not known.supervised:
        sentences.append(f"The supervisor on {known.host} is silent; this is its last report.")
    return " ".join(sentences)


def _state(known: Known) -> str:
    label, meaning = PHASES[known.phase]
    if known.phase is Phase.RUNNING or (known.phase is Phase.BLOCKED and known.phase_message):
        return f"{label}."  # its cause says more than what the phase means
    if known.phase is Phase.STOPPED and known.host is None and known.stop_reason is None:
        return f"Not started yet. {meaning}"
    if known.phase is Phase.STOPPED and known.stop_reason is not None:
        return f"{label} {STOPPED_BY[known.stop_reason]}. {meaning}"
    return f"{label}. {meaning}"
