"""Differences between definitions, in their own terms."""

from __future__ import annotations

from typing import Any

from pipelines.domain.definitions.document.diff import HIDDEN, Change, diff
from pipelines.domain.definitions.document.spec import Definition
from tests.unit.definitions import ORDERS, changed


def changes_between(new: dict[str, Any], old: dict[str, Any] = ORDERS) -> list[Change]:
    return diff(Definition.model_validate(old), Definition.model_validate(new))


def test_equal_definitions_do_not_differ() -> None:
    assert changes_between(changed({"lifecycle/drain_timeout": "1m"})) == []


def test_a_changed_value_is_one_change() -> None:
    (change,) = changes_between(changed({"delivery/trigger_interval_ms": 250}))
    assert change == Change(path="delivery.trigger_interval_ms", op="change", old=100, new=250)


def test_a_new_component_is_one_change() -> None:
    new = changed({"channels/spare": {"type": "direct"}, "sinks/spare": {"type": "logger", "channel": "spare"}})
    assert [(change.path, change.op) for change in changes_between(new)] == [
        ("channels.spare", "add"),
        ("sinks.spare", "add"),
    ]
    assert [change.op for change in changes_between(ORDERS, new)] == ["remove", "remove"]


def test_an_inserted_interceptor_is_one_change_and_not_a_change_of_those_after_it() -> None:
    interceptors = ORDERS["sources"]["shop"]["interceptors"]
    new = changed({"sources/shop/interceptors": [{"type": "timestamp", "header_name": "seen"}, *interceptors]})
    (change,) = changes_between(new)
    assert (change.path, change.op) == ("sources.shop.interceptors[0]", "add")


def test_a_list_of_names_is_one_value() -> None:
    (change,) = changes_between(changed({"sources/shop/topics": ["orders", "returns"]}))
    assert (change.old, change.new) == (["orders"], ["orders", "returns"])


def test_references_are_shown_and_literal_secrets_are_not() -> None:
    old = {"options": {"sasl.password": "${secret:a}", "ssl.keystore.key": "PEM"}}
    new = {"options": {"sasl.password": "hunter2", "ssl.keystore.key": "${secret:b}"}}
    assert [(change.old, change.new) for change in diff(old, new)] == [("${secret:a}", HIDDEN), (HIDDEN, "${secret:b}")]


def test_changes_are_sorted_by_path() -> None:
    new = changed({"name": "b", "description": "b", "sinks/lake/topic": "b", "labels/team": "b"})
    paths = [change.path for change in changes_between(new)]
    assert paths == sorted(paths)
    assert len(paths) == 4
