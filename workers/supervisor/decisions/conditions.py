"""What is true of a pipeline besides its phase. A condition changes its time only when its status changes.

Whether anybody supervises is not among them: a supervisor that is silent could not record it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.domain.base.positions import FINDING_CODES
from pipelines.domain.base.states import DesiredState, Phase
from pipelines.domain.lifecycle.conditions import ConditionStatus, ConditionType
from workers.ports import Now
from workers.supervisor.decisions.actions import Action, SetConditions
from workers.supervisor.decisions.view import PipelineView

Verdict = tuple[ConditionStatus, str, str]

POSITION_CODES = FINDING_CODES | {"CLUSTER_CHANGED", "HOST_CHANGED", "JOURNAL_CORRUPT", "OPEN_BATCH"}
_REACHED = {
    DesiredState.RUNNING: Phase.RUNNING,
    DesiredState.PAUSED: Phase.PAUSED,
    DesiredState.STOPPED: Phase.STOPPED,
}


def condition_actions(view: PipelineView, now: Now) -> list[Action]:
    """All conditions, if any of them differs from what is recorded."""
    before = {condition["type"]: condition for condition in view.conditions}
    verdicts = judge(view)
    if before.keys() == verdicts.keys() and all(_says(before[kind], verdict) for kind, verdict in verdicts.items()):
        return []
    return [SetConditions(tuple(_condition(kind, each, before.get(kind), now) for kind, each in verdicts.items()))]


def _says(condition: Mapping[str, Any], verdict: Verdict) -> bool:
    return (condition["status"], condition["reason"], condition["message"]) == verdict


def judge(view: PipelineView) -> dict[ConditionType, Verdict]:
    """Status, reason and message of every condition that a supervisor can record."""
    return {
        ConditionType.STABLE: _stable(view),
        ConditionType.POSITIONS_SAFE: _positions_safe(view),
        ConditionType.LEDGER_BALANCED: _balanced(view),
    }


def _stable(view: PipelineView) -> Verdict:
    if view.phase is Phase.UNKNOWN:
        return ConditionStatus.UNKNOWN, view.phase_reason, view.phase_message
    if view.phase is _REACHED[view.desired] and not view.asked_anew and not view.restart_wanted:
        return ConditionStatus.TRUE, "as_desired", "The pipeline is in its desired state."
    return ConditionStatus.FALSE, view.phase.lower(), f"Desired: {view.desired}. Observed: {view.phase}."


def _positions_safe(view: PipelineView) -> Verdict:
    for finding in view.findings:
        if finding.get("code") in POSITION_CODES:
            return ConditionStatus.FALSE, str(finding["code"]).lower(), str(finding.get("message", ""))
    if view.books.gaps or view.books.overlaps:
        words = f"{view.books.gaps} records were skipped and {view.books.overlaps} reread between batches."
        return ConditionStatus.FALSE, "discontinuous", words
    return ConditionStatus.TRUE, "continuous", "Every batch starts where the previous one ended."


def _balanced(view: PipelineView) -> Verdict:
    if not view.books.batches:
        return ConditionStatus.UNKNOWN, "no_batches", "No batch has finished yet."
    if view.books.difference:
        return ConditionStatus.FALSE, "difference", f"{view.books.difference} records have no verdict, or several."
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
