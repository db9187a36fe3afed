"""What a person can do next with a migration, and what each choice costs, at every stage."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pipelines.domain.base.positions import Frozen
from pipelines.domain.base.states import FINAL_STAGES, WAITING_STAGES, MigrationStage


class MigrationAction(StrEnum):
    """Names of requests. ADVANCE starts, passes a gate, commits now, or retries a failed step. CLOSE ends a
    migration that requires action, and leaves the pipeline as it is. REVERT plans the opposite of a committed
    one."""

    APPROVE = "approve"
    ADVANCE = "advance"
    ABORT = "abort"
    ROLLBACK = "rollback"
    CLOSE = "close"
    REVERT = "revert"


class ExpectedImpact(Frozen):
    """The expected impact of a choice. `exact`: positions are those of the snapshot afterwards. `duplicates_max`:
    records of unfinished batches; `pause`: seconds in which nothing is delivered."""

    exact: bool
    skip: int = 0
    replay: int = 0
    duplicates_max: int = 0
    pause: float = 0.0
    words: str


class MigrationChoice(Frozen):
    """One choice; `reason` why it is not possible now."""

    choice: MigrationAction
    allowed: bool
    sentence: str
    reason: str = ""
    impact: ExpectedImpact | None = None


@dataclass(frozen=True)
class Standing:
    """How far a migration has come, as far as choices depend on it. `waits`: a person has to pass a gate.

    `delivered`: records that the new side has planned or delivered. `open_records`: of them, those of batches that were
    begun and not finished. `again`: records that it has read and that channels of the old side, which it does not have,
    have not; `reread`: records that it has read, where too few of them were delivered, so that the old side reads them
    again. `restart`: seconds that the old configuration needs to start. `translated`: positions of the
    new side are offsets of another cluster. `one_way`: why nothing leads back from one that was committed. `stale`: the
    pipeline is not what the plan was made against.
    """

    stage: MigrationStage
    waits: bool = False
    approved: bool = False
    missing: str = ""
    old_ended: bool = False
    paused: bool = False
    promoted: bool = False
    planned: bool = False
    delivered: int = 0
    open_records: int = 0
    again: int = 0
    reread: int = 0
    restart: float = 0.0
    frozen: str = ""
    translated: bool = False
    one_way: str = ""
    stale: bool = False


def options(now: Standing) -> list[MigrationChoice]:
    """What is offered: every choice that means something at this stage, and of the two ways back the one that applies.
    Before anything has changed that is the cancellation, afterwards the rollback."""
    found = _meaningful(now)
    cancels = any(choice.choice is MigrationAction.ABORT and choice.allowed for choice in found)
    other = MigrationAction.ROLLBACK if cancels else MigrationAction.ABORT
    return [choice for choice in found if choice.choice is not other]


def _meaningful(now: Standing) -> list[MigrationChoice]:
    if now.stage in FINAL_STAGES:
        return [_revert(now)] if now.stage is MigrationStage.COMMITTED else []
    if now.stage in WAITING_STAGES:
        return _waiting(now)
    if now.stage is MigrationStage.NEEDS_ATTENTION:
        return _stuck(now)
    return _under_way(now)


def allowed(now: Standing, choice: MigrationAction) -> MigrationChoice | None:
    """The choice as it stands, offered or not; None where it means nothing here."""
    return next((option for option in _meaningful(now) if option.choice is choice), None)


def _waiting(now: Standing) -> list[MigrationChoice]:
    abort = MigrationChoice(
        choice=MigrationAction.ABORT,
        allowed=True,
        sentence="Cancel migration.",
        impact=ExpectedImpact(exact=True, words="Nothing has been changed."),
    )
    return [
        _choice(MigrationAction.APPROVE, "Approve this plan.", _not_to_approve(now)),
        _choice(MigrationAction.ADVANCE, "Begin.", _not_to_start(now)),
        abort,
    ]


def _choice(choice: MigrationAction, sentence: str, reason: str) -> MigrationChoice:
    return MigrationChoice(choice=choice, allowed=not reason, sentence=sentence, reason=reason)


STALE = "The pipeline has changed since the plan was made; plan again."


def _not_to_approve(now: Standing) -> str:
    if now.stage is MigrationStage.DRAFT:
        return "The plan has blockers; resolve them, then plan again."
    if now.stage is MigrationStage.APPROVED and now.approved:
        return "This plan is already approved."
    return STALE if now.stale else ""


def _not_to_start(now: Standing) -> str:
    if now.stage is not MigrationStage.APPROVED or not now.approved:
        return now.missing or "This plan is not approved yet."
    return STALE if now.stale else now.frozen


def _under_way(now: Standing) -> list[MigrationChoice]:
    verifying = now.stage is MigrationStage.VERIFYING
    back = now.stage is MigrationStage.ROLLING_BACK
    reason = "The rollback is in progress." if back else "The migration continues by itself; no action is required."
    possible = (now.waits or verifying) and not back
    sentence = "Commit now." if verifying else "Continue."
    advance = MigrationChoice(
        choice=MigrationAction.ADVANCE, allowed=possible, sentence=sentence, reason="" if possible else reason
    )
    return [advance, _abort(now, back), _rollback(now, back)]


def _abort(now: Standing, back: bool) -> MigrationChoice:
    late = "Components have changed already; roll the migration back."
    possible = not (back or now.old_ended or now.promoted)
    return MigrationChoice(
        choice=MigrationAction.ABORT,
        allowed=possible,
        sentence="Cancel migration; the old agent continues.",
        reason="" if possible else "The rollback is in progress." if back else late,
        impact=rollback_impact(now) if possible else None,
    )


def _rollback(now: Standing, back: bool) -> MigrationChoice:
    return MigrationChoice(
        choice=MigrationAction.ROLLBACK,
        allowed=not back,
        sentence="Roll back migration.",
        reason="The rollback is in progress." if back else "",
        impact=rollback_impact(now),
    )


def _stuck(now: Standing) -> list[MigrationChoice]:
    return [
        MigrationChoice(choice=MigrationAction.ADVANCE, allowed=True, sentence="Retry the failed step."),
        MigrationChoice(
            choice=MigrationAction.ROLLBACK, allowed=True, sentence="Roll back migration.", impact=rollback_impact(now)
        ),
        MigrationChoice(
            choice=MigrationAction.CLOSE,
            allowed=True,
            sentence="Close migration; leave the pipeline as it is.",
            impact=ExpectedImpact(
                exact=False, words="Nothing is changed; you can start, stop and reposition the pipeline again."
            ),
        ),
    ]


def rollback_impact(now: Standing) -> ExpectedImpact:
    """What taking it back costs now."""
    if not now.old_ended and not now.promoted:
        words = "The old agent resumes at its position." if now.paused else "The old agent keeps running."
        return ExpectedImpact(exact=True, words=words)
    if not now.planned:
        words = "The new agent has delivered nothing: positions are those of the snapshot. The old agent starts again."
        return ExpectedImpact(exact=True, pause=now.restart, words=words)
    if now.reread:
        words = (
            f"The new agent has delivered less than expected: the old configuration resumes at the positions of the "
            f"snapshot and reads {now.reread} records again. Those {now.delivered} that were delivered come twice."
        )
        twice = max(now.delivered, now.open_records)
        return ExpectedImpact(exact=False, replay=now.reread, duplicates_max=twice, pause=now.restart, words=words)
    words = (
        f"The new agent has delivered {now.delivered} records, which stay. The old configuration resumes after them: "
    )
    words += (
        "its positions are translated back, and compared record by record; where the old cluster does not have what "
        "the new agent has read, you choose."
        if now.translated
        else f"{now.again} of them are read again by channels that the new agent does not have."
        if now.again
        else "nothing is skipped or reread."
    )
    if now.open_records:
        words += f" Possible duplicates of the in-flight batch: at most {now.open_records}."
    return ExpectedImpact(
        exact=False, replay=now.again, duplicates_max=now.open_records, pause=now.restart, words=words
    )


def _revert(now: Standing) -> MigrationChoice:
    words = "A new migration restores the old configuration, with its own plan and expected impact."
    return MigrationChoice(
        choice=MigrationAction.REVERT,
        allowed=not now.one_way,
        reason=now.one_way,
        sentence="Revert migration.",
        impact=ExpectedImpact(exact=False, words=words),
    )
