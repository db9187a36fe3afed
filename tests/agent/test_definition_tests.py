"""Tests of a definition run by the code that agents run: interceptors, selector, dead letters and added records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.domain.definitions.checks.validate import validate_data
from pipelines.domain.preview.protocol import CaseFailure, CasesRequest, CasesResult
from tests.agent.harness import REACH
from tests.factories import definition_data
from workers.agent.base.findings import Refused
from workers.agent.evaluation.testing import run_tests

ENRICH = "tests.agent.interceptors:Enrich"
VARIOUS = "tests.agent.interceptors:Various"
FIRST, SECOND = (f"sources.shop.interceptors[{number}]" for number in range(2))
FILTER = {"type": "regex_filter", "regex": "DEBUG", "exclude_events": True}
STATIC = {"type": "static", "key": "datacenter", "value": "prague", "preserve_existing": False}
JSON = {"type": "morph_json", "rename": {"n": "number"}}


def definition(*interceptors: dict[str, Any], tests: list[dict[str, Any]], **source: Any) -> dict[str, Any]:
    data = definition_data()
    data["sources"]["shop"] |= {"interceptors": list(interceptors), **source}
    data["channels"]["audit"] = {"type": "direct"}
    data["sinks"]["audit"] = data["sinks"]["out"] | {"channel": "audit", "topic": "audit"}
    found = validate_data(data | {"tests": tests})
    assert found.definition, found.findings
    return found.definition.plain()


def case(given: list[dict[str, Any]], *expect: dict[str, Any], name: str = "t") -> dict[str, Any]:
    return {"name": name, "given": given, "expect": list(expect)}


def ran(session: SparkSession, tmp: Path, data: dict[str, Any], *classes: str) -> CasesResult:
    request = CasesRequest.model_validate(
        {
            "candidate": {"definition": data},
            "spark": {},
            "seconds": 60,
            "interceptors": classes,
            "reach": REACH.model_dump(mode="json"),
        }
    )
    return run_tests(session, request, tmp)


def failures(result: CasesResult) -> list[CaseFailure]:
    return [failure for each in result.tests for failure in each.failures]


def test_what_is_as_expected_passes(session: SparkSession, tmp_path: Path) -> None:
    selector = {"type": "multiplexing", "header": "country", "mapping": {"CZ": ["main"], "US": ["main", "audit"]}}
    both: list[dict[str, Any]] = [{"headers": {"country": "US"}, "body_json": {"n": 1}, "key": "7"}, {"body": "DEBUG"}]
    tests = [
        case(
            both,
            {
                "channels": ["audit", "main"],
                "headers": {"datacenter": "prague"},
                "absent_headers": ["x"],
                "key": "7",
                "body_json": {"number": 1},
            },
            {"filtered_by": FIRST},
        ),
        case([{"headers": {"country": "FR"}, "body": "{}"}], {"unrouted": True}, name="elsewhere"),
        case([{"headers": {"country": "CZ"}, "body": "no json"}], {"dead": True}, name="dead"),
        case([{"headers": {"country": "CZ"}, "body_base64": "/w=="}], {"dead": SECOND}, name="dead by one"),
        case([{"headers": {"country": "CZ"}, "body": "{}"}], {"channels": ["main"], "body": "{}"}, name="text"),
    ]
    data = definition(FILTER, JSON, STATIC, tests=tests, selector=selector)
    result = ran(session, tmp_path, data)
    assert failures(result) == []
    assert result.passed
    assert [each.name for each in result.tests] == ["t", "elsewhere", "dead", "dead by one", "text"]


def test_a_failure_names_expected_got_and_component(session: SparkSession, tmp_path: Path) -> None:
    tests = [
        case([{"body": "DEBUG"}], {"channels": ["main", "audit"]}),
        case(
            [{"body_json": {"n": 1, "m": 2}, "headers": {"datacenter": "brno"}}],
            {"channels": ["audit", "main"], "headers": {"datacenter": "brno"}, "body_json": {"n": 1, "m": 2}},
            {"dead": True},
            name="content",
        ),
    ]
    found = failures(ran(session, tmp_path, definition(FILTER, JSON, STATIC, tests=tests)))
    assert [(each.path, each.expected, each.got, each.component) for each in found] == [
        ("tests[0].expect[0]", "delivered to audit, main", f"filtered by {FIRST}", FIRST),
        ("tests[1].expect[0].headers.datacenter", "brno", "prague", "sources.shop.interceptors[2]"),
        ("tests[1].expect[0].body_json", "1", None, SECOND),
        ("tests[1].expect[0].body_json", None, "1", SECOND),
        ("tests[1].expect[1]", "a dead letter", None, ""),
    ]
    assert [each.message for each in found][2:4] == ["The body differs at /n.", "The body differs at /number."]


def test_records_that_an_interceptor_adds_are_events_of_their_own(session: SparkSession, tmp_path: Path) -> None:
    several = {"type": "python", "class": VARIOUS}
    parts = [{"channels": ["audit", "main"], "headers": {"part": str(n)}, "body": f"split{n}"} for n in range(3)]
    given = [{"body": "split"}, {"body": "drop"}, {"body": "raise"}]
    tests = [case(given, *parts, {"filtered_by": FIRST}, {"dead": FIRST})]
    assert failures(ran(session, tmp_path, definition(several, tests=tests), VARIOUS)) == []
    short = [case(given, *parts[:2], name="short")]
    found = failures(ran(session, tmp_path, definition(several, tests=short), VARIOUS))
    assert [(each.path, each.got) for each in found][:2] == [
        ("tests[0].expect", "delivered to audit, main"),
        ("tests[0].expect", f"filtered by {FIRST}"),
    ]
    assert "what it says" in (found[2].got or "")


def test_an_event_is_as_its_source_reads_it(session: SparkSession, tmp_path: Path) -> None:
    tests = [
        case(
            [{"body": "a"}, {"body": "b", "timestamp": "2026-01-31T12:00:00Z"}],
            {"channels": ["audit", "main"], "headers": {"topic": "orders-in"}, "absent_headers": ["at"]},
            {"channels": ["audit", "main"], "headers": {"at": "1769860800000"}},
        )
    ]
    data = definition(tests=tests, topic_header="topic", timestamp_header="at")
    assert failures(ran(session, tmp_path, data)) == []


def test_tests_do_not_see_each_other(session: SparkSession, tmp_path: Path) -> None:
    tests = [case([{"body": "a"}], {"channels": ["audit", "main"], "headers": {"id": "1"}}, name=n) for n in "ab"]
    first, second = ran(session, tmp_path, definition({"type": "uuid", "header_name": "id"}, tests=tests)).tests
    assert first.failures[0].got == second.failures[0].got


def test_a_python_interceptor_runs_only_where_it_is_allowed(session: SparkSession, tmp_path: Path) -> None:
    enrich = {"type": "python", "class": ENRICH, "config": {"country": "SK"}}
    expected = {"channels": ["audit", "main"], "body_json": {"country": "SK"}}
    data = definition(enrich, tests=[case([{"body": "{}"}], expected)])
    assert failures(ran(session, tmp_path, data, ENRICH)) == []
    with pytest.raises(Refused):
        ran(session, tmp_path, data)


def test_a_value_that_is_shown_is_bounded(session: SparkSession, tmp_path: Path) -> None:
    tests = [case([{"body": "x" * 60_000}], {"channels": ["audit", "main"], "body": "y"})]
    result = ran(session, tmp_path, definition(tests=tests))
    assert "(60000 characters)" in (failures(result)[0].got or "")
    assert len(json.dumps(result.model_dump())) < 2000


def test_spark_checks_all_sql_also_of_sources_that_no_test_is_of(session: SparkSession, tmp_path: Path) -> None:
    data = definition({"type": "sql", "where": "json:amount::BIGINT >= 10"}, tests=[case([{}], {"dead": True})])
    del data["tests"]
    assert ran(session, tmp_path, data).tests == []
    data["sources"]["pos"] = data["sources"]["shop"] | {"interceptors": [{"type": "sql", "where": "nobody = 1"}]}
    data["sources"]["shop"]["interceptors"] = [{"type": "sql", "where": "body = ('a'", "set": {"key": "headers +"}}]
    with pytest.raises(Refused) as refused:
        ran(session, tmp_path, data)
    assert [(each.path, each.code) for each in refused.value.findings] == [
        ("sources.shop.interceptors[0].where", "SQL_SYNTAX"),
        ("sources.shop.interceptors[0].set.key", "SQL_SYNTAX"),
        ("sources.pos.interceptors[0].where", "SQL_UNKNOWN_INPUT"),
    ]
    assert "Line 1, column " in refused.value.findings[0].message
