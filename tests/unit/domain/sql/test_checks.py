"""What is said of an expression in SQL before Spark is asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.domain.sql.checks import DEEPEST, LONGEST, MOST_WORDS, is_volatile, problems
from pipelines.domain.sql.functions import VOLATILE, functions
from pipelines.domain.sql.targets import target
from pipelines.domain.sql.words import words


def found(text: str) -> list[tuple[str, int | None]]:
    return [(problem.code, problem.at) for problem in problems(text)]


@pytest.mark.parametrize(
    "text",
    [
        "body RLIKE 'a' AND json.amount::DOUBLE > 3",
        "'it''s' || \"q\" || r'\\d' || x'AB' -- reflect(\n",
        "'a\\'b' = `key`",
        "/* a /* reflect( */ b */ headers['x'] IN ('a', 'b')",
        "CAST(json.id AS DECIMAL(10, 2)) BETWEEN (1) AND (2)",
        "extract(HOUR FROM (timestamp)) NOT IN (1, 2) OR (key) IS NULL",
        "exists(json.tags, t -> t LIKE ANY ('a'))",
        "CASE WHEN (body IS NULL) THEN (1) ELSE (2) END",
        "json.select = json.over",
        "TIMESTAMP '2026-01-31 12:00:00' - INTERVAL '1' DAY",
        "1.5BD + 10L + 2e3 + .5",
    ],
)
def test_nothing_is_said_against_what_spark_has_to_judge(text: str) -> None:
    assert problems(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [("sql_syntax", None)]),
        ("-- nothing", [("sql_syntax", None)]),
        ("upper(body", [("sql_syntax", 5)]),
        ("body)", [("sql_syntax", 4)]),
        ("headers['a')", [("sql_syntax", 11)]),
        ("'a", [("sql_syntax", 0)]),
        ("body = `a", [("sql_syntax", 7)]),
        ("body /* a /* b */", [("sql_syntax", 5)]),
        ("uper(body)", [("sql_function", 0)]),
        ("key = 'a' OR\n lenght(body) > 1 AND sum(1) > 2", [("sql_function", 14), ("sql_function", 35)]),
        ("body IN (SELECT 1)", [("sql_not_allowed", 9)]),
        ("sum(1) OVER (PARTITION BY body)", [("sql_function", 0), ("sql_not_allowed", 7)]),
        ("timestamp > TIMESTAMP 'now'", [("sql_not_allowed", 22)]),
        ('DATE" Yesterday UTC"', [("sql_not_allowed", 4)]),
        ("TIMESTAMP'n\\u006fw'", [("sql_not_allowed", 9)]),
        ("body = '${env:HOME}'", [("sql_reference", 8)]),
        ("(" * (DEEPEST + 1), [("sql_too_deep", DEEPEST)]),
        ("1" + "+1" * MOST_WORDS, [("sql_too_long", None)]),
        ("a" * (LONGEST + 1), [("sql_too_long", None)]),
    ],
)
def test_everything_that_is_wrong_is_told_with_its_place(text: str, expected: list[tuple[str, int | None]]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "reflect('java.lang.System', 'getenv', 'HOME')",
        "`reflect`('a')",
        "RefLect /* a */ ('a')",
        "reflect -- a \\\n b\n ('a')",
        "upper(lower(`java_method`('a')))",
        "system.builtin.reflect('a')",
        "`reflect``x`('a')",
        "\uff52\uff45\uff46\uff4c\uff45\uff43\uff54('a')",
        "identifier('reflect')('a')",
    ],
)
def test_a_function_that_is_not_allowed_is_found_however_it_is_written(text: str) -> None:
    assert "sql_function" in {code for code, _ in found(text)}


def test_the_message_has_line_and_column_and_the_suggestion_the_nearest_name() -> None:
    text = "key = 'a'\n  AND uper(body) = 'A'"
    (problem,) = problems(text)
    assert problem.told(text) == 'Line 2, column 7: Expressions may not call "uper".'
    assert problem.suggestion == 'Did you mean "upper"?'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now() > timestamp", True),
        ("Current_Date = to_date(body)", True),
        ("json.now = headers.current_date", False),
        ("body = 'now()' -- now()", False),
        ("'", False),
    ],
)
def test_an_expression_that_looks_at_the_clock_is_volatile(text: str, expected: bool) -> None:
    assert is_volatile(text) is expected


@given(st.text(alphabet="ab1 '\"`-/*\\\n().${}[]:", max_size=40))
def test_any_text_is_judged(text: str) -> None:
    assert all(problem.at is None or 0 <= problem.at <= len(text) for problem in problems(text))


@given(st.text(alphabet="ab1 .+'", max_size=40))
def test_words_stand_where_they_say(text: str) -> None:
    if text.count("'") % 2 == 0:
        assert all(text.startswith(word.text, word.at) for word in words(text))


def test_every_function_has_what_an_editor_shows() -> None:
    table = functions()
    assert len(table) > 150
    assert set(table) >= VOLATILE
    for name, function in table.items():
        assert name.isidentifier()
        assert name == name.lower()
        assert function.signature.startswith(f"{name}(")
        assert function.description.endswith(".")
        assert name in function.example.lower()
        assert problems(function.example) == []


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("key", "key"),
        ("body", "body"),
        ("body.a", "field"),
        ("body.a.b c", "field"),
        ("headers.x-a.b", "header"),
        ("headers.", None),
        ("headers.a b", None),
        ("body.", None),
        ("body.a..b", None),
        ("body.a.b.c.d.e.f", None),
        ("json.a", None),
        ("topic", None),
    ],
)
def test_what_can_be_set_has_a_name(name: str, kind: str | None) -> None:
    made = target(name)
    assert (made.kind if made else None) == kind
