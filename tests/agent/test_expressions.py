"""Interceptors and selectors beyond Flume's facts: bytes, nulls, big numbers, what fails, and what repeats."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.agent.expressions import PATH, In, Out, made, sent
from workers.agent.base.findings import Refused, blocked_by
from workers.agent.components.interceptor.uuid import NAMESPACE

STATIC = {"type": "static", "key": "country", "value": "CZ"}


def one(session: SparkSession, body: bytes | None, *specs: dict[str, Any], **headers: str) -> Out:
    pairs = [(name, value.encode()) for name, value in headers.items()]
    (out,) = sent(session, [In(body=body, headers=pairs)], *specs)
    return out


def test_groups_become_headers_and_an_event_without_a_match_stays_as_it_is(session: SparkSession) -> None:
    extractor = {
        "type": "regex_extractor",
        "regex": r"id=(\d*)(?:;to=(\w+))?",
        "serializers": [{"name": "id"}, {"name": "to"}, {"name": "unused"}],
    }
    assert one(session, b"x id=7;to=a", extractor, id="old").headers == {"id": "7", "to": "a"}
    assert one(session, b"x id=", extractor, id="old").headers == {"id": "", "to": ""}
    assert one(session, b"nothing", extractor, id="old").headers == {"id": "old"}
    assert one(session, None, extractor).headers == {}


@pytest.mark.parametrize(
    ("text", "pattern", "zone", "millis"),
    [
        ("2012-10-17 14:34", "yyyy-MM-dd HH:mm", "UTC", "1350484440000"),
        ("2012-10-17 14:34", "yyyy-MM-dd HH:mm", "Europe/Prague", "1350477240000"),
        ("2012-10-17T14:34:00.250+02:00", "yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "Asia/Tokyo", "1350477240250"),
        ("17/Oct/2012:14:34:00 +0200", "dd/MMM/yyyy:HH:mm:ss Z", "UTC", "1350477240000"),
        ("2012-13-17 14:34", "yyyy-MM-dd HH:mm", "UTC", None),
        ("soon", "yyyy", "UTC", None),
    ],
)
def test_times_are_read_in_their_zone_and_what_is_no_time_is_a_dead_letter(
    session: SparkSession, text: str, pattern: str, zone: str, millis: str | None
) -> None:
    serializer = {"name": "at", "type": "millis", "pattern": pattern, "timezone": zone}
    out = one(session, text.encode(), {"type": "regex_extractor", "regex": "^(.*)$", "serializers": [serializer]})
    assert out.headers.get("at") == millis
    if millis is None:
        assert out.problem is not None
        assert text in out.problem[1]
        assert out.problem[0] == PATH
    else:
        assert out.problem is None


@pytest.mark.parametrize(
    ("spec", "body", "expected"),
    [
        ({"search_pattern": r"(\d)-(?<last>\d)", "replace_string": r"*-${last}\$"}, b"1-5", b"*-5$"),
        ({"search_pattern": "z", "replace_string": "y"}, b"\xff\xfe", b"\xff\xfe"),
        ({"search_pattern": "ok", "replace_string": "no"}, b"\xff ok", "\ufffd no".encode()),
        ({"search_pattern": "é", "replace_string": "e", "charset": "latin1"}, b"caf\xe9 \xff", b"cafe \xff"),
        ({"search_pattern": "ř", "replace_string": "R", "charset": "windows-1250"}, b"t\xf8i", b"tRi"),
        ({"search_pattern": "^", "replace_string": "x"}, b"", b"x"),
        ({"search_pattern": "^", "replace_string": "x"}, None, None),
        ({"search_pattern": "a", "replace_string": "$10"}, b"bab", b"b"),
    ],
)
def test_bodies_are_replaced_as_java_does_and_otherwise_left_byte_for_byte(
    session: SparkSession, spec: dict[str, Any], body: bytes | None, expected: bytes | None
) -> None:
    if "$10" in spec["replace_string"]:
        spec, expected = {**spec, "search_pattern": "(a)", "replace_string": "$10"}, b"ba0b"
    assert one(session, body, {"type": "search_replace", **spec}).body == expected


def test_a_chain_of_replacements_is_not_evaluated_anew_for_each_link(session: SparkSession) -> None:
    chain = [{"type": "search_replace", "search_pattern": "^(a*)b", "replace_string": "$1a"} for _ in range(20)]
    assert one(session, b"b" * 20, *chain).body == b"a" * 20


def test_headers_are_removed_by_name_and_by_pattern_whether_read_or_set(session: SparkSession) -> None:
    headers = {"x-a": "1", "X-A": "2", "keep": "3", "debug": "4"}
    remove = {"type": "remove_header", "matching": "x-.*", "from_list": ["debug", "country"], "with_name": "none"}
    assert one(session, b"", STATIC, remove, **headers).headers == {"X-A": "2", "keep": "3"}
    assert one(session, b"", STATIC, {"type": "remove_header", "matching": "count"}).headers == {"country": "CZ"}
    assert one(session, b"", remove, STATIC).headers == {"country": "CZ"}
    (out,) = sent(session, [In(headers=None)], remove)
    assert out.headers == {}


def test_a_uuid_follows_from_the_origin_and_a_random_one_does_not(session: SparkSession) -> None:
    events = [In(offset=number, partition=number % 2) for number in range(4)]
    first, second = (sent(session, events, {"type": "uuid"}) for _ in range(2))
    assert first == second
    expected = [str(uuid.uuid5(NAMESPACE, f"p/s/t/{number % 2}/{number}")) for number in range(4)]
    assert [out.headers["id"] for out in first] == expected
    random = [sent(session, events, {"type": "uuid", "random": True, "prefix": "r-"}) for _ in range(2)]
    assert len({out.headers["id"] for outs in random for out in outs}) == 8
    assert all(uuid.UUID(out.headers["id"].removeprefix("r-")).version == 4 for out in random[0])


def test_whoever_looks_at_a_random_uuid_later_sees_the_one_that_is_delivered(session: SparkSession) -> None:
    copying = {"type": "multiplexing", "header": "id", "mapping": {"x": ["ch2"]}, "default": ["ch1"]}
    (out,) = sent(session, [In()], {"type": "uuid", "random": True}, STATIC, selector=copying)
    assert out.targets == ["ch1"]
    assert uuid.UUID(out.headers["id"]).version == 4


DOCUMENT = (
    '{"id": 12345678901234567890123, "price":1.50,"e":1E+2, "none": null, "name":"J\\u00e1n \\"x\\"\\n", '
    '"o" : { "k" : [1, 2.0, {"}": "]"}] } ,"t":true,"s":" 007 ", "":"", "a\\tb":1}'
)

WITHOUT_T = (
    '{"id":12345678901234567890123,"price":1.50,"e":1E+2,"none":null,"name":"J\\u00e1n \\"x\\"\\n",'
    '"o":{ "k" : [1, 2.0, {"}": "]"}] },"s":" 007 ","":"","a\\tb":1}'
)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"drop": ["t"]},
            WITHOUT_T,
        ),
        ({"select": ["price", "missing", "a\tb"]}, '{"price":1.50,"a\\tb":1}'),
        ({"select": ["id", "t"], "rename": {"id": "t"}}, '{"t":12345678901234567890123}'),
        ({"select": ["price", "t"], "rename": {"price": "t", "t": "price"}}, '{"t":1.50,"price":true}'),
        ({"select": ["t"], "rename": {"gone": "t"}}, '{"t":true}'),
        ({"select": ["s"], "cast": {"s": "integer"}}, '{"s":7}'),
        (
            {"select": ["price", "o", "none", "t"], "cast": dict.fromkeys(["price", "o", "none", "t"], "string")},
            '{"price":"1.50","none":null,"o":"{ \\"k\\" : [1, 2.0, {\\"}\\": \\"]\\"}] }","t":"true"}',
        ),
        ({"select": ["id", "e"], "cast": {"id": "number", "e": "number"}}, '{"id":12345678901234567890123,"e":1E+2}'),
        ({"select": ["t"], "rename": {"t": 'é"{'}, "cast": {'é"{': "boolean"}}, '{"é\\"{":true}'),
        ({"select": ["none"], "cast": {"none": "integer"}, "drop": ["x"]}, '{"none":null}'),
    ],
)
def test_what_is_not_mentioned_keeps_every_character(
    session: SparkSession, spec: dict[str, Any], expected: str
) -> None:
    out = one(session, DOCUMENT.encode(), {"type": "morph_json", **spec})
    assert out.problem is None
    assert out.body is not None
    assert out.body.decode() == expected
    json.loads(out.body)


NO_OBJECTS = [
    b"",
    b"null",
    b"[1]",
    b'"a"',
    b"{",
    b'{"a":1}x',
    b'{"a":1}{}',
    b"{'a':1}",
    b'{"a":01}',
    b'{"a":NaN}',
    b'{"a":1,}',
    b'{"a":"\xff"}',
    b'{"a":"\n"}',
    b'{"a" 1}',
    b"\xef\xbb\xbf{}",
    b'{"a":[}',
    b"{" * 5000,
]


def test_what_is_no_json_object_follows_on_error(session: SparkSession) -> None:
    spec = {"type": "morph_json", "drop": ["a"]}
    events = [In(body=body) for body in [*NO_OBJECTS, None, b" {} ", b'{"a":1,"a":2}']]
    outs = sent(session, events, spec)
    assert [out.problem is None for out in outs] == [False] * (len(NO_OBJECTS) + 1) + [True, True]
    assert outs[0].problem == (PATH, "The body is not a JSON object.")
    assert [out.kept for out in sent(session, events[-2:], {**spec, "on_error": "drop"})] == [True, True]
    assert not any(out.kept for out in sent(session, events[:3], {**spec, "on_error": "drop"}))
    with pytest.raises(Exception, match="INTERCEPTOR_FAILED") as failure:
        sent(session, events[:1], {**spec, "on_error": "fail"})
    blocked = blocked_by(str(failure.value))
    assert blocked is not None
    assert blocked.finding.path == PATH
    assert blocked.finding.message == "The body is not a JSON object."


def test_long_documents_need_no_deep_stack(session: SparkSession) -> None:
    strings = json.dumps({"a": ["x\\" * 3] * 50_000, "b": {"deep": [[[1]]]}, "c": "y" * 500_000})
    out = one(session, strings.encode(), {"type": "morph_json", "select": ["b", "c"]})
    assert out.problem is None
    assert json.loads(out.body or b"") == {"b": {"deep": [[[1]]]}, "c": "y" * 500_000}


@pytest.mark.parametrize(
    ("kind", "value"), [("integer", "1.5"), ("integer", '"x"'), ("number", "true"), ("boolean", "2"), ("integer", "[]")]
)
def test_a_value_that_cannot_be_cast_is_named(session: SparkSession, kind: str, value: str) -> None:
    out = one(session, f'{{"a":{value}}}'.encode(), {"type": "morph_json", "cast": {"a": kind}})
    assert out.problem == (PATH, 'The value of "a" cannot be cast.')
    assert out.body == f'{{"a":{value}}}'.encode()


def test_load_balancing_spreads_by_the_origin_alone(session: SparkSession) -> None:
    events = [In(offset=number, partition=number % 3) for number in range(400)]
    for policy in ("round_robin", "random"):
        selector = {"type": "load_balancing", "policy": policy, "channels": ["a", "b"]}
        first, second = (sent(session, events, selector=selector) for _ in range(2))
        assert [out.targets for out in first] == [out.targets for out in second]
        counts = [sum(out.targets == [name] for out in first) for name in ("a", "b")]
        assert sum(counts) == 400
        assert min(counts) > 150


def test_a_selector_sees_what_interceptors_have_set(session: SparkSession) -> None:
    selector = {"type": "multiplexing", "header": "country", "mapping": {"CZ": ["ch2"], "é": ["ch3"]}}
    assert one_targets(session, selector, STATIC) == ["ch2"]
    assert one_targets(session, selector, {**STATIC, "value": "é"}) == ["ch3"]
    assert one_targets(session, selector) == []
    assert one_targets(session, {"type": "multiplexing", "default": ["ch1", "ch1"]}) == ["ch1"]


def one_targets(session: SparkSession, selector: dict[str, Any], *specs: dict[str, Any]) -> list[str] | None:
    (out,) = sent(session, [In()], *specs, selector=selector)
    return out.targets


def test_java_is_asked_before_the_first_record_whether_it_knows_a_character_set(session: SparkSession) -> None:
    replace = made(type="search_replace", search_pattern="a")
    replace.spec = replace.spec.model_copy(update={"charset": "none-such"})
    with pytest.raises(Refused, match="character set"):
        replace.initialise(session)
