"""What a pass counts, by counter and by component."""

from __future__ import annotations

from pipelines.domain.ledger.ledger import Counts
from workers.agent.graph.batch import counted

FIRST, SECOND = "sources.shop.interceptors[0]", "sources.shop.interceptors[1]"


def test_counters_with_a_component_are_parts_of_the_sum_of_them_all() -> None:
    values = {
        "read": 9,
        f"added@{SECOND}": 2,
        f"filtered@{FIRST}": 3,
        f"filtered@{SECOND}": 1,
        "unrouted@sources.shop.selector": 0,
        "dead_lettered@quarantine": 1,
        "delivered": 4,
        "held": 2,
    }
    counts, held = counted(values)
    parts = {FIRST: {"filtered": 3}, SECOND: {"filtered": 1, "added": 2}, "quarantine": {"dead_lettered": 1}}
    sums = {"read": 9, "added": 2, "filtered": 4, "dead_lettered": 1, "delivered": 6}
    assert (counts, held) == (Counts(components=parts, **sums), 2)
    assert counts.balanced


def test_what_no_known_component_decides_unbalances_the_pass() -> None:
    counts, _ = counted({"read": 3, "dead_lettered": 1, f"dead_lettered@{FIRST}": 1, "delivered": 1})
    assert (counts.difference, counts.unattributed, counts.balanced) == (0, 1, False)


def test_an_agent_that_observes_nothing_counts_nothing() -> None:
    assert counted({}) == (Counts(), 0)


def test_the_bytes_of_a_pass_are_known_where_it_has_counted_them() -> None:
    found = {"read": 3, "delivered": 2, "held": 1}
    assert counted(found)[0].bytes_out is None
    assert counted(found | {"delivered_bytes": 0})[0].bytes_out == 0
    assert counted(found | {"delivered_bytes": 70})[0].bytes_out == 70
