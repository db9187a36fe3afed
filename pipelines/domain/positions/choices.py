"""The choices that a finding leaves, best first, and what is recommended: one list for agent, API, CLI and page.

A choice that skips fewer records comes first; of those that skip as many, the one that rereads fewer. What is not
possible for every partition is left out: a position of the ledger or the checkpoint is an offset of one log, and says
nothing of another one under the same name.
"""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.domain.positions.plan import Goal, Plan, Survey, Target, plan

_SIMPLE = (Goal.LEDGER, Goal.CHECKPOINT, Goal.GROUP, Goal.EARLIEST, Goal.LATEST)
"""Goals that need no more than a survey; of equal ones the first is recommended."""


def choices(survey: Survey) -> dict[Goal, Plan]:
    """Every choice that needs no more than the survey, and that is possible for all partitions; the best first."""
    goals = (Goal.UNREAD, *_SIMPLE) if _is_mixed(survey) else _SIMPLE
    found = {goal: plan(survey, Target(goal=goal)) for goal in goals}
    possible = [(goal, made) for goal, made in found.items() if made.moves and not made.impossible]
    return dict(sorted(possible, key=lambda each: (each[1].skip, each[1].replay)))


def _is_mixed(survey: Survey) -> bool:
    """Whether some partitions are of another log than before, and others are not: then neither the ledger nor the
    beginning is right for all."""
    return len({row.on_new_log for row in survey.rows if row.log_end is not None}) > 1


def why(survey: Survey, offered: Mapping[Goal, Plan]) -> str:
    """Why the first choice is recommended; empty where there is none."""
    if not offered:
        return ""
    best, *others = offered.values()
    return f"{_about(best, others)}{_about_old_log(survey)}"


def _about(best: Plan, others: list[Plan]) -> str:
    if best.skip == best.replay == 0:
        return "It skips no record and rereads none."
    reread = f"rereads {counted(best.replay) if best.replay else 'none'}"
    if best.skip == 0:
        return f"It skips no record and {reread}{', fewest of all such choices' if _any(others, 0) else ''}."
    gone = f", of which {best.gone} have expired" if best.gone else ""
    return f"Every choice skips records: it skips the fewest, {counted(best.skip)}{gone}, and {reread}."


def _any(plans: list[Plan], skip: int) -> bool:
    return any(made.skip == skip for made in plans)


def _about_old_log(survey: Survey) -> str:
    new = sorted({row.topic for row in survey.rows if row.on_new_log and row.log_end is not None})
    if not new:
        return ""
    return f" The log of {', '.join(new)} is new: positions of ledger and checkpoint are offsets of the old one."


def advice(survey: Survey | None) -> str:
    """The choices in words, the recommended one first; empty where none is known."""
    offered = choices(survey) if survey else {}
    if not survey or not offered:
        return ""
    (best, _), *others = offered.items()
    listed = "; ".join(f"{goal} (skips {counted(made.skip)}, rereads {counted(made.replay)})" for goal, made in others)
    more = f" Other choices: {listed}." if listed else ""
    return f"Recommended: --to {best}. {why(survey, offered)}{more}"


def counted(number: int) -> str:
    """A number of records in words."""
    return f"{number} record" if number == 1 else f"{number} records"
