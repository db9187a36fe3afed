"""Approval policies and freezes, as they concern pipelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pipelines.domain.migration import policy
from pipelines.foundation import clock
from pipelines.models import ApprovalPolicy, FreezeWindow, Pipeline


@dataclass(frozen=True)
class Rules:
    """All of them, read once for however many pipelines. `freezes`: of now and of later."""

    approvals: Sequence[policy.ApprovalRule]
    freezes: Sequence[policy.Freeze]
    at: datetime

    def of(self, pipeline: Pipeline) -> policy.ApprovalRule:
        """The strictest rule that concerns the pipeline."""
        return policy.rule_for(self.approvals, pipeline=pipeline.name, labels=pipeline.labels)

    def frozen(self, pipeline: Pipeline) -> list[str]:
        """Why nothing that the pipeline runs is changed now."""
        return policy.frozen(self.freezes, pipeline=pipeline.name, labels=pipeline.labels, now=self.at)

    def govern(self, pipeline: Pipeline) -> bool:
        """Whether users change what the pipeline runs by migrations and change requests alone."""
        return self.of(pipeline).approvers > 0 or bool(self.frozen(pipeline))


def load() -> Rules:
    """What is in force now, in two queries."""
    now = clock.now()
    approvals = [
        policy.ApprovalRule(row.approvers, timedelta(seconds=row.expiry_seconds), row.pipeline_name, row.label)
        for row in ApprovalPolicy.objects.all()
    ]
    freezes = [
        policy.Freeze(row.starts_at, row.ends_at, row.reason, row.pipeline_name, row.label)
        for row in FreezeWindow.objects.filter(ends_at__gt=now)
    ]
    return Rules(approvals, freezes, now)


def approval_rule(pipeline: Pipeline) -> policy.ApprovalRule:
    """The strictest rule that concerns the pipeline."""
    return load().of(pipeline)


def rules_of(pipeline: Pipeline) -> tuple[policy.ApprovalRule, list[str]]:
    """The strictest rule that concerns the pipeline, and why nothing that it runs is changed now."""
    rules = load()
    return rules.of(pipeline), rules.frozen(pipeline)


def frozen(pipeline: Pipeline) -> list[str]:
    """Why nothing that the pipeline runs is changed now."""
    return load().frozen(pipeline)


def is_governed(pipeline: Pipeline) -> bool:
    """Whether users change what it runs by migrations and change requests alone."""
    return load().govern(pipeline)


def lifted_by(pipeline: Pipeline, labels: Mapping[str, str]) -> list[str]:
    """What these labels would free the changes of a pipeline from, in words."""
    rules = load()
    return policy.lifted(
        rules.approvals, rules.freezes, pipeline=pipeline.name, before=pipeline.labels, after=labels, now=rules.at
    )
