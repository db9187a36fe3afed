"""A pipeline's state in words: pure functions of what is known.

The supervisor records conditions as it observes them. Here they are completed by what it cannot know: that it is silent
itself, and what is unknown of a pipeline that no supervisor has looked at yet.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from pipelines.domain.states import DesiredState, Phase


class ConditionType(StrEnum):
    """What a condition is about."""

    STABLE = "Stable"
    POSITIONS_SAFE = "PositionsSafe"
    LEDGER_BALANCED = "LedgerBalanced"
    SUPERVISED = "Supervised"


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
    """What the words are made of. `supervised`: the host's supervisor was heard within the last seconds."""

    desired: DesiredState
    phase: Phase
    phase_since: datetime
    phase_message: str
    supervised: bool
    host: str | None
    host_seen_at: datetime | None


def completed(recorded: Iterable[Condition], known: Known) -> list[Condition]:
    """One condition of every type: what was recorded, what is unknown, and whether anybody watches."""
    found = {condition.type: condition for condition in recorded}
    found[ConditionType.SUPERVISED] = _supervised(known)
    if known.host is None:
        found[ConditionType.STABLE] = _unplaced(known)
    return [found.get(kind) or _unknown(kind, known) for kind in ConditionType]


def _unplaced(known: Known) -> Condition:
    stable = known.phase == Phase.STOPPED and known.desired == DesiredState.STOPPED
    status = ConditionStatus.TRUE if stable else ConditionStatus.FALSE
    words = "It is as it was asked to be." if stable else "It waits for a host."
    return Condition(ConditionType.STABLE, status, "as_desired" if stable else "no_host", words, known.phase_since)


def _unknown(kind: ConditionType, known: Known) -> Condition:
    return Condition(kind, ConditionStatus.UNKNOWN, "never_observed", "It has not been started yet.", known.phase_since)


def _supervised(known: Known) -> Condition:
    kind, since = ConditionType.SUPERVISED, known.host_seen_at or known.phase_since
    if known.host is None:
        return Condition(kind, ConditionStatus.UNKNOWN, "not_placed", "It has no host until it is started.", since)
    if known.supervised:
        return Condition(kind, ConditionStatus.TRUE, "ticking", "The host's supervisor looks after it.", since)
    words = f"The supervisor on {known.host} is silent; an agent there goes on by itself."
    return Condition(kind, ConditionStatus.FALSE, "host_silent", words, since)


HEADLINES: dict[Phase, str] = {
    Phase.STOPPED: "Stopped; no process exists.",
    Phase.PREFLIGHT: "Starting: every component is being initialised; nothing has been read.",
    Phase.STARTING: "Starting: the first batch is on its way.",
    Phase.RUNNING: "Running.",
    Phase.DEGRADED: "A source or a sink is away; another sink of the group takes the batches, or they are held.",
    Phase.STALLED: "Stalled: the agent lives, but no batch gets finished.",
    Phase.PAUSING: "Pausing: the batch in hand is being finished.",
    Phase.PAUSED: "Paused; nothing is being read.",
    Phase.STOPPING: "Stopping.",
    Phase.BACKOFF: "The agent ended by itself; the next start waits for the back-off.",
    Phase.BLOCKED: "Blocked: nothing is read until a person decides.",
    Phase.FAILED: "Failed: it is not started again without a person.",
    Phase.UNKNOWN: "Nothing is heard of the agent.",
}
EXPLAINED_PHASES = frozenset(
    {Phase.DEGRADED, Phase.STALLED, Phase.STOPPING, Phase.BACKOFF, Phase.BLOCKED, Phase.FAILED, Phase.UNKNOWN}
)


def headline(known: Known, in_flight: int) -> str:
    """The state in a few words: what is, what holds it, and who is silent."""
    words = [HEADLINES[known.phase]]
    if known.phase in {Phase.PAUSING, Phase.PAUSED}:
        words.append(f"{in_flight} in flight.")
    if known.phase in EXPLAINED_PHASES and known.phase_message:
        words.append(known.phase_message)
    if known.host is not None and not known.supervised:
        words.append(f"The supervisor on {known.host} is silent; this is the last that is known.")
    return " ".join(words)
