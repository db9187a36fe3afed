"""Interceptors in SQL: what is kept, set and dropped, what fails, and that one event's error stays that event's."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.agent.expressions import PATH, SCHEMA, In, Out, made, sent, whole_plan
from workers.agent.base.event import Event
from workers.agent.base.findings import Refused, blocked_by
from workers.agent.spark.session import generate_code

FIELDS = "id BIGINT, amount DECIMAL(18, 2), name STRING, tags ARRAY<STRING>, customer STRUCT<id: BIGINT>"


def sql(**keys: Any) -> dict[str, Any]:
    return {"type": "sql", **keys}


def one(session: SparkSession, body: bytes | None, *specs: dict[str, Any], **headers: str) -> Out:
    pairs = [(name, value.encode()) for name, value in headers.items()]
    (out,) = sent(session, [In(body=body, headers=pairs)], *specs)
    return out


def several(session: SparkSession, bodies: list[bytes | None], *specs: dict[str, Any]) -> list[Out]:
    return sent(session, [In(body=body, offset=number) for number, body in enumerate(bodies)], *specs)


def value(session: SparkSession, expression: str, body: bytes = b"{}", **headers: str) -> str | None:
    """What an expression gives, as a header."""
    out = one(session, body, sql(set={"headers.value": expression}), **headers)
    assert out.problem is None
    return out.headers.get("value")


def test_events_are_kept_where_the_condition_is_true(session: SparkSession) -> None:
    bodies: list[bytes | None] = [b'{"id":1}', b'{"id":5}', b'{"id":null}', b"{}"]
    outs = several(session, bodies, sql(where="json.id > 3", schema=FIELDS))
    assert [(out.kept, out.problem) for out in outs] == [(False, None), (True, None), (False, None), (False, None)]
    assert [out.body for out in outs] == bodies


def test_everything_is_computed_of_the_event_as_it_came(session: SparkSession) -> None:
    spec = sql(
        where="headers['country'] = 'CZ'",
        set={
            "headers.total": "json.amount * 2",
            "headers.country": "concat(headers.country, '-', key)",
            "headers.gone": "NULL",
            "key": "json.id",
            "body.id": "headers['country']",
            "body.customer.seen": "year(timestamp)",
            "body.new.tags": "json.tags",
        },
        drop=["headers.debug", "headers.absent", "body.customer.id", "body.absent.x", "body.secret"],
        schema=FIELDS,
    )
    body = b'{"id":7, "amount":1.50,"n":1e400,"customer":{"id":1,"x":[1.0, null]},"secret":1,"tags":["a\\"b"]}'
    headers = {"country": "CZ", "debug": "1", "gone": "2", "timestamp": "1769860800000"}
    (out,) = sent(session, [In(body=body, key=b"k", headers=[(n, v.encode()) for n, v in headers.items()])], spec)
    assert out.headers == {"total": "3.00", "country": "CZ-k", "timestamp": "1769860800000"}
    assert out.problem is None
    expected = (
        b'{"id":"CZ","amount":1.50,"n":1e400,"customer":{"x":[1.0, null],"seen":2026},"tags":["a\\"b"],'
        b'"new":{"tags":["a\\"b"]}}'
    )
    assert out.body == expected


def test_body_and_key_are_replaced_and_removed(session: SparkSession) -> None:
    events = [In(body=b"b", key=b"k"), In(body=None, key=b"k"), In(body=b"b", key=None)]
    outs = sent(session, events, sql(set={"body": "key", "key": "upper(body)"}))
    assert [(out.key, out.body) for out in outs] == [(b"B", b"k"), (None, b"k"), (b"B", None)]


def test_without_a_schema_the_body_is_a_variant(session: SparkSession) -> None:
    body = b'{"a":{"b":[1,{"c":"x"}]},"n":12345678901234567890123}'
    assert value(session, "json:a.b[1].c::string", body) == "x"
    assert value(session, "variant_get(json, '$.n', 'DECIMAL(38, 0)')", body) == "12345678901234567890123"
    assert value(session, "coalesce(json:absent::string, 'none')", body) == "none"
    assert value(session, "json::array<int>[1]", b"[1, 2]") == "2"


@pytest.mark.parametrize(
    "body",
    [
        None,
        b"",
        b"no json",
        b"5",
        b'[{"id":1}]',
        b'{"id":1} x',
        b'{"id":1}{"id":2}',
        b'{"id":1,}',
        b"{'id':1}",
        b'{"id":"x"}',
        b'{"id":1.5}',
        b'{"id":99999999999999999999}',
        b'{"id":1,"tags":{}}',
        b'{"id":1,"customer":5}',
        b'{"id":1,"name":"\xff"}',
    ],
)
def test_a_body_that_does_not_fit_the_schema_is_a_dead_letter_as_it_was_read(
    session: SparkSession, body: bytes | None
) -> None:
    spec = sql(where="json.id > 0", set={"headers.a": "'b'", "body": "'c'", "key": "'d'"}, schema=FIELDS)
    out = one(session, body, spec, a="before")
    assert out.problem == (PATH, "The body is not a JSON object that fits the schema.")
    assert (out.kept, out.body, out.headers) == (True, body, {"a": "before"})


@pytest.mark.parametrize("body", [None, b"", b"no json", b'{"a":1} x', b'{"a":1,"a":2}', b'{"a":1}{"b":2}'])
def test_a_body_that_is_no_variant_is_a_dead_letter(session: SparkSession, body: bytes | None) -> None:
    assert one(session, body, sql(where="json:a IS NULL")).problem == (PATH, "The body is not JSON.")


@pytest.mark.parametrize(
    ("condition", "body"),
    [
        ("cast(body AS INT) > 0", b"x"),
        ("1 / length(body) > 0", b""),
        ("cast(concat('9', body, '9') AS TINYINT) > 0", b"9"),
        ("split(body, ',')[9] = 'a'", b"a,b"),
        ("to_timestamp(body) > timestamp", b"x"),
        ("to_number(body, '999') > 0", b"x"),
        ("unbase64(body) = 'a'", b"x{"),
        ("parse_json(body) IS NULL", b"x"),
        ("timestamp IS NULL", b"x"),
        ("element_at(array(1), cast(body AS INT)) = 1", b"0"),
    ],
)
def test_what_ansi_mode_calls_an_error_is_the_dead_letter_of_its_event_alone(
    session: SparkSession, condition: str, body: bytes
) -> None:
    events = [In(body=body, headers=[("timestamp", b"soon")]), In(body=b"fine", offset=1)]
    bad, fine = sent(session, events, sql(where=f"body <> 'fine' AND {condition}"))
    assert bad.problem is not None
    assert bad.problem[0] == PATH
    assert bad.problem[1].startswith("where cannot be computed for this event: ")
    assert (bad.kept, bad.body) == (True, body)
    assert (fine.kept, fine.problem) == (False, None)


def test_what_expressions_have_in_common_does_not_fail_for_all_of_them(session: SparkSession) -> None:
    """Spark computes common parts once and first, where nothing would catch their errors."""
    spec = sql(
        where="10 / cast(body AS INT) > 1 OR 10 / cast(body AS INT) < 5",
        set={"headers.a": "10 / cast(body AS INT)", "headers.b": "concat(10 / cast(body AS INT), '')"},
    )
    outs = several(session, [b"1", b"0", b"x", b"5"], spec, spec)
    assert [out.problem is None for out in outs] == [True, False, False, True]
    assert [out.headers for out in outs] == [{"a": "10.0", "b": "10.0"}, {}, {}, {"a": "2.0", "b": "2.0"}]


def test_an_event_that_is_filtered_out_is_not_computed_any_further(session: SparkSession) -> None:
    spec = sql(where="body <> '0'", set={"headers.a": "1 / cast(body AS INT)", "headers.b": "json:x::int"})
    outs = several(session, [b"0", b"no", b"1"], spec)
    assert [(out.kept, out.problem is None) for out in outs] == [(False, True), (True, False), (True, True)]
    fine = several(session, [b"0", b"2"], sql(where="body <> '0'", set={"headers.a": "1 / cast(body AS INT)"}))
    assert [(out.kept, out.problem, out.headers) for out in fine] == [(False, None, {}), (True, None, {"a": "0.5"})]


def test_a_branch_that_is_not_taken_does_not_fail(session: SparkSession) -> None:
    spec = sql(set={"headers.a": "if(body = '0', 'none', cast(1 / cast(body AS INT) AS STRING))"})
    assert [out.headers for out in several(session, [b"0", b"4"], spec)] == [{"a": "none"}, {"a": "0.25"}]


def test_the_cause_names_the_first_key_that_fails(session: SparkSession) -> None:
    spec = sql(set={"headers.a": "key", "headers.b": "cast(body AS INT)", "headers.c": "cast(body AS DATE)"})
    out = one(session, b"x", spec)
    assert out.problem == (PATH, "headers.b cannot be computed for this event: cast(body AS INT)")


@pytest.mark.parametrize("body", [b"[1]", b"x", b'{"a":5}', b"", None])
def test_a_field_is_set_in_an_object_only(session: SparkSession, body: bytes | None) -> None:
    out = one(session, body, sql(set={"body.a.b": "1"}))
    assert out.problem == (PATH, "The body is not a JSON object, or what a field is set in is none.")
    assert out.body == body


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("NULL", "null"),
        ("'a\"\\n'", '"a\\"\\n"'),
        ("1.50BD", "1.50"),
        ("true", "true"),
        ("DATE'2026-01-31'", '"2026-01-31"'),
        ("array(1, NULL)", "[1,null]"),
        ("named_struct('x', 1, 'y', 'z')", '{"x":1,"y":"z"}'),
        ("json:o", '{"p":[1]}'),
        ("map('k', 1)", '{"k":1}'),
    ],
)
def test_the_value_of_a_field_is_json(session: SparkSession, expression: str, expected: str) -> None:
    out = one(session, b'{"o":{"p":[1]}}', sql(set={"body.v": expression}))
    assert out.body == b'{"o":{"p":[1]},"v":' + expected.encode() + b"}"


def test_headers_are_those_that_earlier_interceptors_have_left(session: SparkSession) -> None:
    static = {"type": "static", "key": "country", "value": "CZ"}
    remove = {"type": "remove_header", "with_name": "debug"}
    spec = sql(set={"headers.all": "to_json(headers)", "headers.n": "size(headers)"})
    pairs = [("a", b"1"), ("a", b"2"), ("debug", b"x")]
    (first,) = sent(session, [In(headers=pairs)], spec)
    assert (first.headers["all"], first.headers["n"]) == ('{"debug":"x","a":"1"}', "2")
    (last,) = sent(session, [In(headers=pairs)], static, remove, spec)
    assert (last.headers["n"], last.headers["all"]) == ("2", '{"country":"CZ","a":"1"}')
    (none,) = sent(session, [In(headers=None)], spec)
    assert (none.headers["n"], none.headers["all"]) == ("0", "{}")


def test_errors_are_dropped_or_block_where_the_definition_says_so(session: SparkSession) -> None:
    keys = {"where": "cast(body AS INT) > 1", "set": {"headers.a": "1"}}
    outs = several(session, [b"x", b"1", b"2"], sql(on_error="drop", **keys))
    assert [(out.kept, out.problem) for out in outs] == [(False, None), (False, None), (True, None)]
    with pytest.raises(Exception, match="headgate-blocked") as caught:
        several(session, [b"x"], sql(on_error="fail", **keys))
    blocked = blocked_by(str(caught.value))
    assert blocked is not None
    assert (blocked.finding.path, blocked.finding.code) == (PATH, "INTERCEPTOR_FAILED")
    assert "where cannot be computed" in blocked.finding.message


def test_what_it_makes_of_events_is_counted(session: SparkSession) -> None:
    assert made(**sql(where="true")).causes == {"dead_lettered", "filtered"}
    assert made(**sql(drop=["headers.a"])).causes == {"dead_lettered"}
    assert made(**sql(set={"key": "1"}, on_error="drop")).causes == {"filtered"}
    assert made(**sql(set={"key": "1"}, on_error="fail")).causes == set()


def test_what_an_earlier_interceptor_has_filtered_or_refused_is_left_alone(session: SparkSession) -> None:
    first = sql(where="json:n::INT > 1")
    outs = several(
        session, [b'{"n":1}', b"x"], first, sql(where="false", set={"key": "1"}), sql(where="json:n::DATE IS NULL")
    )
    assert [(out.filtered_by, out.key) for out in outs] == [(0, None), (None, None)]
    assert [out.problem for out in outs] == [None, (PATH, "The body is not JSON.")]
    blocking = several(session, [b'{"n":1}', b"x"], first, sql(where="1 / 0 = 1", on_error="fail"))
    assert [out.filtered_by for out in blocking] == [0, None]


def test_the_clock_is_that_of_the_batch(session: SparkSession) -> None:
    (first, second) = several(
        session, [b"1", b"2"], sql(set={"headers.at": "now()", "headers.too": "current_timestamp"})
    )
    assert first.headers == second.headers
    assert first.headers["at"] == first.headers["too"]


def refused(session: SparkSession, **keys: Any) -> list[tuple[str, str, str]]:
    with pytest.raises(Refused) as caught:
        made(**sql(**keys)).initialise(session)
    return [(each.path.removeprefix(PATH), each.code, each.message) for each in caught.value.findings]


def test_spark_tells_where_an_expression_is_wrong_and_all_of_them_are_told(session: SparkSession) -> None:
    found = refused(
        session,
        where="key = 'a'\n  AND json.idd = 1",
        set={
            "headers.a": "body +\n + ",
            "headers.b": "upper(body, 1)",
            "headers.c": "jsn.id",
            "headers.d": "struct(key, body)",
            "headers.e-f": "json.customer",
            "body.a": "year(json.id)",
            "key": "1 AND 2",
        },
        schema=FIELDS,
    )
    assert [(path, code) for path, code, _ in found] == [
        (".where", "SQL_ANALYSIS"),
        ('.set["headers.a"]', "SQL_SYNTAX"),
        ('.set["headers.b"]', "SQL_ANALYSIS"),
        ('.set["headers.c"]', "SQL_UNKNOWN_INPUT"),
        ('.set["headers.d"]', "SQL_TYPE"),
        ('.set["headers.e-f"]', "SQL_TYPE"),
        ('.set["body.a"]', "SQL_ANALYSIS"),
        (".set.key", "SQL_ANALYSIS"),
    ]
    places = [message.partition(":")[0] for _, _, message in found]
    assert places[:4] == ["Line 2, column 7", "Line 2, column 4", "Line 1, column 1", "Line 1, column 1"]
    assert all("SQLSTATE" not in message and "[" not in message[:2] for _, _, message in found)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("id BIGINT,, name STRING", "Line 1, column 11: Syntax error"),
        ("id NOPE", "Line 1, column 4: "),
        ("id BIGINT, name STRING, Id INT", 'The field "id" is there twice.'),
        ("`headgate.corrupt` STRING", 'The field "headgate.corrupt" is there twice.'),
    ],
)
def test_a_schema_that_spark_does_not_take_is_told(session: SparkSession, schema: str, message: str) -> None:
    ((path, code, text),) = refused(session, where="json.id = 1", schema=schema)
    assert (path, code) == (".schema", "SQL_SCHEMA")
    assert text.startswith(message)


def test_a_condition_is_a_boolean(session: SparkSession) -> None:
    assert refused(session, where="body") == [(".where", "SQL_TYPE", "The condition is STRING, not BOOLEAN.")]


def test_it_runs_as_generated_code(session: SparkSession) -> None:
    """Parsing JSON has no generated code, and is put apart from the rest."""
    spec = sql(
        where="headers['country'] = 'CZ' AND json.amount >= 10",
        set={"headers.total": "json.amount * 2", "key": "json.id", "body": "upper(body)"},
        schema=FIELDS,
    )
    builder = made(**spec)
    builder.initialise(session)
    generate_code(session, True)
    rows = session.createDataFrame([In(body=b"{}").row()] * 2, SCHEMA)
    event = Event(key=rows["key"], body=rows["body"], carried=rows["headers"])
    frame, event = builder.through(rows, event)
    chosen = frame.select(event.key, event.body, event.filtered_by, event.problem, *event.added.values())
    plan = whole_plan(chosen)
    projections = [line for line in plan.splitlines() if "Project [" in line]
    interpreted = [line for line in projections if "*(" not in line]
    assert projections, plan
    assert not interpreted, plan
    assert plan.count("apart(from_json(") == 1, plan
