"""The refusal of everybody else while a migration holds a pipeline."""

from __future__ import annotations

from pipelines.foundation.errors import Conflict
from pipelines.models import Migration, Pipeline
from pipelines.selectors.lifecycle.situations import steering


def held_by(migration: Migration, what: str) -> Conflict:
    """`what` is not possible because of a migration; says whose, and the way out."""
    return Conflict(
        f"{what} is not possible: {migration.created_by}'s migration {migration.pk} holds it ({migration.stage}).",
        code="migration_open",
        hint=f"Wait for it (headgate migrations show {migration.pk}), or roll it back (headgate migrations rollback).",
        migration=str(migration.pk),
    )


def require_free(pipeline: Pipeline, what: str) -> None:
    """Raises Conflict while a migration holds the pipeline."""
    if (found := steering(pipeline.id)) is not None:
        raise held_by(found, what)
