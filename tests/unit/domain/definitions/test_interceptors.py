"""Specifications of interceptors and selectors: what they refuse, and what they know of themselves."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.domain.definitions.checks.validate import validate_data
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.definitions.parts import registry
from pipelines.domain.regex.java_regex import groups
from tests.unit.definitions import changed

FIRST = "sources/shop/interceptors/0"
SELECTOR = "sources/shop/selector"
EXTRACTOR = {"type": "regex_extractor", "regex": r"(\d+)", "serializers": [{"name": "n"}]}
REPLACE = {"type": "search_replace", "search_pattern": "(a)(?<b>c)"}
MORPH = {"type": "morph_json", "drop": ["a"]}
PYTHON = {"type": "python", "class": "acme.orders:Enrich"}
MULTIPLEXING = {"type": "multiplexing", "header": "c", "mapping": {"CZ": ["lake"]}, "default": ["audit"]}


def findings(data: dict[str, Any]) -> set[tuple[str, str]]:
    return {(finding.path, finding.code) for finding in validate_data(data).findings}


@pytest.mark.parametrize(
    "interceptor",
    [
        {"type": "host"},
        {"type": "uuid"},
        {"type": "remove_header", "matching": "x-.*"},
        EXTRACTOR,
        MORPH,
        PYTHON,
        {**EXTRACTOR, "serializers": [{"name": "at", "type": "millis", "pattern": "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"}]},
        {**EXTRACTOR, "serializers": [{"name": f"h{number}"} for number in range(4)]},
        {**REPLACE, "replace_string": r"$1${b}$0\$\\$12"},
        {**REPLACE, "charset": "latin1"},
        {**PYTHON, "config": {"deep": [1, {"a": None}]}, "on_error": "drop", "init_timeout": "5s"},
    ],
)
def test_what_is_right_is_accepted_and_written_as_it_was(interceptor: dict[str, Any]) -> None:
    validation = validate_data(changed({FIRST: interceptor}))
    assert [finding for finding in validation.findings if finding.is_error] == []
    assert validation.definition is not None
    written = validation.definition.plain()
    assert Definition.model_validate(written) == validation.definition
    keys = written["sources"]["shop"]["interceptors"][0]
    assert keys.keys() >= interceptor.keys()


@pytest.mark.parametrize(
    ("interceptor", "where", "code"),
    [
        ({"type": "remove_header"}, "", "nothing_to_do"),
        ({"type": "remove_header", "matching": "("}, ".matching", "regex_syntax"),
        ({"type": "remove_header", "matching": "(?x)a # comment"}, ".matching", "regex_syntax"),
        ({"type": "remove_header", "matching": "(a+)+"}, ".matching", "regex_unsafe"),
        ({"type": "regex_extractor", "serializers": [{"name": "n"}]}, ".regex", "missing_key"),
        ({**EXTRACTOR, "regex": "?&?&&&?&?&?&&&??"}, ".regex", "regex_syntax"),
        ({**EXTRACTOR, "serializers": [{"name": ""}]}, ".serializers[0].name", "invalid_header"),
        ({**EXTRACTOR, "serializers": []}, ".serializers", "empty"),
        ({**EXTRACTOR, "serializers": [{"name": "n", "type": "millis"}]}, ".serializers[0]", "missing_key"),
        (
            {**EXTRACTOR, "serializers": [{"name": "n", "type": "millis", "pattern": "YYYY-ww"}]},
            ".serializers[0].pattern",
            "bad_time_pattern",
        ),
        (
            {**EXTRACTOR, "serializers": [{"name": "n", "type": "millis", "pattern": "yyyy'T"}]},
            ".serializers[0].pattern",
            "bad_time_pattern",
        ),
        (
            {**EXTRACTOR, "serializers": [{"name": "n", "timezone": "Mars/Base"}]},
            ".serializers[0].timezone",
            "unknown_timezone",
        ),
        ({**REPLACE, "replace_string": "$3"}, "", "bad_replacement"),
        ({**REPLACE, "replace_string": "${c}"}, "", "bad_replacement"),
        ({**REPLACE, "replace_string": "a$"}, "", "bad_replacement"),
        ({**REPLACE, "replace_string": "a\\"}, "", "bad_replacement"),
        ({**REPLACE, "charset": "no-such"}, ".charset", "unknown_charset"),
        ({"type": "morph_json"}, "", "nothing_to_do"),
        ({"type": "morph_json", "rename": {"a": "c", "b": "c"}}, "", "repeated"),
        ({"type": "morph_json", "cast": {"a": "money"}}, ".cast.a", "unknown_value"),
        ({**PYTHON, "class": "/tmp/evil.py"}, ".class", "invalid_class"),
        ({**PYTHON, "class": "http://x:Y"}, ".class", "invalid_class"),
        ({"type": "python"}, ".class", "missing_key"),
        ({**PYTHON, "init_timeout": 0}, ".init_timeout", "out_of_range"),
    ],
)
def test_each_mistake_of_an_interceptor_is_found_where_it_is(
    interceptor: dict[str, Any], where: str, code: str
) -> None:
    assert (f"sources.shop.interceptors[0]{where}", code) in findings(changed({FIRST: interceptor}))


def test_a_multiplexing_selector_mentions_channels_in_four_places() -> None:
    assert findings(changed({SELECTOR: MULTIPLEXING})) == set()
    everywhere = {
        **MULTIPLEXING,
        "mapping": {"CZ": ["lake", "x1"]},
        "default": ["x2"],
        "optional": {"a.b": ["audit", "x3"]},
    }
    assert findings(changed({SELECTOR: everywhere})) == {
        ("sources.shop.selector.mapping.CZ[1]", "unknown_channel"),
        ("sources.shop.selector.default[0]", "unknown_channel"),
        ('sources.shop.selector.optional["a.b"][1]', "unknown_channel"),
    }
    unused = {**MULTIPLEXING, "default": []}
    assert findings(changed({SELECTOR: unused})) == {("channels.audit", "channel_without_source")}
    optional = {"type": "multiplexing", "optional": {"CZ": ["lake", "audit"]}}
    assert findings(changed({SELECTOR: optional})) == {("sources.shop.selector.optional", "no_required_channel")}
    assert ("sources.shop.selector.mapping.CZ", "empty") in findings(
        changed({f"{SELECTOR}": {"type": "multiplexing", "mapping": {"CZ": []}}})
    )


def test_a_channel_that_one_value_requires_is_optional_for_another_alone() -> None:
    selector = multiplexing({"CZ": ["lake"]}, {"US": ["lake", "audit"]})
    assert selector.targets(["lake", "audit", "other"]) == ["audit", "lake"]
    assert (selector.optional_targets(), selector.sometimes_optional()) == ({"audit"}, {"lake"})


def multiplexing(mapping: dict[str, list[str]], optional: dict[str, list[str]], *default: str) -> Any:
    spec = {"type": "multiplexing", "mapping": mapping, "optional": optional, "default": list(default)}
    return registry.get("selector", "multiplexing").model_validate(spec)


@pytest.mark.parametrize(
    ("mapping", "optional", "default", "sometimes"),
    [
        ({"CZ": ["lake"]}, {"CZ": ["lake"]}, [], set()),
        ({"CZ": ["lake"]}, {"CZ": ["lake"], "US": ["lake"]}, [], {"lake"}),
        ({}, {"US": ["lake"]}, ["lake"], set()),
        ({"US": ["audit"]}, {"US": ["lake"]}, ["lake"], {"lake"}),
        ({"CZ": ["lake"]}, {"US": ["audit"]}, [], set()),
        ({}, {}, ["lake"], set()),
    ],
)
def test_a_channel_is_sometimes_optional_where_a_value_has_it_as_optional_alone_and_another_requires_it(
    mapping: dict[str, list[str]], optional: dict[str, list[str]], default: list[str], sometimes: set[str]
) -> None:
    assert multiplexing(mapping, optional, *default).sometimes_optional() == sometimes


def test_only_what_may_differ_the_second_time_is_not_repeatable() -> None:
    specs: list[dict[str, Any]] = [{"type": "uuid"}, {"type": "uuid", "random": True}, PYTHON, MORPH, {"type": "host"}]
    made = [registry.get("interceptor", str(spec["type"])).model_validate(spec) for spec in specs]
    assert [spec.repeatable for spec in made] == [True, False, False, True, True]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("pattern", "count", "names"),
    [("a", 0, set()), ("(a)(?:b)(?<c>d)", 2, {"c"}), (r"\(a\)[(]\Q(\E", 0, set()), ("((a)(?=(b)))", 3, set())],
)
def test_capturing_groups_are_counted_as_java_counts_them(pattern: str, count: int, names: set[str]) -> None:
    found = groups(pattern)
    assert found.count == count
    assert found.names == names
