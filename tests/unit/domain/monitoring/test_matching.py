"""Matchers choose alerts by pipeline, labels, rule and severity, and say everything that is wrong with them."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.domain.monitoring.alert_rules import RULE_NAMES, Severity, next_step, rules_of, severity_of
from pipelines.domain.monitoring.matching import Matchers, Subject, findings

SHOP = Subject("orders", {"team": "shop", "env": "prod"}, "blocked")
HOST = Subject(rule="host_silent")
PHASE = Subject("orders", {"team": "shop"})


@pytest.mark.parametrize(
    ("given", "subject", "expected"),
    [
        ({}, SHOP, True),
        ({}, HOST, True),
        ({"pipelines": ["orders", "clicks"]}, SHOP, True),
        ({"pipelines": ["clicks"]}, SHOP, False),
        ({"pipelines": ["orders"]}, HOST, False),
        ({"labels": ["team:shop"]}, SHOP, True),
        ({"labels": ["team"]}, SHOP, True),
        ({"labels": ["team:pay"]}, SHOP, False),
        ({"labels": ["team:pay", "team:shop"]}, SHOP, True),
        ({"labels": ["team:shop", "env:test"]}, SHOP, False),
        ({"labels": ["env:prod", "team:pay", "team:shop"]}, SHOP, True),
        ({"labels": ["region"]}, SHOP, False),
        ({"labels": ["team"]}, HOST, False),
        ({"labels": ["url:a:b"]}, Subject("x", {"url": "a:b"}, "lag"), True),
        ({"labels": ["team:"]}, Subject("x", {"team": ""}, "lag"), True),
        ({"rules": ["blocked"]}, SHOP, True),
        ({"rules": ["lag"]}, SHOP, False),
        ({"severities": ["critical"]}, SHOP, True),
        ({"severities": ["warning", "info"]}, SHOP, False),
        ({"severities": ["critical"], "rules": ["blocked"], "labels": ["env:test"]}, SHOP, False),
        ({"severities": ["info"], "rules": ["lag"]}, PHASE, True),
        ({"labels": ["team:pay"]}, PHASE, False),
    ],
)
def test_what_matches(given: dict[str, list[str]], subject: Subject, expected: bool) -> None:
    assert Matchers.of(given).match(subject) is expected


def test_matchers_come_back_from_storage_as_they_were() -> None:
    matchers = Matchers.of({"labels": ["team:shop"], "severities": ["critical"]})
    assert Matchers.of(matchers.stored()) == matchers
    assert (Matchers.of({}).empty, matchers.empty) == (True, False)


def test_every_finding_comes_at_once() -> None:
    given: dict[str, Any] = {
        "pipelines": ["Orders", "orders"],
        "labels": ["team:shop", ":x", ""],
        "rules": ["blocked", "blokced"],
        "severities": ["high"],
    }
    found = findings(Matchers.of(given))
    assert [(each.path, each.code) for each in found] == [
        ("matchers.pipelines[0]", "invalid_name"),
        ("matchers.labels[1]", "invalid_label"),
        ("matchers.labels[2]", "invalid_label"),
        ("matchers.rules[1]", "unknown_rule"),
        ("matchers.severities[0]", "unknown_severity"),
    ]
    assert "blocked" in found[3].suggestion
    assert all(each.suggestion for each in found)
    assert [each.code for each in findings(Matchers(pipelines=("a",) * 101))] == ["too_many"]


def test_every_rule_has_one_severity_and_says_what_to_do() -> None:
    assert all(next_step(rule) for rule in RULE_NAMES)
    assert sorted(rule for each in Severity for rule in rules_of(each)) == sorted(RULE_NAMES)
    assert severity_of("of_somebody_else") is Severity.WARNING
    assert next_step("of_somebody_else") == ""
