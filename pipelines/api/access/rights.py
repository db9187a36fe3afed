"""Components that run what they are given need more than the role that other pipelines need; so do labels by which
administrators have decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.api.http.base import View
from pipelines.domain.access.rights import beyond
from pipelines.domain.base.roles import Role
from pipelines.foundation.errors import Forbidden
from pipelines.models import Pipeline
from pipelines.selectors.governance.rules import approval_rule, lifted_by


def require_rights(role: Role, definition: dict[str, Any]) -> None:
    """Raises Forbidden where the definition has a component that this role may not publish or start."""
    if found := beyond(role, definition):
        raise Forbidden(
            f"Your role {role.word} does not allow this: {'; '.join(found)}.",
            code="component_needs_role",
            hint="Ask a user with that role to publish and start it.",
        )


def require_governed(role: Role, pipeline: Pipeline, labels: Mapping[str, str]) -> None:
    """Raises Forbidden where labels would free a pipeline from what administrators have decided by one that it has."""
    if role < Role.ADMIN and (lifted := lifted_by(pipeline, labels)):
        raise Forbidden(
            f"These labels would free migrations of {pipeline.name} from what was set for them: {'; '.join(lifted)}.",
            code="labels_govern_migrations",
            hint="Keep the label, or ask an administrator to change it.",
        )


def require_approver(view: View, pipeline: Pipeline, *, author: str) -> None:
    """Raises Forbidden for a caller whose approval could not count: where others than the author have to approve, they
    are approvers in the pipeline's team."""
    if author != view.actor.name and approval_rule(pipeline).approvers:
        view.require(pipeline.team_id, Role.APPROVER)
