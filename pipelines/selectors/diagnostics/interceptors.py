"""The registry of Python interceptors as the web server has it, and who uses its classes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Any

from django.conf import settings

from pipelines.domain.access.teams import Access
from pipelines.foundation.interceptors import ENTRY_POINTS
from pipelines.models import Pipeline
from pipelines.selectors.base.visible import visible
from pipelines.selectors.diagnostics.schemas import InterceptorClassSchema


def interceptor_classes(access: Access) -> list[InterceptorClassSchema]:
    """Every class of the registry, and every one that a pipeline of the user names; nothing of them is imported."""
    users = _used_by(access)
    points = {point.value: point for point in entry_points(group=ENTRY_POINTS)}
    listed = set(settings.HEADGATE.interceptors)
    return [
        InterceptorClassSchema(
            name=name,
            registered=name in listed or name in points,
            listed=name in listed,
            package=point.dist.name if (point := points.get(name)) and point.dist else None,
            version=point.dist.version if point and point.dist else None,
            used_by=users.get(name, []),
        )
        for name in sorted({*listed, *points, *users})
    ]


def _used_by(access: Access) -> dict[str, list[str]]:
    rows = visible(Pipeline.objects.all(), access).filter(archived_at=None, current_revision__isnull=False)
    found: dict[str, list[str]] = defaultdict(list)
    for name, definition in rows.order_by("name").values_list("name", "current_revision__definition").iterator():
        for each in sorted(set(_named(definition))):
            found[each].append(name)
    return found


def _named(part: Any) -> Iterator[str]:
    """The classes of `python` interceptors anywhere in a definition."""
    if isinstance(part, dict):
        if part.get("type") == "python" and isinstance(part.get("class"), str):
            yield part["class"]
        for each in part.values():
            yield from _named(each)
    elif isinstance(part, list):
        for each in part:
            yield from _named(each)
