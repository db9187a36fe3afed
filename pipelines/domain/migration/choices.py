"""What a person can do next with a migration, and what each choice costs, at every stage."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pipelines.domain.base.positions import Frozen
from pipelines.domain.base.states import FINAL_STAGES, WAITING_STAGES, MigrationStage


class MigrationAction(StrEnum):
    """Names of requests. ADVANCE begins, passes a gate, commits now, or tries a failed step again. CLOSE ends a
    migration that needs attention, and leaves the pipeline as it is. REVERT plans the way back of a committed one."""

    APPROVE = "approve"
    ADVANCE = "advance"
    ABORT = "abort"
    ROLLBACK = "rollback"
    CLOSE = "close"
    REVERT = "revert"


class ChoicePrice(Frozen):
    """What a choice costs. `exact`: positions are those of the snapshot afterwards. `duplicates_max`: records of
    batches that were begun and not finished; `pause`: seconds in which nothing is delivered."""

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
    price: ChoicePrice | None = None


@dataclass(frozen=True)
class Standing:
    """How far a migration has come, as far as choices depend on it. `waits`: a person has to pass a gate.

    `delivered`: records that the new side has planned or delivered. `open_records`: of them, those of batches that were
    begun and not finished. `again`: records that it has read and that channels of the old side, which it does not have,
    have not. `restart`: seconds that the old configuration needs to start. `translated`: positions of the
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
    restart: float = 0.0
    frozen: str = ""
    translated: bool = False
    one_way: str = ""
    stale: bool = False


def options(now: Standing) -> list[MigrationChoice]:
    """Every choice that means something at this stage."""
    if now.stage in FINAL_STAGES:
        return [_revert(now)] if now.stage is MigrationStage.COMMITTED else []
    if now.stage in WAITING_STAGES:
        return _waiting(now)
    if now.stage is MigrationStage.NEEDS_ATTENTION:
        return _stuck(now)
    return _under_way(now)


def allowed(now: Standing, choice: MigrationAction) -> MigrationChoice | None:
    """The choice as it stands; None where it means nothing here."""
    return next((option for option in options(now) if option.choice is choice), None)


def _waiting(now: Standing) -> list[MigrationChoice]:
    abort = MigrationChoice(
        choice=MigrationAction.ABORT,
        allowed=True,
        sentence="Give it up.",
        price=ChoicePrice(exact=True, words="Nothing was touched."),
    )
    return [
        _choice(MigrationAction.APPROVE, "Approve this very plan.", _not_to_approve(now)),
        _choice(MigrationAction.ADVANCE, "Begin.", _not_to_begin(now)),
        abort,
    ]


def _choice(choice: MigrationAction, sentence: str, reason: str) -> MigrationChoice:
    return MigrationChoice(choice=choice, allowed=not reason, sentence=sentence, reason=reason)


STALE = "The pipeline has changed since it was planned; plan it again."


def _not_to_approve(now: Standing) -> str:
    if now.stage is MigrationStage.DRAFT:
        return "Its plan has blockers; ask for it again when they are gone."
    if now.stage is MigrationStage.APPROVED and now.approved:
        return "It is approved."
    return STALE if now.stale else ""


def _not_to_begin(now: Standing) -> str:
    if now.stage is not MigrationStage.APPROVED or not now.approved:
        return now.missing or "It is not approved yet."
    return STALE if now.stale else now.frozen


def _under_way(now: Standing) -> list[MigrationChoice]:
    verifying = now.stage is MigrationStage.VERIFYING
    back = now.stage is MigrationStage.ROLLING_BACK
    reason = "It is being taken back." if back else "It goes on by itself; nothing waits for you."
    possible = (now.waits or verifying) and not back
    sentence = "Commit now." if verifying else "Go on."
    advance = MigrationChoice(
        choice=MigrationAction.ADVANCE, allowed=possible, sentence=sentence, reason="" if possible else reason
    )
    return [advance, _abort(now, back), _rollback(now, back)]


def _abort(now: Standing, back: bool) -> MigrationChoice:
    late = "Something has changed already; roll it back."
    possible = not (back or now.old_ended or now.promoted)
    return MigrationChoice(
        choice=MigrationAction.ABORT,
        allowed=possible,
        sentence="Give it up; the old agent goes on.",
        reason="" if possible else "It is being taken back." if back else late,
        price=price_back(now) if possible else None,
    )


def _rollback(now: Standing, back: bool) -> MigrationChoice:
    return MigrationChoice(
        choice=MigrationAction.ROLLBACK,
        allowed=not back,
        sentence="Take it back.",
        reason="It is being taken back." if back else "",
        price=price_back(now),
    )


def _stuck(now: Standing) -> list[MigrationChoice]:
    return [
        MigrationChoice(choice=MigrationAction.ADVANCE, allowed=True, sentence="Try the step that failed once more."),
        MigrationChoice(choice=MigrationAction.ROLLBACK, allowed=True, sentence="Take it back.", price=price_back(now)),
        MigrationChoice(
            choice=MigrationAction.CLOSE,
            allowed=True,
            sentence="End it, and leave the pipeline as it is.",
            price=ChoicePrice(exact=False, words="Nothing is done; start, stop and positions are yours again."),
        ),
    ]


def price_back(now: Standing) -> ChoicePrice:
    """What taking it back costs now."""
    if not now.old_ended and not now.promoted:
        words = "The old agent goes on where it stands." if now.paused else "The old agent never noticed."
        return ChoicePrice(exact=True, words=words)
    if not now.planned:
        words = "The new side has delivered nothing: positions are those of the snapshot. The old agent starts anew."
        return ChoicePrice(exact=True, pause=now.restart, words=words)
    words = (
        f"The new side has delivered {now.delivered} records, which stay. The old configuration goes on behind them: "
    )
    words += (
        "its positions are translated back, and compared record by record; where the old cluster does not have what "
        "the new side has read, a person has to choose."
        if now.translated
        else f"{now.again} of them are read again by channels that the new side does not have."
        if now.again
        else "nothing is skipped or read twice."
    )
    if now.open_records:
        words += f" A batch that was begun may leave up to {now.open_records} records twice."
    return ChoicePrice(exact=False, replay=now.again, duplicates_max=now.open_records, pause=now.restart, words=words)


def _revert(now: Standing) -> MigrationChoice:
    words = "A new migration takes the pipeline back, with a plan and counts of its own."
    return MigrationChoice(
        choice=MigrationAction.REVERT,
        allowed=not now.one_way,
        reason=now.one_way,
        sentence="Plan the way back.",
        price=ChoicePrice(exact=False, words=words),
    )
