"""Components that run what they are given need more than the role that other pipelines need."""

from __future__ import annotations

from typing import Any

from pipelines.api.http.base import View
from pipelines.domain.access.rights import beyond
from pipelines.domain.base.roles import Role
from pipelines.foundation.errors import Forbidden
from pipelines.models import Pipeline
from pipelines.selectors.governance.rules import approval_rule


def require_rights(role: Role, definition: dict[str, Any]) -> None:
    """Raises Forbidden where the definition has a component that this role may not publish or start."""
    if found := beyond(role, definition):
        raise Forbidden(
            f"Your role {role.word} does not allow this: {'; '.join(found)}.",
            code="component_needs_role",
            hint="Ask a user with that role to publish and start it.",
        )


def require_approver(view: View, pipeline: Pipeline, *, author: str) -> None:
    """Raises Forbidden for a caller whose approval could not count: where others than the author have to approve, they
    are approvers in the pipeline's team."""
    if author != view.actor.name and approval_rule(pipeline).approvers:
        view.require(pipeline.team_id, Role.APPROVER)
