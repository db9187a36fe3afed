"""Selecting rows by a label."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet, TextField
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast


def with_label(found: QuerySet[Any], selector: str, field: str = "labels") -> QuerySet[Any]:
    """Rows whose labels have what a selector names: `NAME:VALUE`, or `NAME` with any value."""
    name, colon, value = selector.partition(":")
    has: dict[str, Any] = {f"{field}__has_key": name}
    found = found.filter(**has)
    if not colon:
        return found
    valued: QuerySet[Any] = found.annotate(label=Cast(KeyTextTransform(name, field), TextField()))
    return valued.filter(label=value)
