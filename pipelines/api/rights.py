"""Components that run what they are given need more than the role that other pipelines need."""

from __future__ import annotations

from typing import Any

from controlplane.shared.errors import Forbidden
from pipelines.domain.rights import beyond
from pipelines.domain.roles import Role


def require_rights(role: Role, definition: dict[str, Any]) -> None:
    """Raises Forbidden where the definition has a component that this role may not publish or start."""
    if found := beyond(role, definition):
        raise Forbidden(
            f"Your role {role.word} does not allow this: {'; '.join(found)}.",
            code="component_needs_role",
            hint="Ask somebody with that role to publish and start it.",
        )
