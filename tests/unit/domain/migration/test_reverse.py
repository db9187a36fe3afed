"""What leads back from a migration that was committed."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.domain.base.states import MigrationKind
from pipelines.domain.migration.reverse import Before, reverse
from pipelines.domain.migration.specs import problems

OLD = {
    "sources": {"shop": {"type": "kafka", "bootstrap_servers": "old:9092", "topics": ["orders"], "group_id": "g"}},
    "sinks": {"out": {"type": "kafka", "bootstrap_servers": "old:9092", "topic": "clean"}},
}
PLACES = [
    {"source": "shop", "channel": channel, "topic": "orders", "partition": number, "offset": ahead + number}
    for channel, ahead in (("a", 500), ("b", 10))
    for number in (1, 0)
]
"""Channel b was behind."""
SHARED = [{**place, "source": "other"} for place in PLACES]
BEFORE = Before(revision=3, definition=OLD, host="alpha", positions=PLACES)
RULES = {"rules": {"window": 5.0}, "gates": ["PAUSING"]}
NEW = {"bootstrap_servers": "new:9092"}


@pytest.mark.parametrize(
    ("kind", "spec", "back"),
    [
        (MigrationKind.REVISION, {"definition": {}}, {"revision": 3}),
        (MigrationKind.HOST, {"host": "beta"}, {"host": "alpha"}),
        (MigrationKind.POSITION, {"to": "latest"}, {"to": "offsets=orders/0:10,orders/1:11"}),
        (
            MigrationKind.POSITION,
            {"to": "latest", "source": "shop"},
            {"source": "shop", "to": "offsets=orders/0:10,orders/1:11"},
        ),
        (
            MigrationKind.CLUSTER,
            {"source": "shop", "to": NEW, "topics": {"orders": "dc1.orders"}, "positions": {"by": "mapping"}},
            {
                "source": "shop",
                "to": {"bootstrap_servers": "old:9092", "group_id": "g"},
                "topics": {"dc1.orders": "orders"},
                "positions": {"by": "timestamp"},
            },
        ),
        (
            MigrationKind.CLUSTER,
            {"sink": "out", "to": {**NEW, "topic": "neat"}},
            {"sink": "out", "to": {"bootstrap_servers": "old:9092", "topic": "clean"}},
        ),
    ],
)
def test_the_way_back_is_a_migration_that_can_be_asked_for(
    kind: MigrationKind, spec: dict[str, Any], back: dict[str, Any]
) -> None:
    found = reverse(kind, {**spec, **RULES}, BEFORE)
    assert found == {**back, **RULES}
    assert not problems(kind, found)


@pytest.mark.parametrize(
    ("kind", "spec", "before", "words"),
    [
        (MigrationKind.SOFTWARE, {}, BEFORE, "Install the earlier software"),
        (MigrationKind.POSITION, {"to": "latest"}, Before(3, OLD, "alpha", []), "no positions"),
        (MigrationKind.POSITION, {"to": "latest", "source": "other"}, BEFORE, "no positions"),
        (MigrationKind.POSITION, {"to": "latest"}, Before(3, OLD, "alpha", PLACES + SHARED), "Several sources"),
        (MigrationKind.POSITION, {"to": "latest"}, Before(3, OLD, "alpha", PLACES, {"shop"}), "another log"),
        (MigrationKind.CLUSTER, {"sink": "out", "to": {**NEW, "options": {"acks": "1"}}}, BEFORE, "had no options"),
    ],
)
def test_where_nothing_leads_back_it_says_why(
    kind: MigrationKind, spec: dict[str, Any], before: Before, words: str
) -> None:
    found = reverse(kind, spec, before)
    assert isinstance(found, str)
    assert words in found
