"""Interceptors in SQL in a definition: what is refused there, where, and what follows from a look at the clock."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from pipelines.domain.definitions.checks.validate import validate_data, validate_text
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.definitions.parts import registry
from tests.unit.definitions import changed

FIRST = "sources/shop/interceptors/0"
PATH = "sources.shop.interceptors[0]"


def sql(**keys: Any) -> dict[str, Any]:
    return changed({FIRST: {"type": "sql", **keys}})


def findings(**keys: Any) -> list[tuple[str, str]]:
    return [(each.path.removeprefix(PATH), each.code) for each in validate_data(sql(**keys)).findings]


def test_what_is_right_is_accepted_and_written_as_it_was() -> None:
    keys: dict[str, Any] = {
        "where": "json.amount > 1",
        "set": {"headers.total": "json.amount * 2", "body.a.b": "key", "key": "NULL"},
        "drop": ["headers.debug", "body.a.c"],
        "schema": "amount DOUBLE",
        "on_error": "drop",
    }
    validation = validate_data(sql(**keys))
    assert validation.findings == []
    assert validation.definition is not None
    written = validation.definition.plain()
    assert Definition.model_validate(written) == validation.definition
    assert written["sources"]["shop"]["interceptors"][0] == {"type": "sql", **keys}


def test_all_findings_come_at_once_at_the_keys_they_are_about() -> None:
    found = validate_data(
        sql(
            where="key = 'a'\n  AND reflect('java.lang.System', 'getenv', 'HOME') = uper(body)",
            set={"headers.total": "json.amount * (2", "key": "'${env:HOME}'", "topic": "1"},
        )
    ).findings
    assert [(each.path.removeprefix(PATH), each.code) for each in found] == [
        (".set.key", "sql_reference"),
        (".set.topic", "unknown_target"),
        ('.set["headers.total"]', "sql_syntax"),
        (".where", "sql_function"),
        (".where", "sql_function"),
    ]
    assert all(each.message and each.suggestion and each.is_error for each in found)
    assert found[3].message == 'Line 2, column 7: Expressions may not call "reflect".'
    assert (found[4].message, found[4].suggestion) == (
        'Line 2, column 55: Expressions may not call "uper".',
        'Did you mean "upper"?',
    )


def test_a_finding_stands_at_the_line_of_its_key() -> None:
    text = yaml.safe_dump(sql(where="sum(1) > 2"))
    (found,) = validate_text(text).findings
    assert found.line is not None
    assert text.splitlines()[found.line - 1].strip().removeprefix("- ") == "where: sum(1) > 2"


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, [("", "nothing_to_do")]),
        ({"drop": ["body"]}, [(".drop[0]", "unknown_target")]),
        ({"drop": ["headers.a b"]}, [(".drop[0]", "unknown_target")]),
        ({"set": {"headers.a": "1"}, "drop": ["headers.a"]}, [("", "repeated")]),
        ({"set": {"body": "1", "body.a": "2"}}, [("", "repeated")]),
        ({"set": {"body.a": "1", "body.a.b": "2"}}, [("", "repeated")]),
        ({"set": {"body.a": "1", "body.ab": "2"}}, []),
        ({"set": {f"headers.h{number}": "1" for number in range(51)}}, [(".set", "too_long")]),
        ({"where": ""}, [(".where", "sql_syntax")]),
        ({"where": "true", "schema": ""}, [(".schema", "invalid_value")]),
        ({"where": 5}, [(".where", "wrong_type")]),
        ({"set": ["a"]}, [(".set", "wrong_type")]),
        ({"where": "true", "when": "x"}, [(".when", "unknown_key")]),
        ({"where": "key = '${secret:shop-kafka}'"}, [(".where", "secret_not_allowed"), (".where", "sql_reference")]),
    ],
)
def test_what_cannot_be_is_refused(keys: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert [code for _, code in findings(**keys)] == [code for _, code in expected]
    assert [path for path, _ in findings(**keys)] == [path for path, _ in expected]


def test_what_looks_at_the_clock_is_allowed_with_a_warning_and_one_read_serves_all_channels() -> None:
    data = sql(set={"headers.age": "unix_millis(now()) - unix_millis(timestamp)", "headers.at": "timestamp"})
    validation = validate_data(data)
    warned = [each for each in validation.findings if each.code == "sql_volatile"]
    assert [(each.path, each.severity) for each in warned] == [(f'{PATH}.set["headers.age"]', "warning")]
    assert validation.definition is not None
    (interceptor, *_) = validation.definition.sources["shop"].interceptors
    assert not interceptor.repeatable
    still = validate_data(sql(set={"headers.at": "timestamp"})).definition
    assert still is not None
    assert still.sources["shop"].interceptors[0].repeatable


def test_real_time_mode_does_not_run_it() -> None:
    data = changed({FIRST: {"type": "sql", "where": "true"}, "delivery": {"mode": "real_time"}})
    assert (f"{PATH}.type", "not_in_real_time") in {(each.path, each.code) for each in validate_data(data).findings}


def test_an_editor_gets_the_functions_with_the_schema_of_the_component() -> None:
    functions = registry.json_schema("interceptor", "sql")["functions"]
    upper = next(each for each in functions if each["name"] == "upper")
    assert upper == {
        "name": "upper",
        "signature": "upper(text)",
        "description": "In upper case.",
        "group": "Text",
    }
    assert "reflect" not in {each["name"] for each in functions}
