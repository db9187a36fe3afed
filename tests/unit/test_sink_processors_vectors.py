"""Sink processors do what Flume's do, fact by fact, and what the notes say that ours must do instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipelines.domain import registry
from tests.sink_bench import Bench, definition, validated
from tests.vectors import Vector, applicable
from workers.agent.compile import build
from workers.agent.sink_processors import AllFailed

CONFIGURED = {"FO-006": "duplicate_priority", "LB-016": "unknown_value", "LB-017": None}
OWN = {"FO-001", "FO-009", "FO-011", *CONFIGURED}
FAILOVER = {"FO-001", "FO-003", "FO-004", "FO-006", "FO-009", "FO-011"}
BALANCED = {f"LB-{n:03}" for n in (3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 17, 18)}
VECTORS = {vector.id: vector for vector in applicable("sink_processor")}


def group(config: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """Members and processor, out of Flume's keys."""
    priorities = {key.rpartition(".")[2]: value for key, value in config.items() if ".priority." in key}
    if config.get("processor.type") == "failover" or priorities or "processor.maxpenalty" in config:
        priorities = priorities or {"s1": 2, "s2": 1}
        longest = {"max_penalty_ms": config["processor.maxpenalty"]} if "processor.maxpenalty" in config else {}
        return list(priorities), {"type": "failover", "priorities": priorities, **longest}
    members = [f"s{number}" for number in range(1, config["sinks"] + 1)]
    chosen = {key: value for key, value in config.items() if key in {"selector", "backoff"}}
    return members, {"type": "load_balance", **chosen}


def bench(vector: Vector) -> Bench:
    made = Bench(*group(vector.config), failing=set(vector.config.get("always_fail", [])))
    if vector.id in {"FO-003", "FO-004"}:  # the quotas stand in the notes alone
        made.quotas = {"s1": 10, "s2": 50, "s3": 100}
    return made


def perform(made: Bench, step: dict[str, Any]) -> None:
    match step["op"]:
        case "put":
            made.batches(step["n"])
        case "process":
            made.failing = set(step.get("failing", made.failing))
            made.batches(step.get("times", 1))
        case "drain":
            made.batches(step["n"] if "n" in step else step["total"] - made.counts.total())
        case "refill":
            made.quotas[step["sink"]] = step["quota"]
        case "set":
            made.failing = set(step["failing"])
        case "wait_ms":
            made.wait(step["ms"] / 1000)
        case unknown:
            raise NotImplementedError(unknown)


def check(made: Bench, expected: dict[str, Any]) -> None:
    counts = [made.counts[name] for name in made.members]
    for key, value in expected.items():
        match key:
            case "written":
                assert dict(made.counts) == value
            case "counts":
                assert counts == value
            case "sum":
                assert sum(counts) == value
            case "s1_plus_s3":
                assert made.counts["s1"] + made.counts["s3"] == value
            case "distinct_counts_at_least":
                assert len(set(counts)) >= value
            case _:
                assert made.counts[key] == value


def test_every_vector_is_driven_or_exempted() -> None:
    assert VECTORS.keys() == FAILOVER | BALANCED
    assert registry.types("processor").keys() == {"default", "failover", "load_balance"}


@pytest.mark.parametrize("identifier", sorted(VECTORS.keys() - OWN))
def test_batches_go_where_flumes_go(identifier: str) -> None:
    vector = VECTORS[identifier]
    made = bench(vector)
    *before, last = vector.input_events
    for step in before:
        perform(made, step)
    if "error" in vector.expected_events_or_error:
        with pytest.raises(AllFailed):
            perform(made, last)
    else:
        perform(made, last)
        check(made, vector.expected_events_or_error)


@pytest.mark.parametrize("identifier", sorted(CONFIGURED))
def test_a_configuration_is_taken_or_refused(identifier: str) -> None:
    found = validated(*group(VECTORS[identifier].config))
    code = CONFIGURED[identifier]
    assert [finding.code for finding in found.findings] == ([code] if code else [])
    assert found.valid is (code is None)


def test_every_member_is_started_and_not_only_the_first(tmp_path: Path) -> None:
    vector = VECTORS["FO-001"]
    started = build(definition(*group(vector.config)), lineage=1, state=tmp_path).sinks
    assert started.keys() >= vector.expected_events_or_error["lifecycle"].keys()


def test_penalties_grow_and_saturate() -> None:
    vector = VECTORS["FO-009"]
    made = bench(vector)
    made.failing = set(made.members)
    penalties = {}
    for number in range(1, 22):
        with pytest.raises(AllFailed):
            made.batch()
        penalties[number] = [switch.penalty_ms for switch in made.switches]
        made.wait(vector.config["processor.maxpenalty"] / 1000)
    (step,) = vector.input_events
    wanted = vector.expected_events_or_error["penalty_ms"]
    assert [penalties[number] for number in step["n"]] == [[each] * len(made.members) for each in wanted]


def test_a_member_that_had_nothing_to_do_is_neither_restored_nor_punished() -> None:
    made = bench(VECTORS["FO-011"])
    made.failing = {"s1"}
    made.batch()
    made.wait(2.0)
    before = made.processor.pools()
    assert next(made.processor.candidates()) == "s1"
    assert made.processor.pools() == before
    assert [penalty.sink for penalty in before.failed] == ["s1"]
