"""Every kind of event that is recorded is known, in one category."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic_core import PydanticCustomError

from pipelines.domain.monitoring.event_kinds import CATEGORY_LABELS, KINDS, EventCategory, known_kind, selected
from tests.settings import BASE_DIR

RECORDERS = {"record", "emit", "_emit", "_event"}
KIND = re.compile(r"[a-z_]+\.[a-z_]*")


def written_kinds() -> Iterator[tuple[str, Path]]:
    """Texts in the form of a kind, or of its beginning, in the calls that record events."""
    files = [file for root in ("pipelines", "workers", "controlplane") for file in (BASE_DIR / root).rglob("*.py")]
    for file in files:
        if file.parent.name == "migrations":  # they write to the audit alone
            continue
        calls = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
        for call in calls:
            if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "audit":
                continue
            named = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            given = [*call.args, *(each.value for each in call.keywords if each.arg == "kind")]
            for node in (node for part in given if named in RECORDERS for node in ast.walk(part)):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and KIND.fullmatch(node.value):
                    yield node.value, file


def test_every_kind_that_the_code_records_is_known() -> None:
    found = {(kind, file.name) for kind, file in written_kinds()}
    assert len(found) > 60
    for kind, file in found:
        assert known_kind(f"{kind}*" if kind.endswith(".") else kind), file


def test_a_kind_is_in_one_category_and_each_category_has_a_label() -> None:
    kinds = [kind for of_category in KINDS.values() for kind in of_category]
    assert len(kinds) == len(set(kinds))
    assert set(KINDS) == set(CATEGORY_LABELS) == set(EventCategory)


@pytest.mark.parametrize("written", ["*", "", "phase", "phase.", "guard", "Phase.changed", "phase.changed.x"])
def test_what_is_no_kind_is_refused_with_those_that_exist(written: str) -> None:
    with pytest.raises(PydanticCustomError) as refused:
        known_kind(written)
    assert "phase.changed" in str((refused.value.context or {})["suggestion"])


def test_kinds_and_categories_are_joined() -> None:
    assert selected([], []) == []
    assert selected(["phase.changed", "alert.*"], []) == ["alert.*", "phase.changed"]
    assert set(selected(["alert.*"], [EventCategory.STATES])) == {"alert.*", *KINDS[EventCategory.STATES]}
