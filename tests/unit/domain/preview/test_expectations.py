"""What becomes of given events, compared with what a test expects."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from pipelines.domain.definitions.document.cases import Expectation
from pipelines.domain.preview.chains import State
from pipelines.domain.preview.outcomes import Content, Origin, Outcome
from pipelines.domain.preview.testing import MOST_FAILURES, maker, mismatches

FIRST, SECOND = "sources.shop.interceptors[0]", "sources.shop.interceptors[1]"


def content(body: bytes = b"a", key: bytes | None = None, **headers: str) -> Content:
    pairs = tuple((name, value.encode()) for name, value in headers.items())
    return Content(key, pairs, body, len(body), hashlib.sha256(body).hexdigest())


def outcome(offset: int = 0, copy: int = 0, component: str = "", cause: str = "", **verdicts: str) -> Outcome:
    made = content(b'{"n":1}', b"k", country="CZ")
    return Outcome(Origin("t", 0, offset, copy), verdicts or {"lake": "delivered"}, made, component, cause)


FILTERED = outcome(component=FIRST, lake="filtered", audit="filtered")
DEAD = outcome(component=SECOND, cause="no JSON", lake="dead_lettered", audit="routed_elsewhere")
UNROUTED = outcome(component="sources.shop.selector", lake="unrouted")


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ({"channels": ["lake"]}, outcome()),
        ({"channels": ["lake", "audit"]}, outcome(lake="delivered", audit="delivered")),
        ({"channels": ["lake"], "headers": {"country": "CZ"}, "absent_headers": ["x"], "key": "k"}, outcome()),
        ({"channels": ["lake"], "body": '{"n":1}'}, outcome()),
        ({"channels": ["lake"], "body_base64": "eyJuIjoxfQ=="}, outcome()),
        ({"channels": ["lake"], "body_json": {"n": 1}}, outcome()),
        ({"filtered_by": FIRST}, FILTERED),
        ({"dead": True}, DEAD),
        ({"dead": SECOND}, DEAD),
        ({"unrouted": True}, UNROUTED),
    ],
)
def test_what_is_expected_is_no_mismatch(expected: dict[str, Any], found: Outcome) -> None:
    assert mismatches([Expectation.model_validate(expected)], [found]) == []


@pytest.mark.parametrize(
    ("expected", "found", "got"),
    [
        ({"channels": ["lake"]}, outcome(lake="delivered", audit="delivered"), "delivered to audit, lake"),
        ({"channels": ["lake", "audit"]}, outcome(), "delivered to lake"),
        ({"channels": ["lake"]}, FILTERED, f"filtered by {FIRST}"),
        ({"filtered_by": SECOND}, FILTERED, f"filtered by {FIRST}"),
        ({"filtered_by": FIRST}, outcome(), "delivered to lake"),
        ({"dead": FIRST}, DEAD, f"a dead letter by {SECOND}: no JSON"),
        ({"dead": True}, UNROUTED, "unrouted"),
        ({"unrouted": True}, DEAD, f"a dead letter by {SECOND}: no JSON"),
    ],
)
def test_another_outcome_is_named_with_its_component(expected: dict[str, Any], found: Outcome, got: str) -> None:
    (mismatch,) = mismatches([Expectation.model_validate(expected)], [found])
    failure = mismatch.failure(2)
    assert (failure.path, failure.got, failure.component) == ("tests[2].expect[0]", got, found.component)


def test_each_part_of_the_content_is_compared() -> None:
    wanted = {"channels": ["lake"], "headers": {"country": "SK", "x": "1"}, "absent_headers": ["country"], "key": "z"}
    found = mismatches([Expectation.model_validate(wanted | {"body_json": {"n": 2, "m": 1}})], [outcome()])
    assert [(each.failure(0).path, each.expected, each.got) for each in found] == [
        ("tests[0].expect[0].headers.country", "SK", "CZ"),
        ("tests[0].expect[0].headers.x", "1", None),
        ("tests[0].expect[0].absent_headers[0]", None, "CZ"),
        ("tests[0].expect[0].key", "z", "k"),
        ("tests[0].expect[0].body_json", "2", "1"),
        ("tests[0].expect[0].body_json", "1", None),
    ]


def test_events_are_compared_in_their_order_and_none_is_left_out() -> None:
    delivered = Expectation.model_validate({"channels": ["lake"]})
    in_any_order = [outcome(1), outcome(0, copy=1), outcome(0)]
    assert mismatches([delivered] * 3, in_any_order) == []
    (more,) = mismatches([delivered] * 2, in_any_order)
    assert (more.failure(0).path, more.got) == ("tests[0].expect", "delivered to lake")
    (missing,) = mismatches([delivered] * 4, in_any_order)
    assert (missing.failure(0).path, missing.expected) == ("tests[0].expect[3]", "delivered to lake")


def test_failures_are_bounded() -> None:
    many = [Expectation.model_validate({"unrouted": True})] * 100
    assert len(mismatches(many, [outcome(number) for number in range(100)])) == MOST_FAILURES


def test_the_last_interceptor_that_changed_a_part_has_made_it() -> None:
    states = [content(b"a"), content(b"b", x="1"), content(b"b", x="2")]
    behind = {count: State(each, kept=True, problem="") for count, each in enumerate(states)}
    body, header, absent = (
        mismatches([Expectation.model_validate({"channels": ["lake"], **part})], [outcome()])[0]
        for part in ({"body": "b"}, {"headers": {"x": "1"}}, {"headers": {"y": "1"}})
    )
    assert [maker(each, behind, [FIRST, SECOND]) for each in (body, header, absent)] == [FIRST, SECOND, ""]
