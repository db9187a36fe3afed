"""Which component a part of the ledger is of: a path means another component once a revision has put one there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pipelines.domain.base.positions import Frozen
from pipelines.domain.ledger.ledger import CAUSES, Cause, added_up

_STEP = re.compile(r"[^.\[\]]+")
_WITHIN_A_SOURCE = ("interceptors", "selector")


class ComponentCounts(Frozen):
    """What a component has counted while it was the same, from one revision to another. `type`: empty where nothing of
    the definition stands there, as for the quarantine."""

    component: str
    type: str
    first_revision: int
    last_revision: int
    counts: Mapping[Cause, int]


def specification(definition: Mapping[str, Any], path: str) -> Mapping[str, Any] | None:
    """What a definition says of the component at a path, without components inside it; None where it has none."""
    found: Any = definition
    for step in _STEP.findall(path):
        try:
            found = found[int(step)] if isinstance(found, list) else found[step]
        except (KeyError, IndexError, ValueError, TypeError):
            return None
    if not isinstance(found, Mapping):
        return None
    return {key: value for key, value in found.items() if key not in _WITHIN_A_SOURCE}


def by_component(
    parts: Iterable[tuple[int, str, Mapping[Cause, int]]], definitions: Mapping[int, Mapping[str, Any]]
) -> list[ComponentCounts]:
    """Parts with their revisions, in the order of these, by path. What revisions define alike is one component, and
    its parts are added up; anything else that stood at its path has a total of its own."""
    found: dict[str, list[ComponentCounts]] = {}
    for revision, path, counts in parts:
        own = specification(definitions[revision], path)
        totals = found.setdefault(path, [])
        if totals and specification(definitions[totals[-1].last_revision], path) == own:
            before = totals.pop()
            counts = added_up({path: before.counts}, {path: counts}).get(path, {})
            first = before.first_revision
        else:
            first = revision
        kind = str(own.get("type", "")) if own else ""
        totals.append(
            ComponentCounts(component=path, type=kind, first_revision=first, last_revision=revision, counts=counts)
        )
    return [each for path in sorted(found) for each in found[path]]


def missing(sums: Mapping[str, int], parts: Sequence[Mapping[Cause, int]]) -> dict[Cause, int]:
    """Records of each sum that no component has counted."""
    left = {name: sums[name] - sum(each.get(name, 0) for each in parts) for name in CAUSES}
    return {name: number for name, number in left.items() if number > 0}
