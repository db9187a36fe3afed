"""Queries whose SQL is built once. To build it costs Django many times what the database needs for the answer, and a
supervisor asks the same ten questions with every tick. What it costs most after that is to make models of a thousand
rows that are as they were: they are made once, too."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any, Generic, TypeVar, cast
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model, QuerySet, Value
from django.db.models.base import ModelState
from django.db.models.query import ModelIterable
from django.db.models.sql.compiler import SQLCompiler

M = TypeVar("M", bound=Model)


@dataclass(frozen=True)
class _Given:
    """Stands among the parameters of the SQL for a value that each call gives."""

    name: str


def given(name: str) -> Value:
    """In a filter of a prepared query: the text, number or id that each call gives by this name."""
    return Value(_Given(name))


@dataclass(frozen=True)
class _Built:
    """`compiler`: knows what the columns of an answer are, once it has built `sql`."""

    compiler: SQLCompiler
    sql: str
    params: tuple[Any, ...]

    @classmethod
    def of(cls, queryset: QuerySet[Any]) -> _Built:
        compiler = queryset.query.get_compiler(using=queryset.db)
        sql, params = compiler.as_sql()
        return cls(compiler, sql, tuple(params))


class Prepared(Generic[M]):
    """A query of models. `build` is called once, and not before the first use; what it returns is never evaluated."""

    def __init__(self, build: Callable[[], QuerySet[M]]) -> None:
        self._build = build

    def __call__(self, **values: str | int | UUID) -> list[M]:
        """The rows as they are now."""
        compiler = self._compiler(**values)
        return _models(compiler, compiler.connection.alias)

    def _compiler(self, **values: str | int | UUID) -> Any:
        """It is of this call alone, since threads have connections of their own."""
        connection = connections[self._built.compiler.using or DEFAULT_DB_ALIAS]
        known = {name: _stored(value, connection) for name, value in values.items()}
        params = tuple(known[each.name] if isinstance(each, _Given) else each for each in self._built.params)
        compiler: Any = copy(self._built.compiler)
        compiler.connection = connection
        compiler.as_sql = lambda: (self._built.sql, params)
        return compiler

    @cached_property
    def _built(self) -> _Built:
        return _Built.of(self._build())


class Remembering(Prepared[M]):
    """A prepared query without related models, for many rows that seldom change and few different values.

    Every row is read each time. One that is exactly as it was in the answer before, column for column, is not made a
    model again: the caller gets a copy of its own, whose attributes it may set. What JSON columns hold is shared by
    these copies, and is replaced, never changed in place.
    """

    def __init__(self, build: Callable[[], QuerySet[M]]) -> None:
        super().__init__(build)
        self._before: dict[tuple[tuple[str, str | int | UUID], ...], dict[tuple[Any, ...], M]] = {}

    def __call__(self, **values: str | int | UUID) -> list[M]:
        compiler, asked = self._compiler(**values), tuple(sorted(values.items()))
        rows = [tuple(row) for part in compiler.execute_sql() for row in part]
        before = self._before.get(asked, {})
        new = [row for row in rows if row not in before]
        compiler.execute_sql = lambda **_: [new]
        made = dict(zip(new, _models(compiler, compiler.connection.alias), strict=True))
        models = {row: before.get(row) or made[row] for row in rows}
        self._before[asked] = models
        return [_copied(models[row]) for row in rows]


def _models(compiler: Any, alias: str) -> list[Any]:
    """What a compiler's answer says. Django takes no more than this of a query set."""
    query = SimpleNamespace(get_compiler=lambda using: compiler)
    return list(ModelIterable(cast("QuerySet[Any]", SimpleNamespace(db=alias, query=query, _known_related_objects={}))))


def _copied(model: M) -> M:
    """Another model of the same row."""
    made = object.__new__(type(model))
    made.__dict__.update(model.__dict__)
    made._state = ModelState()
    made._state.db, made._state.adding = model._state.db, False
    return made


def _stored(value: str | int | UUID, connection: BaseDatabaseWrapper) -> str | int | UUID:
    """SQLite has no type of its own for ids."""
    return value.hex if isinstance(value, UUID) and not connection.features.has_native_uuid_field else value
