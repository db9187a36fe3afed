"""Who has to approve a migration, and when none may begin."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

DEFAULT_EXPIRY = timedelta(days=1)


@dataclass(frozen=True)
class ApprovalRule:
    """So many people other than the author must approve. It is of a pipeline, of a label (`NAME:VALUE` or `NAME`), or,
    with neither, of everything. `expiry`: how long an approval counts."""

    approvers: int
    expiry: timedelta = DEFAULT_EXPIRY
    pipeline: str = ""
    label: str = ""


@dataclass(frozen=True)
class Approval:
    """Somebody's word for the plan with this hash."""

    by: str
    hash: str
    at: datetime


@dataclass(frozen=True)
class Freeze:
    """No migration begins in [starts, ends). Of a pipeline, a label, or everything."""

    starts: datetime
    ends: datetime
    reason: str
    pipeline: str = ""
    label: str = ""


NO_APPROVAL = ApprovalRule(approvers=0)


def rule_for(rules: Iterable[ApprovalRule], *, pipeline: str, labels: Mapping[str, str]) -> ApprovalRule:
    """The strictest of those that concern the pipeline; without any, its author begins alone."""
    own = [rule for rule in rules if _concerns(rule.pipeline, rule.label, pipeline, labels)]
    return max(own, key=_strictness, default=NO_APPROVAL)


def _strictness(rule: ApprovalRule) -> tuple[int, timedelta]:
    return rule.approvers, -rule.expiry


def people(rule: ApprovalRule) -> str:
    """How many have to approve, as the beginning of a sentence."""
    return "one other user has" if rule.approvers == 1 else f"{rule.approvers} other users have"


def _concerns(of_pipeline: str, of_label: str, pipeline: str, labels: Mapping[str, str]) -> bool:
    if of_pipeline:
        return of_pipeline == pipeline
    if not of_label:
        return True
    name, colon, value = of_label.partition(":")
    return name in labels and (not colon or labels[name] == value)


def valid(
    rule: ApprovalRule, approvals: Sequence[Approval], *, author: str, named: str, now: datetime
) -> Collection[str]:
    """Whose approvals of this very plan count now. Where nobody has to approve, the author's own does."""
    return {
        each.by
        for each in approvals
        if each.hash == named and now - each.at <= rule.expiry and (each.by != author or rule.approvers == 0)
    }


def refusal(rule: ApprovalRule, *, author: str, approver: str, what: str = "migration") -> str:
    """Why somebody may not approve; empty where they may."""
    if rule.approvers and approver == author:
        return f"{author} requested this {what}; {people(rule)} to approve it."
    return ""


def enough(rule: ApprovalRule, approvals: Sequence[Approval], *, author: str, named: str, now: datetime) -> bool:
    """Whether it may begin, as far as approvals go."""
    return len(valid(rule, approvals, author=author, named=named, now=now)) >= max(1, rule.approvers)


def frozen(freezes: Iterable[Freeze], *, pipeline: str, labels: Mapping[str, str], now: datetime) -> list[str]:
    """Why no migration of the pipeline begins now, in words."""
    return [
        f"Frozen until {each.ends:%Y-%m-%d %H:%M} UTC: {each.reason}"
        for each in freezes
        if each.starts <= now < each.ends and _concerns(each.pipeline, each.label, pipeline, labels)
    ]


def lifted(
    rules: Collection[ApprovalRule],
    freezes: Iterable[Freeze],
    *,
    pipeline: str,
    before: Mapping[str, str],
    after: Mapping[str, str],
    now: datetime,
) -> list[str]:
    """What other labels would free the migrations of the pipeline from, in words."""
    old, new = (rule_for(rules, pipeline=pipeline, labels=labels) for labels in (before, after))
    return [
        *([f"{people(old)} to approve them"] if _strictness(new) < _strictness(old) else []),
        *(
            f"the freeze until {each.ends:%Y-%m-%d %H:%M} UTC"
            for each in freezes
            if each.ends > now
            and _concerns(each.pipeline, each.label, pipeline, before)
            and not _concerns(each.pipeline, each.label, pipeline, after)
        ),
    ]


def carried(labels: Mapping[str, str], before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """The labels of a pipeline once its definition's labels change from `before` to `after`; those that were set beside
    the definition stay."""
    kept = {name: value for name, value in labels.items() if name in after or name not in before}
    return {**kept, **{name: value for name, value in after.items() if before.get(name) != value}}
