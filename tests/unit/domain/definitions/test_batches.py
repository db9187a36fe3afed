"""How long events of a read may wait for a larger batch, and what is found of batches in a whole definition."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.domain.base.findings import Finding
from pipelines.domain.definitions.checks.validate import validate_data
from pipelines.domain.definitions.document.spec import WORTH_A_BATCH
from tests.unit.definitions import changed

INTERVAL = "sinks.audit.roll.interval"
UUID = {"type": "uuid", "random": True}
MS = "delivery.trigger_interval_ms"


def intervals(changes: dict[str, Any]) -> dict[str, float]:
    definition = validate_data(changed(changes)).definition
    assert definition is not None
    return {read.name: definition.batch_interval(read) for read in definition.reads()}


def findings(changes: dict[str, Any]) -> list[Finding]:
    validation = validate_data(changed(changes))
    assert validation.valid, validation.findings
    return validation.findings


def test_a_file_sink_waits_and_its_neighbours_do_not() -> None:
    assert intervals({}) == {"shop.audit": 30.0, "shop.lake": 0.0}
    assert intervals({"sinks/audit/roll": {"interval": "5m"}})["shop.audit"] == 300.0


def test_a_store_is_filled_at_once_and_its_sink_waits() -> None:
    assert intervals({"channels/audit": {"type": "file"}}) == {
        "shop.audit": 0.0,
        "shop.lake": 0.0,
        "channels.audit.audit": 30.0,
    }


def test_those_that_share_a_read_wait_as_long_as_all_of_them_like_to() -> None:
    memory = {"channels/audit": {"type": "memory"}, "channels/lake": {"type": "memory"}}
    assert intervals(memory) == {"shop.audit+lake": 0.0}
    files = {"type": "file", "channel": "lake", "path": "/data/lake", "roll": {"interval": 10}}
    assert intervals({**memory, "sinks/lake": files}) == {"shop.audit+lake": 10.0}


def test_a_sink_of_a_group_waits_no_longer_than_the_others() -> None:
    second = {"type": "file", "channel": "lake", "path": "/data/lake"}
    group = {"sinks/second": second, "sink_groups/lake": {"sinks": ["lake", "second"]}}
    processor = {"type": "failover", "priorities": {"lake": 2, "second": 1}}
    assert intervals({**group, "sink_groups/lake/processor": processor})["shop.lake"] == 0.0


def full(changes: dict[str, Any]) -> dict[str, int]:
    definition = validate_data(changed(changes)).definition
    assert definition is not None
    return {read.name: definition.full_batch(read) for read in definition.reads()}


def test_events_wait_as_long_as_the_latency_that_is_aimed_at_allows() -> None:
    target = {"delivery/target_latency": "500ms"}
    assert intervals(target) == {"shop.audit": 30.0, "shop.lake": pytest.approx(0.4)}
    assert full(target) == {"shop.audit": 500_000, "shop.lake": WORTH_A_BATCH}
    assert full({**target, "delivery/max_events_per_batch": 100})["shop.lake"] == 100


def test_events_of_a_channel_with_a_store_wait_twice_and_half_as_long() -> None:
    found = intervals({"delivery/target_latency": "500ms", "channels/lake": {"type": "file"}})
    assert found == {"shop.audit": 30.0, "shop.lake": pytest.approx(0.2), "channels.lake.lake": pytest.approx(0.2)}


@pytest.mark.parametrize(
    ("changes", "files", "suggestion"),
    [
        ({"sinks/audit/roll": {"interval": 0}}, "36,000", "Set roll.interval to 4 s or more."),
        ({"sinks/audit/roll": {"interval": 3}}, "1,200", "Set roll.interval to 4 s or more."),
        (
            {"sinks/audit/roll": {"interval": 0}, "delivery/trigger_interval_ms": 2000},
            "1,800",
            "Set roll.interval to 4 s or more.",
        ),
        (
            {"channels/audit": {"type": "memory"}, "channels/lake": {"type": "memory"}},
            "36,000",
            f'Change the channel "audit" to the type direct, or set {MS} to 4000 or more.',
        ),
        (
            {"sources/shop/interceptors/0": UUID},
            "36,000",
            f'Change the channel "audit" to the type file or kafka, or set {MS} to 4000 or more.',
        ),
    ],
)
def test_more_than_a_thousand_files_an_hour_are_a_warning(changes: dict[str, Any], files: str, suggestion: str) -> None:
    (found,) = findings(changes)
    assert (found.path, found.code, found.severity) == (INTERVAL, "many_files", "warning")
    assert f"can write {files} files an hour" in found.message
    assert found.suggestion == suggestion


def test_a_group_that_hurries_is_named() -> None:
    second = {"type": "file", "channel": "lake", "path": "/data/lake"}
    processor = {"type": "failover", "priorities": {"lake": 2, "second": 1}}
    (found,) = findings(
        {"sinks/second": second, "sink_groups/lake": {"sinks": ["lake", "second"], "processor": processor}}
    )
    assert found.path == "sinks.second.roll.interval"
    assert found.suggestion.startswith("Leave the sink group, or set delivery.trigger_interval_ms to")


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"sinks/audit/roll": {"interval": 3.6}},
        {"sinks/audit/roll": {"interval": 0}, "delivery/trigger_interval_ms": 4000},
        {"sources/shop/interceptors/0": UUID, "channels/audit": {"type": "file"}},
        {"sources/shop/interceptors/0": UUID, "delivery/trigger_interval_ms": 4000},
    ],
)
def test_fewer_files_and_what_is_suggested_are_no_finding(changes: dict[str, Any]) -> None:
    assert findings(changes) == []


def test_files_of_several_sources_add_up() -> None:
    sources = {
        f"sources/s{number}": {
            "type": "kafka",
            "bootstrap_servers": "broker:9092",
            "topics": [f"t{number}"],
            "group_id": f"g{number}",
            "start_from": "earliest",
            "selector": {"type": "replicating", "channels": ["audit"]},
        }
        for number in range(9)
    }
    (found,) = findings(sources)
    assert "can write 1,200 files an hour" in found.message
    assert found.suggestion == "Set roll.interval to 36 s or more."
    assert findings({**sources, "sinks/audit/roll": {"interval": 36}}) == []


@pytest.mark.parametrize(("value", "code"), [({"size": 0}, "out_of_range"), ({"interval": -1}, "out_of_range")])
def test_what_no_file_can_be_is_an_error(value: dict[str, Any], code: str) -> None:
    validation = validate_data(changed({"sinks/audit/roll": value}))
    assert not validation.valid
    assert [finding.path.rpartition(".")[0] for finding in validation.findings] == ["sinks.audit.roll"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"delivery/max_events_per_batch": 99}, "at least one record of each partition"),
        ({"delivery/max_events_per_batch": 100}, ""),
        (
            {
                "delivery/max_events_per_batch": 2,
                "sources/shop/start_from": {"offsets": {"orders": {"0": 5, "1": 5, "2": 5}}},
            },
            "at least one record of the 3 partitions",
        ),
        (
            {
                "delivery/max_events_per_batch": 3,
                "sources/shop/start_from": {"offsets": {"orders": {"0": 5, "1": 5, "2": 5}}},
            },
            "",
        ),
    ],
)
def test_a_limit_below_the_number_of_partitions_is_a_warning(changes: dict[str, Any], words: str) -> None:
    found = [each for each in findings(changes) if each.code != "small_files"]
    assert [(each.path, each.code, each.severity) for each in found] == (
        [("delivery.max_events_per_batch", "fewer_than_partitions", "warning")] if words else []
    )
    assert not words or words in found[0].message


@pytest.mark.parametrize(
    ("changes", "limit", "rate"),
    [
        ({"delivery/max_events_per_batch": 3599}, 3599, 999),
        ({"channels/audit": {"type": "file", "transaction_capacity": 100}}, 100, 27),
    ],
)
def test_batches_of_few_events_are_a_warning_with_the_rate_at_which_they_flood(
    changes: dict[str, Any], limit: int, rate: int
) -> None:
    (found,) = findings(changes)
    assert (found.path, found.code, found.severity) == ("sinks.audit.roll", "small_files", "warning")
    assert f"has at most {limit} events" in found.message
    assert f"with more than {rate} events a second" in found.message


def test_batches_of_enough_events_are_no_finding() -> None:
    assert findings({"delivery/max_events_per_batch": 3600}) == []
