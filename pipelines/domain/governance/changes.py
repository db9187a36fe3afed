"""Changes of what a pipeline runs, and whether one may be made now. Pure.

A pipeline is governed where an approval policy or a freeze concerns it. Migrations have steps and approvals of their
own; every other change is one of `ChangeKind`, made by a change request that others have approved. What a supervisor
does by itself is no change of these: a crashed run is started again as it was.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from pipelines.domain.migration.policy import ApprovalRule, people


class ChangeKind(StrEnum):
    """What users change beside migrations. CANCEL is of an operation under way."""

    START = "start"
    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"
    FORCE_STOP = "force-stop"
    RESTART = "restart"
    CANCEL = "cancel"
    PUBLISH = "publish"
    POSITIONS = "positions"
    QUARANTINE = "quarantine"
    REPLAY = "replay"
    DELETE = "delete"
    RECONCILE = "reconcile"
    DECLARE_LOST = "declare-lost"


class Grant(StrEnum):
    """By what right a governed change is made: others have approved it, or an administrator breaks glass."""

    APPROVED = "approved"
    BREAK_GLASS = "break_glass"


class Decision(StrEnum):
    """What comes of a change that is asked for."""

    ALLOWED = "allowed"
    APPROVAL_REQUIRED = "approval_required"
    FROZEN = "change_frozen"


@dataclass(frozen=True)
class Right:
    """A grant for the changes of one pipeline."""

    grant: Grant
    pipeline: UUID


def decide(rule: ApprovalRule, frozen: Sequence[str], right: Right | None, pipeline: UUID) -> Decision:
    """The one answer to who may change what a pipeline runs. Under a freeze nothing is changed, approved or not, unless
    glass is broken."""
    grant = right.grant if right is not None and right.pipeline == pipeline else None
    if grant is Grant.BREAK_GLASS:
        return Decision.ALLOWED
    if frozen:
        return Decision.FROZEN
    if rule.approvers and grant is not Grant.APPROVED:
        return Decision.APPROVAL_REQUIRED
    return Decision.ALLOWED


def reason(decision: Decision, rule: ApprovalRule, frozen: Sequence[str]) -> str:
    """Why a change is not made, in words."""
    return " ".join(frozen) if decision is Decision.FROZEN else f"{people(rule)} to approve it."


def digest(*, pipeline: UUID, kind: ChangeKind, arguments: Mapping[str, Any], basis: Mapping[str, Any]) -> str:
    """The name of exactly this change of exactly this state of a pipeline. `basis`: revision and generation."""
    named = {"pipeline": str(pipeline), "kind": kind, "arguments": arguments, "basis": basis}
    return hashlib.sha256(json.dumps(named, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
