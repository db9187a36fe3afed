"""Queries whose SQL is built once. To build it costs Django many times what the database needs for the answer, and a
supervisor asks the same ten questions with every tick."""

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
        connection = connections[self._built.compiler.using or DEFAULT_DB_ALIAS]
        known = {name: _stored(value, connection) for name, value in values.items()}
        params = tuple(known[each.name] if isinstance(each, _Given) else each for each in self._built.params)
        return list(ModelIterable(self._answered_with(params, connection)))

    @cached_property
    def _built(self) -> _Built:
        return _Built.of(self._build())

    def _answered_with(self, params: tuple[Any, ...], connection: BaseDatabaseWrapper) -> QuerySet[M]:
        """What Django needs of a query set to make models of an answer. The compiler is of this call alone, since
        threads have connections of their own."""
        compiler: Any = copy(self._built.compiler)
        compiler.connection = connection
        compiler.as_sql = lambda: (self._built.sql, params)
        query = SimpleNamespace(get_compiler=lambda using: compiler)
        return cast("QuerySet[M]", SimpleNamespace(db=connection.alias, query=query, _known_related_objects={}))


def _stored(value: str | int | UUID, connection: BaseDatabaseWrapper) -> str | int | UUID:
    """SQLite has no type of its own for ids."""
    return value.hex if isinstance(value, UUID) and not connection.features.has_native_uuid_field else value
