"""Sink processors: order, penalties, pools, restarts, and cancellation."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.domain.ledger.sink_groups import Penalty, penalty_ms
from tests.sink_bench import WALL, Bench, definition, validated
from workers.agent.sink_processors import AllFailed

FAILOVER = {"type": "failover", "priorities": {"s1": 3, "s2": 2, "s3": 1}}
TURNS = {"type": "load_balance"}
BACKOFF = {"type": "load_balance", "backoff": True}
MEMBERS = ["s1", "s2", "s3"]


def failover(**fields: Any) -> Bench:
    return Bench(MEMBERS, FAILOVER, **fields)


def test_a_failure_is_one_switch_with_cause_penalty_and_who_comes_next() -> None:
    bench = failover(failing={"s1"})
    assert bench.batch() == "s2"
    (switch,) = bench.switches
    assert (switch.sink, switch.to, switch.cause) == ("s1", "s2", "s1 is away")
    assert (switch.penalty_ms, switch.failures, switch.until) == (2000, 1, WALL + 1002.0)


def test_a_failed_sink_gets_nothing_before_its_time_is_up() -> None:
    bench = failover(failing={"s1"})
    bench.batch()
    bench.wait(1.99)
    bench.batch()
    assert bench.tried == ["s2"]
    bench.wait(0.02)
    bench.batch()
    assert bench.tried == ["s1", "s2"]


def test_several_whose_time_is_up_are_tried_in_the_order_of_their_times() -> None:
    bench = failover(failing={"s2", "s3"})
    bench.processor.restore(
        [Penalty(sink="s2", failures=1, until=WALL + 1005), Penalty(sink="s3", failures=1, until=WALL + 1003)]
    )
    bench.wait(10)
    assert bench.batch() == "s1"
    assert bench.tried == ["s3", "s2", "s1"]


def test_one_that_delivers_comes_back_and_its_failures_are_forgotten() -> None:
    bench = failover(failing={"s1"})
    for pause in (0, 2, 4):
        bench.wait(pause)
        bench.batch()
    assert [penalty.failures for penalty in bench.processor.pools().failed] == [3]
    bench.failing.clear()
    bench.wait(8)
    assert bench.batch() == "s1"
    (switch,) = bench.switches
    assert (switch.recovered, switch.sink, switch.to, switch.penalty_ms) == (True, "s1", "s1", 0)
    bench.failing = {"s1"}
    bench.batch()
    assert bench.switches[0].penalty_ms == 2000


def test_a_lower_one_is_tried_with_one_batch_when_its_time_is_up_and_does_not_stay_in_charge() -> None:
    bench = failover(failing={"s1", "s2"})
    bench.batch()
    bench.failing = {"s2"}
    bench.wait(2)
    assert bench.batch() == "s1"
    bench.failing.clear()
    bench.wait(4)
    assert bench.batches(2) == ["s2", "s1"]
    assert bench.processor.pools().live == MEMBERS


def test_when_all_fail_every_cause_is_named_and_nobody_is_next() -> None:
    bench = failover(failing=set(MEMBERS))
    with pytest.raises(AllFailed, match="all sinks of group g failed: s1: s1 is away; s2: s2 is away; s3: s3 is away"):
        bench.batch()
    assert [switch.to for switch in bench.switches] == ["s2", "s3", ""]
    assert bench.processor.pools().active == ""


def test_a_round_ends_although_its_attempts_take_longer_than_the_penalties() -> None:
    bench = failover(failing=set(MEMBERS))
    tried = []
    for sink in bench.processor.candidates():
        tried.append(sink)
        bench.wait(60)
        bench.processor.failed(sink, "hung")
    assert tried == MEMBERS


def test_the_pause_lasts_until_the_first_penalty_ends_within_bounds() -> None:
    bench = failover(failing=set(MEMBERS))
    assert bench.processor.pause() == 0.5
    pauses = []
    for _ in range(4):
        with pytest.raises(AllFailed):
            bench.batch()
        pauses.append(bench.processor.pause())
        bench.wait(30)
    assert pauses == [2.0, 4.0, 8.0, 10.0]


@pytest.mark.parametrize("spec", [TURNS, {"type": "default"}])
def test_without_penalties_the_pause_grows_all_the_same(spec: dict[str, Any]) -> None:
    members = ["s1"] if spec["type"] == "default" else MEMBERS
    bench = Bench(members, spec, failing=set(members))
    pauses = []
    for _ in range(7):
        with pytest.raises(AllFailed):
            bench.batch()
        pauses.append(bench.processor.pause())
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


@pytest.mark.parametrize("spec", [FAILOVER, TURNS, BACKOFF])
def test_a_batch_that_is_given_up_penalises_nobody(spec: dict[str, Any]) -> None:
    bench = Bench(MEMBERS, spec)
    before = bench.processor.pools()
    candidates = bench.processor.candidates()
    next(candidates)
    candidates.close()  # type: ignore[attr-defined]
    assert bench.processor.pools() == before
    assert bench.batch() in MEMBERS


def test_a_report_is_taken_once_and_from_the_candidate_alone() -> None:
    processor = failover().processor
    candidates = processor.candidates()
    next(candidates)
    with pytest.raises(RuntimeError, match="s2"):
        processor.failed("s2", "not asked")
    processor.failed("s1", "away")
    with pytest.raises(RuntimeError, match="s1"):
        processor.failed("s1", "twice")
    assert [penalty.failures for penalty in processor.pools().failed] == [1]


def test_a_caller_that_reports_nothing_is_told() -> None:
    candidates = failover().processor.candidates()
    next(candidates)
    with pytest.raises(RuntimeError, match="there was no report"):
        next(candidates)


def test_penalties_survive_a_restart_with_the_time_that_is_left() -> None:
    bench = failover(failing={"s1"})
    bench.batch()
    bench.wait(1.5)
    left = bench.processor.pools().failed
    bench.processor = bench.made(left)
    assert bench.processor.pools().failed == left
    bench.batch()
    assert bench.tried == ["s2"]
    bench.wait(0.5)
    bench.batch()
    assert (bench.tried, bench.switches[0].penalty_ms) == (["s1", "s2"], 4000)


def test_a_restored_penalty_is_never_longer_than_the_configuration_allows_and_strangers_are_left_out() -> None:
    bench = failover()
    far = WALL + 10**9
    bench.processor.restore([Penalty(sink="s1", failures=9, until=far), Penalty(sink="gone", failures=1, until=far)])
    (penalty,) = bench.processor.pools().failed
    assert (penalty.sink, penalty.until) == ("s1", WALL + 1030.0)


@pytest.mark.parametrize("spec", [FAILOVER, TURNS, BACKOFF])
def test_a_round_is_over_when_a_sink_has_delivered(spec: dict[str, Any]) -> None:
    processor = Bench(MEMBERS, spec).processor
    tried = []
    for sink in processor.candidates():
        tried.append(sink)
        processor.delivered(sink)
    assert len(tried) == 1


def test_batches_go_round() -> None:
    assert Bench(MEMBERS, TURNS).batches(4) == ["s1", "s2", "s3", "s1"]


def test_a_round_that_was_gone_through_begins_anew_although_a_sink_has_come_back_since() -> None:
    bench = Bench(MEMBERS, BACKOFF, failing={"s2"})
    assert bench.batches(5) == ["s1", "s3", "s1", "s3", "s1"]
    bench.failing.clear()
    assert bench.batch() == "s3"
    bench.wait(2)
    assert bench.batches(3) == ["s1", "s2", "s3"]


def test_random_batches_reach_everybody_in_every_order() -> None:
    bench = Bench(MEMBERS, {"type": "load_balance", "selector": "random"}, failing=set(MEMBERS))
    orders = set()
    for _ in range(400):
        with pytest.raises(AllFailed):
            bench.batch()
        orders.add(tuple(bench.tried))
    assert len(orders) == 6


def test_a_balanced_sink_that_backs_off_is_left_out_and_then_gets_its_share_again() -> None:
    bench = Bench(MEMBERS, BACKOFF, failing={"s2"})
    bench.batches(4)
    assert [penalty.sink for penalty in bench.processor.pools().failed] == ["s2"]
    bench.failing.clear()
    assert "s2" not in bench.batches(6)
    bench.wait(2)
    assert set(bench.batches(3)) == set(MEMBERS)
    assert bench.processor.pools().failed == []


def test_all_that_back_off_leave_nobody_to_try_and_the_causes_stand() -> None:
    bench = Bench(MEMBERS, BACKOFF, failing=set(MEMBERS))
    for tried in (MEMBERS, []):
        with pytest.raises(AllFailed, match="s3 is away"):
            bench.batch()
        assert bench.tried == tried


def test_a_sink_on_its_own_is_never_switched_or_penalised() -> None:
    bench = Bench(["s1"], {"type": "default"}, failing={"s1"})
    with pytest.raises(AllFailed):
        bench.batch()
    assert bench.switches == []
    bench.failing.clear()
    assert bench.batch() == "s1"
    assert (bench.switches, bench.processor.pools().live) == ([], ["s1"])


def test_penalties_saturate_without_overflow() -> None:
    assert penalty_ms(10**15, 30_000) == 30_000
    assert [penalty_ms(n, 10**8) for n in (1, 2, 16, 17)] == [2000, 4000, 65_536_000, 10**8]


def test_a_channel_without_a_group_has_the_default_processor() -> None:
    group, spec, members = definition(MEMBERS, FAILOVER).processor_of("audit")
    assert (group, spec.type, members) == ("", "default", ["audit"])


def test_defaults_are_flumes() -> None:
    _, spec, _ = definition(MEMBERS, FAILOVER).processor_of("lake")
    assert spec.model_dump()["max_penalty_ms"] == 30_000
    _, spec, _ = definition(MEMBERS, TURNS).processor_of("lake")
    assert spec.model_dump() == {
        "type": "load_balance",
        "selector": "round_robin",
        "backoff": False,
        "max_timeout_ms": 30_000,
    }


def test_every_mistake_in_the_priorities_is_found_at_once_where_it_is() -> None:
    found = validated(MEMBERS, {"type": "failover", "priorities": {"s1": 5, "s2": 5, "s4": 1}, "max_penalty_ms": 0})
    place = "sink_groups.g.processor"
    assert [(finding.path, finding.code) for finding in found.findings] == [
        (f"{place}.max_penalty_ms", "out_of_range"),
        (f"{place}.priorities", "missing_priority"),
        (f"{place}.priorities.s2", "duplicate_priority"),
        (f"{place}.priorities.s4", "unknown_sink"),
    ]
    assert all(finding.suggestion for finding in found.findings)
    assert '"s3": 2' in found.findings[1].suggestion


@pytest.mark.parametrize(
    ("spec", "path", "code"),
    [
        ({"type": "failover"}, "priorities", "missing_key"),
        ({"type": "failover", "priorities": []}, "priorities", "wrong_type"),
        ({"type": "failover", "priorities": {"s1": "1", "s2": 2, "s3": 3}}, "priorities.s1", "wrong_type"),
        ({"type": "failover", "priorities": {"s1": True, "s2": 1, "s3": 3}}, "priorities.s1", "wrong_type"),
        ({**FAILOVER, "max_penalty_ms": "abc"}, "max_penalty_ms", "wrong_type"),
        ({**TURNS, "selector": "robin"}, "selector", "unknown_value"),
        ({**TURNS, "backoff": "yes"}, "backoff", "wrong_type"),
        ({**TURNS, "max_timeout_ms": -1}, "max_timeout_ms", "out_of_range"),
        ({**TURNS, "priorities": {}}, "priorities", "unknown_key"),
    ],
)
def test_a_bad_value_is_refused(spec: dict[str, Any], path: str, code: str) -> None:
    found = validated(MEMBERS, spec)
    assert [(f.path, f.code) for f in found.findings] == [(f"sink_groups.g.processor.{path}", code)]


def test_the_default_processor_takes_one_sink() -> None:
    (finding,) = validated(MEMBERS, {"type": "default"}).findings
    assert (finding.path, finding.code) == ("sink_groups.g.sinks", "one_sink_only")
