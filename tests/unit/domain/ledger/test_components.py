"""A path means another component once a revision has put one there; the totals of the two are never mixed."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.domain.ledger.components import by_component, missing, specification

FILTER, OTHER = {"type": "regex_filter", "regex": "a"}, {"type": "regex_filter", "regex": "b"}
PATH = "sources.shop.interceptors[0]"


def defined(*interceptors: dict[str, Any], **source: Any) -> dict[str, Any]:
    return {
        "sources": {"shop": {"type": "kafka", "topics": ["t"], "interceptors": list(interceptors), **source}},
        "sinks": {"lake": {"type": "null"}},
    }


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (PATH, FILTER),
        ("sources.shop.interceptors[1]", None),
        ("sources.shop", {"type": "kafka", "topics": ["t"]}),
        ("sources.shop.selector", None),
        ("sinks.lake", {"type": "null"}),
        ("sinks.lake.type", None),
        ("quarantine", None),
        ("channels.main[x]", None),
    ],
)
def test_a_definition_says_what_stands_at_a_path(path: str, found: Any) -> None:
    assert specification(defined(FILTER), path) == found


def test_parts_of_revisions_that_define_a_component_alike_are_added_up() -> None:
    definitions = {1: defined(FILTER), 3: defined(FILTER, OTHER, topics=["t", "u"])}
    (found,) = by_component([(1, PATH, {"filtered": 2}), (3, PATH, {"filtered": 3, "dead_lettered": 1})], definitions)
    assert (found.component, found.type, found.first_revision, found.last_revision) == (PATH, "regex_filter", 1, 3)
    assert found.counts == {"filtered": 5, "dead_lettered": 1}


def test_another_component_at_the_same_path_has_totals_of_its_own_and_so_has_the_first_when_it_comes_back() -> None:
    definitions = {1: defined(FILTER), 2: defined(OTHER), 3: defined({"type": "python"}), 4: defined(FILTER)}
    found = by_component([(number, PATH, {"filtered": number}) for number in definitions], definitions)
    assert [(each.type, each.first_revision, each.last_revision, each.counts["filtered"]) for each in found] == [
        ("regex_filter", 1, 1, 1),
        ("regex_filter", 2, 2, 2),
        ("python", 3, 3, 3),
        ("regex_filter", 4, 4, 4),
    ]


def test_a_quarantine_is_the_same_in_every_revision_and_of_no_type() -> None:
    definitions = {1: defined(FILTER), 2: defined(OTHER)}
    (found,) = by_component([(number, "quarantine", {"dead_lettered": 1}) for number in definitions], definitions)
    assert (found.type, found.last_revision, found.counts) == ("", 2, {"dead_lettered": 2})


def test_what_no_component_has_counted_is_left_of_its_sum() -> None:
    sums = {"added": 0, "routed_elsewhere": 0, "filtered": 5, "unrouted": 2, "dead_lettered": 0}
    assert missing(sums, [{"filtered": 1}, {"filtered": 1, "unrouted": 2}]) == {"filtered": 3}
