"""Lists, page by page, by keyset: a page costs the same wherever it is, and none is missed or repeated."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.core import signing
from django.db.models import Q, QuerySet
from pydantic import BaseModel, Field
from rest_framework.response import Response

from pipelines.foundation.errors import BadRequest
from pipelines.selectors.base.schemas import Schema

DEFAULT_LIMIT = 50
MAX_LIMIT = 1_000

Item = TypeVar("Item")
Row = TypeVar("Row")


class Page(Schema, Generic[Item]):
    """Some results; `next` is the cursor of the following page, null on the last one."""

    results: list[Item]
    next: str | None


class PageQuery(BaseModel):
    """Which page."""

    cursor: str | None = Field(default=None, max_length=1000)
    limit: int = Field(default=DEFAULT_LIMIT, ge=1, le=MAX_LIMIT)


class _Written(Response):
    """An answer that is JSON already: pydantic writes a thousand views in a fraction of a renderer's time."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self["Content-Type"] = "application/json"
        self._text = text

    @property
    def rendered_content(self) -> str:
        return self._text


def each(show: Callable[[Row], BaseModel]) -> Callable[[Sequence[Row]], list[BaseModel]]:
    """Show rows one by one, where a page needs nothing that is read for all of them together."""
    return lambda rows: [show(row) for row in rows]


def page(
    rows: QuerySet[Any, Row],
    keys: Sequence[str],
    query: PageQuery,
    show: Callable[[Sequence[Row]], Iterable[BaseModel]],
) -> Response:
    """Answer with one page of `rows`, ordered by `keys`: all ascending or all descending (`-`), the last one unique.

    Raises BadRequest for a cursor that is not of this list.
    """
    names = [key.lstrip("-") for key in keys]
    salt = f"{rows.model.__name__}:{','.join(keys)}"
    after = _after(names, descending=keys[0].startswith("-"), values=_read(query.cursor, salt, len(names)))
    found = list(rows.filter(after).order_by(*keys)[: query.limit + 1])
    shown = found[: query.limit]
    cursor = _write(shown[-1], names, salt) if len(found) > query.limit else None
    results = ",".join(view.model_dump_json() for view in show(shown))
    return _Written(f'{{"results":[{results}],"next":{json.dumps(cursor)}}}')


def _after(names: list[str], *, descending: bool, values: list[Any] | None) -> Q:
    """Rows behind the one that has these values: (a, b) > (x, y), written as a > x or (a = x and b > y)."""
    if values is None:
        return Q()
    comparison = "lt" if descending else "gt"
    condition = Q()
    for position, name in enumerate(names):
        equal = dict(zip(names[:position], values[:position], strict=True))
        condition |= Q(**equal, **{f"{name}__{comparison}": values[position]})
    return condition


def _write(row: object, names: list[str], salt: str) -> str:
    values = [getattr(row, name) for name in names]
    return signing.dumps([str(v) if isinstance(v, datetime | UUID) else v for v in values], salt=salt, compress=True)


def _read(cursor: str | None, salt: str, length: int) -> list[Any] | None:
    if cursor is None:
        return None
    try:
        values = signing.loads(cursor, salt=salt)
    except signing.BadSignature:
        values = None
    if not isinstance(values, list) or len(values) != length:
        raise BadRequest(
            "The cursor does not belong to this list.", code="cursor_invalid", hint="Start again without a cursor."
        )
    return values
