"""Every vector of Flume's behaviour is driven by one test, or exempted with a reason that users can read."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from tests import vectors
from tests.vectors import DRIVERS, Expected, Vector, exemptions, facts

TESTS = Path(__file__).parents[2]
DIFFERENCES = " ".join((TESTS.parent / "docs" / "reference" / "flume.md").read_text().split())


@pytest.fixture(scope="module", autouse=True)
def _drivers() -> None:
    """Import every module that has some."""
    for path in sorted(TESTS.rglob("test_*.py")):
        if "import drives" in (text := path.read_text()) or ", drives" in text:
            importlib.import_module(".".join(path.relative_to(TESTS.parent).with_suffix("").parts))


def test_every_vector_is_driven_by_one_test_or_exempted() -> None:
    whole = {key for key in exemptions() if "." not in key}
    assert sorted([*DRIVERS, *whole]) == sorted(facts())
    assert {identifier: tests for identifier, tests in DRIVERS.items() if len(tests) != 1} == {}
    assert [test for (test,) in DRIVERS.values() if "::test_" not in test] == []


def test_an_exempted_value_is_one_that_a_driven_vector_expects() -> None:
    parts = [key.partition(".") for key in exemptions() if "." in key]
    for identifier, _, path in parts:
        assert identifier in DRIVERS
        assert path in set(vectors.leaves(facts()[identifier]["expected_events_or_error"])), (identifier, path)


def test_every_exemption_has_a_reason_that_users_can_read() -> None:
    assert [reason for reason in exemptions().values() if reason not in DIFFERENCES] == []


def test_the_table_is_sorted() -> None:
    assert json.dumps(exemptions()) == json.dumps(exemptions(), sort_keys=True)


@pytest.mark.parametrize(
    ("reads", "unread"),
    [
        ([], {"config", "expected bodies", "expected counts.1", "expected counts.2"}),
        (["bodies"], {"config", "expected counts.1", "expected counts.2"}),
        (["bodies", "counts"], {"config"}),
    ],
)
def test_a_driver_that_ignores_an_expected_value_is_found(reads: list[str], unread: set[str]) -> None:
    expected = {"bodies": ["x"], "counts": {"1": 1, "2": 2}}
    made = Vector(
        {
            "id": "X-1",
            "component": "x",
            "notes": "",
            "config": {"a": 1},
            "input_events": [{"op": "configure"}],
            "expected_events_or_error": expected,
        }
    )
    for key in reads:
        assert made.expected[key] == expected[key]
    assert made.unread() == unread


def test_whether_a_value_is_expected_can_be_asked_without_comparing_it() -> None:
    expected = Expected({"error": {"kind": "config"}})
    assert "error" in expected
    assert expected.read == set()
