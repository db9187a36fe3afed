"""Sink processors do what Flume's do, fact by fact."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.sink_bench import Bench, definition, validated
from tests.vectors import Vector, drives, vector
from workers.agent.graph.compile import build
from workers.agent.sink_processors import AllFailed


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


def bench(fact: Vector) -> Bench:
    made = Bench(*group(fact.config), failing=set(fact.config.get("always_fail", [])))
    if fact.id in {"FO-003", "FO-004"}:  # the quotas stand in the notes of one of them alone
        made.quotas = {name: int(quota) for name, quota in re.findall(r"(s\d) quota (\d+)", vector("FO-003").notes)}
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


def check(made: Bench, expected: Mapping[str, Any]) -> None:
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


@drives(
    "FO-003",
    "FO-004",
    "LB-003",
    "LB-004",
    "LB-005",
    "LB-006",
    "LB-007",
    "LB-008",
    "LB-009",
    "LB-011",
    "LB-012",
    "LB-013",
    "LB-018",
)
def test_batches_go_where_flumes_go(vector: Vector) -> None:
    made = bench(vector)
    *before, last = vector.input_events
    for step in before:
        perform(made, step)
    if vector.error:
        errors = {AllFailed: "delivery"}
        with pytest.raises(AllFailed) as raised:
            perform(made, last)
        assert errors[raised.type] == vector.error
    else:
        perform(made, last)
        check(made, vector.expected)


def test_two_members_of_one_priority_are_refused() -> None:
    found = validated(["s1", "s2"], {"type": "failover", "priorities": {"s1": 5, "s2": 5}})
    assert [finding.code for finding in found.findings] == ["duplicate_priority"]


@drives("FO-001")
def test_every_member_is_started_and_not_only_the_first(vector: Vector, tmp_path: Path) -> None:
    members, processor = group(vector.config)
    sinks = build(definition(members, processor), lineage=1, state=tmp_path).sinks
    assert {name: "START" for name in sinks if name in members} == vector.expected["lifecycle"]


@drives("FO-009")
def test_penalties_grow_and_saturate(vector: Vector) -> None:
    made = bench(vector)
    made.failing = set(made.members)
    (step,) = vector.input_events
    penalties = {}
    for number in range(1, max(step["n"]) + 1):
        with pytest.raises(AllFailed):
            made.batch()
        penalties[number] = [switch.penalty_ms for switch in made.switches]
        made.wait(vector.config["processor.maxpenalty"] / 1000)
    wanted = vector.expected["penalty_ms"]
    assert [penalties[number] for number in step["n"]] == [[each] * len(made.members) for each in wanted]


@drives("FO-011")
def test_a_member_that_had_nothing_to_do_is_neither_restored_nor_punished(vector: Vector) -> None:
    made = bench(vector)
    assert vector.steps == ["failed_sink_after_penalty_returns"]
    made.failing = {"s1"}
    made.batch()
    made.wait(2.0)
    before = made.processor.pools()
    assert next(made.processor.candidates()) == "s1"
    assert ([penalty.sink for penalty in made.processor.pools().failed] == ["s1"]) is vector.expected["stays_failed"]
    assert (made.processor.pools().failed != before.failed) is vector.expected["penalty_increased"]
