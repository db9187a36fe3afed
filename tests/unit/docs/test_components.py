"""Each component has a page with every key, and a worked example that validates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.definitions.checks.validate import validate_data, validate_text
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.definitions.parts import registry
from pipelines.domain.definitions.parts.component import ComponentSpec

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "reference" / "components"
EXAMPLES = FOLDER / "examples"
BUILT_IN = [*registry.types("interceptor").values(), *registry.types("selector").values()]
BUILT_IN.remove(registry.get("interceptor", "python"))


def name_of(spec: type[ComponentSpec]) -> str:
    return f"{spec.kind}_{spec.type_name()}"


def example(spec: type[ComponentSpec]) -> Definition:
    validation = validate_text((EXAMPLES / f"{name_of(spec)}.yaml").read_text())
    assert validation.findings == []
    assert validation.definition is not None
    return validation.definition


def components_in(value: Any) -> set[tuple[str, str]]:
    """(kind, type) of every component in a part of a definition."""
    if isinstance(value, ComponentSpec):
        return {(value.kind, value.type)} | components_in(dict(value))
    if isinstance(value, dict):
        return {found for each in value.values() for found in components_in(each)}
    if isinstance(value, list):
        return {found for each in value for found in components_in(each)}
    return components_in(dict(value)) if hasattr(value, "model_fields_set") else set()


each_component = pytest.mark.parametrize("spec", registry.all(), ids=name_of)


@each_component
def test_an_example_is_valid_and_has_the_component(spec: type[ComponentSpec]) -> None:
    assert (spec.kind, spec.type_name()) in components_in(example(spec))


@each_component
def test_an_example_is_its_own_canonical_form(spec: type[ComponentSpec]) -> None:
    definition = example(spec)
    again = validate_data(definition.plain())
    assert again.findings == []
    assert again.definition is not None
    assert again.definition.canonical() == definition.canonical()


@each_component
def test_a_page_explains_every_key(spec: type[ComponentSpec]) -> None:
    page = (FOLDER / f"{name_of(spec)}.md").read_text()
    for name, field in spec.model_fields.items():
        assert f"| `{field.alias or name}` |" in page, name


@pytest.mark.parametrize("spec", BUILT_IN, ids=name_of)
def test_a_built_in_interceptor_or_selector_shows_events_and_what_becomes_of_them(spec: type[ComponentSpec]) -> None:
    case = json.loads((EXAMPLES / f"{name_of(spec)}.events.json").read_text())
    expected = case["expect"]
    assert case["events"]
    assert expected.keys() == {"channels", "filtered", "unrouted", "dead_letters"}
    assert expected["channels"].keys() <= example(spec).channels.keys()
    for event in (*case["events"], *expected["unrouted"], *(e for got in expected["channels"].values() for e in got)):
        assert event.keys() == {"headers", "body"}
