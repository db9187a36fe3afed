"""What is true of a pipeline besides its phase. A condition changes its time only when its status changes.

Whether anybody supervises is not among them: a supervisor that is silent could not record it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.domain.base.positions import FINDING_CODES
from pipelines.domain.base.states import DesiredState, Phase
from pipelines.domain.hosts.disk import DISK_FULL, DISK_LOW, DiskState, full_words
from pipelines.domain.ledger.journal import JOURNAL_DAMAGED
from pipelines.domain.lifecycle.conditions import ConditionStatus, ConditionType
from workers.ports import Now
from workers.supervisor.decisions.actions import Action, SetConditions
from workers.supervisor.decisions.snapshot import DiskSnapshot, PipelineSnapshot

Verdict = tuple[ConditionStatus, str, str]

POSITION_CODES = FINDING_CODES | {"CLUSTER_CHANGED", "HOST_CHANGED", JOURNAL_DAMAGED, "OPEN_BATCH"}
_REACHED = {
    DesiredState.RUNNING: Phase.RUNNING,
    DesiredState.PAUSED: Phase.PAUSED,
    DesiredState.STOPPED: Phase.STOPPED,
}


def condition_actions(snapshot: PipelineSnapshot, now: Now) -> list[Action]:
    """All conditions, if any of them differs from what is recorded."""
    before = {condition["type"]: condition for condition in snapshot.conditions}
    verdicts = evaluate(snapshot)
    if before.keys() == verdicts.keys() and all(_says(before[kind], verdict) for kind, verdict in verdicts.items()):
        return []
    return [SetConditions(tuple(_condition(kind, each, before.get(kind), now) for kind, each in verdicts.items()))]


def _says(condition: Mapping[str, Any], verdict: Verdict) -> bool:
    return (condition["status"], condition["reason"], condition["message"]) == verdict


def evaluate(snapshot: PipelineSnapshot) -> dict[ConditionType, Verdict]:
    """Status, reason and message of every condition that a supervisor can record."""
    found = {
        ConditionType.STABLE: _stable(snapshot),
        ConditionType.POSITIONS_SAFE: _positions_safe(snapshot),
        ConditionType.LEDGER_BALANCED: _balanced(snapshot),
    }
    if snapshot.trouble:
        words = f"The supervisor cannot do everything that is due: {snapshot.trouble}"
        found[ConditionType.SUPERVISED] = ConditionStatus.FALSE, "error", words
    if snapshot.disk is not None:
        found[ConditionType.DISK_SPACE] = _disk_space(snapshot.disk)
    if snapshot.lifecycle.standby == "warm":
        found[ConditionType.STANDBY] = _standby(snapshot)
    return found


def _standby(snapshot: PipelineSnapshot) -> Verdict:
    second = snapshot.second
    if second is not None and second.ready:
        return ConditionStatus.TRUE, "ready", f"Run {second.number} is initialized and probed, and can take over."
    if second is not None and second.warm:
        return ConditionStatus.FALSE, "starting", f"Run {second.number} is starting as the standby."
    if second is not None:
        return ConditionStatus.FALSE, "migrating", "A migration has its own standby at present."
    if snapshot.no_standby:
        return ConditionStatus.FALSE, "refused", f"There is no standby: {snapshot.no_standby}"
    return ConditionStatus.FALSE, "none", "There is no standby; one starts while the pipeline is RUNNING or PAUSED."


def _disk_space(disk: DiskSnapshot) -> Verdict:
    """Without figures, which change all the time; the host has them."""
    if disk.state is DiskState.FULL:
        return ConditionStatus.FALSE, DISK_FULL.lower(), full_words(disk.path)
    if disk.state is DiskState.LOW:
        words = f"The disk of {disk.path} is nearly full. When it is full, no further batch starts."
        return ConditionStatus.FALSE, DISK_LOW.lower(), words
    return ConditionStatus.TRUE, "sufficient", f"The disk of {disk.path} has room."


def _stable(snapshot: PipelineSnapshot) -> Verdict:
    if snapshot.phase is Phase.UNKNOWN:
        return ConditionStatus.UNKNOWN, snapshot.phase_reason, snapshot.phase_message
    if snapshot.phase is _REACHED[snapshot.desired] and not snapshot.asked_anew and not snapshot.restart_wanted:
        return ConditionStatus.TRUE, "as_desired", "The pipeline is in its desired state."
    return ConditionStatus.FALSE, snapshot.phase.lower(), f"Desired: {snapshot.desired}. Observed: {snapshot.phase}."


def _positions_safe(snapshot: PipelineSnapshot) -> Verdict:
    for finding in snapshot.findings:
        if finding.get("code") in POSITION_CODES:
            return ConditionStatus.FALSE, str(finding["code"]).lower(), str(finding.get("message", ""))
    if snapshot.totals.gaps or snapshot.totals.overlaps:
        words = f"{snapshot.totals.gaps} records were skipped and {snapshot.totals.overlaps} reread between batches."
        return ConditionStatus.FALSE, "discontinuous", words
    return ConditionStatus.TRUE, "continuous", "Every batch starts where the previous one ended."


def _balanced(snapshot: PipelineSnapshot) -> Verdict:
    damaged = next((each for each in snapshot.findings if each.get("code") == JOURNAL_DAMAGED), None)
    if damaged is not None:
        return ConditionStatus.UNKNOWN, JOURNAL_DAMAGED.lower(), str(damaged.get("message", ""))
    if not snapshot.totals.batches:
        return ConditionStatus.UNKNOWN, "no_batches", "No batch has finished yet."
    if snapshot.totals.difference:
        return ConditionStatus.FALSE, "difference", f"{snapshot.totals.difference} records have no verdict, or several."
    if snapshot.totals.unattributed:
        message = f"The counts of components differ from their sums by {snapshot.totals.unattributed} records."
        return ConditionStatus.FALSE, "unattributed", message
    return ConditionStatus.TRUE, "balanced", "Every record read has exactly one verdict."


def _condition(kind: ConditionType, verdict: Verdict, before: Mapping[str, Any] | None, now: Now) -> Mapping[str, Any]:
    status, reason, message = verdict
    same = before is not None and before["status"] == status
    since = before["last_transition_time"] if same and before else now.wall.isoformat()
    return {
        "type": kind.value,
        "status": status.value,
        "reason": reason,
        "message": message,
        "last_transition_time": since,
    }
