"""Many rows in one statement, whatever their number: they travel as one JSON parameter that the database unfolds.

Django's own bulk operations cut their rows into statements of 999 parameters on SQLite, so that a tick would cost more
queries the more pipelines are busy. Returned ids come in no particular order.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from django.db import connection
from django.db.models import Field, JSONField, Model, QuerySet

DELETED_AT_ONCE = 50_000
_DELETED_TOGETHER = 500
_LARGEST = 2**63 - 1
Column = tuple[str, "Field[Any, Any]"]
"""Its name in the parameter, and the field that says of which type it is."""


def insert(
    rows: Sequence[Model], *, unique: Collection[str] = (), update: Collection[str] = (), add: Collection[str] = ()
) -> None:
    """Insert rows of one model. Where there is one with the same `unique` fields, that takes over the `update` fields,
    and the `add` fields are added to its own.

    Primary keys are the database's. Raises OverflowError for a number that no database can hold.
    """
    if not rows:
        return
    model = type(rows[0])
    columns = [(str(f.column), f) for f in model._meta.concrete_fields if not f.primary_key]
    values = [{name: f.pre_save(row, add=True) for name, f in columns} for row in rows]
    names = _listed(name for name, _ in columns)
    source, parameter = _unfolded(columns, values)
    sql = f"INSERT INTO {_table(model)} ({names}) SELECT {names} FROM {source} WHERE true"  # noqa: S608 - our own names
    if unique:
        met = _listed(_column(model, name) for name in unique)
        taken = [f"{each} = excluded.{each}" for each in (_quoted(_column(model, name)) for name in update)]
        own = ((each, f"{_table(model)}.{each}") for each in (_quoted(_column(model, name)) for name in add))
        taken += [f"{each} = {there} + excluded.{each}" for each, there in own]
        sql += f" ON CONFLICT ({met}) DO UPDATE SET {', '.join(taken)}"
    with connection.cursor() as cursor:
        cursor.execute(sql, [parameter])


def update(model: type[Model], rows: Sequence[Mapping[str, Any]], *, seen: Collection[str] = ()) -> set[int]:
    """Update rows by their `id`, each with its own values; returns the ids of those that were there.

    For compare-and-swap each row has, for every field of `seen`, the value that must stand there as `seen_<field>`.
    """
    if not rows:
        return set()
    names = [name for name in rows[0] if name != "id" and not name.startswith("seen_")]
    columns = [("id", _field(model, "id")), *((name, _field(model, name)) for name in names)]
    columns += [(f"seen_{name}", _field(model, name)) for name in seen]
    source, parameter = _unfolded(columns, rows)
    table = _table(model)
    changes = ", ".join(f"{_quoted(_column(model, name))} = n.{_quoted(name)}" for name in names)
    same = "".join(f" AND {table}.{_quoted(_column(model, name))} = n.{_quoted(f'seen_{name}')}" for name in seen)
    sql = f"UPDATE {table} SET {changes} FROM {source} WHERE {table}.id = n.id{same} RETURNING {table}.id"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(sql, [parameter])
        return {row[0] for row in cursor.fetchall()}


def delete(rows: QuerySet[Any], *, most: int = DELETED_AT_ONCE) -> int:
    """Delete the oldest of these rows, at most so many, in statements that hold no lock for long; returns their number.
    What is left is deleted the next time."""
    gone = 0
    while gone < most:
        some = list(rows.order_by("pk").values_list("pk", flat=True)[: min(_DELETED_TOGETHER, most - gone)])
        if not some:
            break
        rows.model._default_manager.filter(pk__in=some).delete()
        gone += len(some)
    return gone


def _unfolded(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """The rows as a table `n` of a FROM clause, and its one parameter."""
    plain = [{name: _plain(field, row[name]) for name, field in columns} for row in rows]
    parameter = json.dumps(plain, default=str)
    if connection.vendor == "postgresql":
        types = ", ".join(f"{_quoted(name)} {field.cast_db_type(connection)}" for name, field in columns)
        return f"json_to_recordset(%s::json) AS n({types})", parameter
    taken = ", ".join(f"value {_arrow(field)} '$.{name}' AS {_quoted(name)}" for name, field in columns)
    return f"(SELECT {taken} FROM json_each(%s)) AS n", parameter  # noqa: S608 - our own names


def _arrow(field: Field[Any, Any]) -> str:
    """SQLite's operator: a JSON column keeps its JSON, any other gets the value."""
    return "->" if isinstance(field, JSONField) else "->>"


def _plain(field: Field[Any, Any], value: Any) -> Any:
    if isinstance(field, JSONField) or value is None:
        return value
    stored = field.get_db_prep_save(value, connection)
    if isinstance(stored, int) and abs(stored) > _LARGEST:
        raise OverflowError(f"{field.name} cannot be {stored}")
    return stored


def _field(model: type[Model], name: str) -> Field[Any, Any]:
    field = model._meta.get_field(name)
    if not isinstance(field, Field):
        raise TypeError(f"{name} is no column")
    return field


def _column(model: type[Model], name: str) -> str:
    return str(_field(model, name).column)


def _table(model: type[Model]) -> str:
    return _quoted(model._meta.db_table)


def _quoted(name: str) -> str:
    return connection.ops.quote_name(name)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(_quoted(name) for name in names)
