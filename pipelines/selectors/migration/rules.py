"""Reading what governs migrations: who has to approve, and when none begins."""

from __future__ import annotations

from django.db.models import QuerySet

from pipelines.domain.access.teams import EVERYTHING, Access
from pipelines.foundation.errors import NotFound
from pipelines.models import ApprovalPolicy, FreezeWindow
from pipelines.selectors.base.visible import named_rows


def approval_policies(access: Access) -> QuerySet[ApprovalPolicy]:
    """Policies, but for those of pipelines that a user may not see."""
    return named_rows(ApprovalPolicy.objects.all(), access)


def get_policy(policy_id: int, access: Access = EVERYTHING) -> ApprovalPolicy:
    """One policy; raises NotFound."""
    row = approval_policies(access).filter(pk=policy_id).first()
    if row is None:
        raise NotFound("There is no such approval policy.", code="policy_not_found")
    return row


def freezes(access: Access) -> QuerySet[FreezeWindow]:
    """Freezes, but for those of pipelines that a user may not see."""
    return named_rows(FreezeWindow.objects.all(), access)


def get_freeze(freeze_id: int, access: Access = EVERYTHING) -> FreezeWindow:
    """One freeze; raises NotFound."""
    row = freezes(access).filter(pk=freeze_id).first()
    if row is None:
        raise NotFound("There is no such freeze.", code="freeze_not_found")
    return row
