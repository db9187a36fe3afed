"""A look at the table that a sink is to write to: is it there, may we write, has it the columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg

from pipelines.domain.runs.protocol import AgentFinding
from workers.agent.base.findings import Refused, refuse

_COLUMNS = """
SELECT a.attname, t.typname, format_type(t.oid, NULL),
       a.attnotnull AND NOT a.atthasdef AND a.attidentity = '', a.attgenerated <> ''
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
"""
_UNIQUE = """
SELECT i.indisprimary, array_agg(a.attname::text)
FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
WHERE i.indrelid = %s AND i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL
GROUP BY i.indexrelid, i.indisprimary
"""
_RIGHTS = """
SELECT has_table_privilege(%(table)s, 'INSERT'), has_table_privilege(%(table)s, 'UPDATE'),
       has_table_privilege(%(table)s, 'SELECT'), has_schema_privilege(%(schema)s, 'CREATE')
"""


@dataclass(frozen=True)
class Table:
    """The target. `types` of its columns, inside PostgreSQL and in a cast; `conflict`: what upsert goes by."""

    schema: str
    name: str
    types: dict[str, tuple[str, str]]
    conflict: tuple[str, ...] = ()


def inspect(connection: psycopg.Connection[Any], spec: Any, path: str) -> Table:
    """Compare the table with the sink's keys. Raises Refused with every finding."""
    found = connection.execute(
        "SELECT c.oid, n.oid, n.nspname, c.relname, c.relkind FROM pg_class c "
        "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(%s)",
        [_quoted(spec.table)],
    ).fetchone()
    if found is None or found[4] not in ("r", "p", b"r", b"p"):
        advice = "Create it, or correct its name; names are taken as they are written."
        raise refuse(f"{path}.table", "TABLE_MISSING", f"There is no table {spec.table}.", advice)
    oid, schema_oid, schema, name, _ = found
    columns = connection.execute(_COLUMNS, [oid]).fetchall()
    types = {column: (inside, cast) for column, inside, cast, _, generated in columns if not generated}
    conflict: tuple[str, ...] = ()
    findings: list[AgentFinding] = []
    if spec.mode == "upsert":
        conflict, findings = _conflict(connection, oid, spec, path)
    findings += list(_wrong_columns(spec, path, types, {column for column, *_, needed, _ in columns if needed}))
    findings += list(_missing_rights(connection, oid, schema_oid, spec, path))
    if findings:
        raise Refused(*findings)
    return Table(schema, name, types, conflict)


def _quoted(table: str) -> str:
    return ".".join(f'"{part}"' for part in table.split("."))


def _conflict(
    connection: psycopg.Connection[Any], oid: int, spec: Any, path: str
) -> tuple[tuple[str, ...], list[AgentFinding]]:
    unique = connection.execute(_UNIQUE, [oid]).fetchall()
    wanted = set(spec.conflict_columns)
    for primary, columns in unique:
        if set(columns) == wanted or (primary and not wanted):
            return tuple(columns), []
    what = ", ".join(sorted(wanted)) or "a primary key"
    message = f"The table {spec.table} has no unique index over {what}."
    refused = refuse(f"{path}.conflict_columns", "NO_UNIQUE_INDEX", message, "Create one, or use mode: append.")
    return (), refused.findings


def _wrong_columns(spec: Any, path: str, types: Collection[str], needed: set[str]) -> Iterator[AgentFinding]:
    written = spec.columns or {}
    for column in sorted(set(written) - set(types)):
        message = f"The table {spec.table} has no column {column} that can be written."
        yield from refuse(f"{path}.columns.{column}", "COLUMN_MISSING", message, "Create it, or remove it.").findings
    for column in sorted(needed - set(written)) if written else ():
        message = f"The column {column} of {spec.table} needs a value and has no default."
        advice = f"Add {column} to columns, or give it a default."
        yield from refuse(f"{path}.columns", "COLUMN_NOT_FILLED", message, advice).findings


def _missing_rights(
    connection: psycopg.Connection[Any], oid: int, schema: int, spec: Any, path: str
) -> Iterator[AgentFinding]:
    row = connection.execute(_RIGHTS, {"table": oid, "schema": schema}).fetchone()
    insert, update, select, create = row or (False, False, False, False)
    rights = {"INSERT on the table": insert, "CREATE on its schema": create}
    if spec.mode == "upsert":
        rights |= {"UPDATE on the table": update, "SELECT on the table": select}
    for right, held in rights.items():
        if not held:
            message = f"The right {right} {spec.table} is missing."
            yield from refuse(path, "NOT_PERMITTED", message, "Grant it to the sink's user.").findings
