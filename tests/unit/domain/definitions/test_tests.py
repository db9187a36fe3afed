"""Tests in a definition: what may stand in them, and what a change of them means."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.domain.base.findings import Finding
from pipelines.domain.definitions.checks.validate import validate_data, validate_text
from pipelines.domain.definitions.document.consequences import Consequence, evaluate
from pipelines.domain.definitions.document.diff import diff
from pipelines.domain.definitions.document.references import references, substituted
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.definitions.document.text import dump
from tests.unit.definitions import ORDERS, changed

FIRST = "sources.shop.interceptors[0]"
DELIVERED = {"channels": ["lake", "audit"]}
VALID = {
    "name": "json arrives",
    "given": [{"headers": {"a": "b"}, "key": "k", "body_json": {"n": None}, "timestamp": "2026-01-31T12:00:00Z"}],
    "expect": [DELIVERED | {"headers": {"datacenter": "prague"}, "absent_headers": ["x"], "body_json": {"n": None}}],
}


def with_tests(*tests: Any, **more: Any) -> dict[str, Any]:
    return changed({"tests": list(tests), **more})


def defined(*tests: Any) -> Definition:
    found = validate_data(with_tests(*tests))
    assert found.definition, found.findings
    return found.definition


def expecting(*expect: Any, given: Any = None) -> dict[str, Any]:
    return VALID | {"given": given or [{"body": "a"}], "expect": list(expect)}


def found(*tests: Any) -> dict[tuple[str, str], Finding]:
    return {(each.path, each.code): each for each in validate_data(with_tests(*tests)).findings}


def test_tests_survive_every_form_of_a_definition() -> None:
    definition = defined(VALID, expecting({"filtered_by": FIRST}) | {"name": "b"})
    assert definition.plain()["tests"][0]["given"][0]["body_json"] == {"n": None}
    assert validate_text(dump(definition)).definition == definition
    assert Definition.model_validate(definition.plain()).digest() == definition.digest()


def test_without_tests_a_definition_has_the_digest_that_it_had() -> None:
    assert "tests" not in (validate_data(ORDERS).definition or defined()).plain()
    assert ("tests", "empty") in found()


@pytest.mark.parametrize(
    ("test", "path", "code", "suggestion"),
    [
        (VALID | {"given": []}, "given", "empty", "at least one"),
        (VALID | {"given": [{}] * 101}, "given", "too_long", "100"),
        (VALID | {"expect": []}, "expect", "empty", "at least one"),
        (VALID | {"source": "shp"}, "source", "unknown_source", "shop"),
        (VALID | {"nme": "x"}, "nme", "unknown_key", "name"),
        (expecting(DELIVERED, given=[{"body": "a", "body_json": 1}]), "given[0]", "two_bodies", "one"),
        (expecting(DELIVERED, given=[{"body": "a" * 65_537}]), "given[0].body", "too_long", "65536"),
        (expecting(DELIVERED, given=[{"body_json": ["a" * 65_536]}]), "given[0]", "too_long", "64 KiB"),
        (expecting(DELIVERED, given=[{"body_base64": "="}]), "given[0].body_base64", "invalid_base64", "base64"),
        (expecting(DELIVERED, given=[{"timestamp": "now"}]), "given[0].timestamp", "bad_timestamp", "RFC 3339"),
        (expecting({}), "expect[0]", "one_outcome", "channels"),
        (expecting(DELIVERED | {"dead": True}), "expect[0]", "one_outcome", "channels"),
        (expecting({"dead": False}), "expect[0].dead", "wrong_type", "true"),
        (expecting({"unrouted": False}), "expect[0].unrouted", "unknown_value", "true"),
        (expecting({"dead": True, "body": "a"}), "expect[0]", "not_delivered", "channels"),
        (expecting({"channels": ["lak"]}), "expect[0].channels[0]", "unknown_channel", "lake"),
        (expecting({"filtered_by": "sources.shop.interceptors[3]"}), "expect[0].filtered_by", "unknown_component", "["),
        (expecting({"dead": "sinks.lake"}), "expect[0].dead", "unknown_component", "sources.shop"),
        (expecting(DELIVERED, given=[{"body": "${secret:a}"}]), "given[0].body", "reference_in_test", "made up"),
        (expecting(DELIVERED | {"body": "${env:A}"}), "expect[0].body", "reference_in_test", "made up"),
    ],
)
def test_each_mistake_is_a_finding_at_its_place(test: Any, path: str, code: str, suggestion: str) -> None:
    assert suggestion in found(test)[f"tests[0].{path}", code].suggestion


def test_all_mistakes_are_found_at_once() -> None:
    wrong = expecting({"channels": ["lak"]}, {"dead": 3}, given=[{"body_base64": "="}, {"body": "${secret:a}"}])
    codes = {code for _, code in found(wrong, VALID, VALID)}
    assert codes >= {"unknown_channel", "wrong_type", "invalid_base64", "reference_in_test", "repeated"}


def test_a_test_names_its_source_where_there_are_several() -> None:
    second = ORDERS["sources"]["shop"] | {"topics": ["b"], "group_id": "b"}
    data = with_tests(VALID, VALID | {"name": "b", "source": "web"}, **{"sources/web": second})
    codes = [(each.path, each.code) for each in validate_data(data).findings]
    assert codes == [("tests[0]", "missing_key")]


def test_a_text_that_is_no_reference_may_stand_in_a_test() -> None:
    definition = defined(expecting(DELIVERED, given=[{"body": "${price} of {{n}}"}]))
    assert [each.path for each in references(definition)] == ['sources.shop.options["sasl.password"]']
    assert substituted(definition.plain(), {"${price}": "x"})["tests"] == definition.plain()["tests"]


def test_nothing_that_runs_depends_on_tests() -> None:
    old, new = defined(VALID), defined(VALID | {"name": "other"}, expecting({"dead": True}))
    assert {each.consequence for each in evaluate(diff(old, new), old, new)} == {Consequence.HOT}
    without = validate_data(ORDERS).definition
    assert without
    assert [each.consequence for each in evaluate(diff(without, new), without, new)] == [Consequence.HOT]
