"""What the database refuses by itself, whoever writes: the revision of a pipeline changes only at rest.

Installed after every schema migration rather than in one: SQLite drops a table's triggers whenever its columns change.
"""

from __future__ import annotations

from typing import Any

from django.db import connections

WORDS = "the revision of a pipeline changes only while it is STOPPED"
_CHANGED = (
    "OLD.current_revision_id IS NOT NULL AND NEW.current_revision_id IS NOT NULL"
    " AND OLD.current_revision_id <> NEW.current_revision_id"
    " AND NOT (OLD.phase = 'STOPPED' AND OLD.desired_state = 'STOPPED')"
)
_SQLITE = [
    "DROP TRIGGER IF EXISTS revision_changes_at_rest",
    (
        "CREATE TRIGGER revision_changes_at_rest BEFORE UPDATE OF current_revision_id ON pipelines_pipeline "
        f"WHEN {_CHANGED} BEGIN SELECT RAISE(ABORT, '{WORDS}'); END"
    ),
]
_POSTGRESQL = [
    (
        "CREATE OR REPLACE FUNCTION revision_changes_at_rest() RETURNS trigger AS $$ BEGIN "
        f"RAISE EXCEPTION '{WORDS}' USING ERRCODE = 'check_violation'; END $$ LANGUAGE plpgsql"
    ),
    "DROP TRIGGER IF EXISTS revision_changes_at_rest ON pipelines_pipeline",
    (
        "CREATE TRIGGER revision_changes_at_rest BEFORE UPDATE OF current_revision_id ON pipelines_pipeline "
        f"FOR EACH ROW WHEN ({_CHANGED}) EXECUTE FUNCTION revision_changes_at_rest()"
    ),
]


def install(*, using: str, **_: Any) -> None:
    """A receiver of post_migrate."""
    connection = connections[using]
    if "pipelines_pipeline" not in connection.introspection.table_names():
        return
    with connection.cursor() as cursor:
        for statement in _POSTGRESQL if connection.vendor == "postgresql" else _SQLITE:
            cursor.execute(statement)
