"""Sinks fail and heal, time passes, agents start again: a batch finds whoever may take it, each once and in order."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from pipelines.domain.ledger.sink_groups import Pools, Switch
from tests.sink_bench import WALL, Bench
from workers.agent.sink_processors import AllFailed

NAMES = ["s1", "s2", "s3", "s4"]
LONGEST = st.sampled_from([125, 2500, 30_000, 86_400_000])
SOME = st.sets(st.sampled_from(NAMES))


class Groups(RuleBasedStateMachine):
    """What every processor with several sinks keeps to."""

    longest_ms = 0

    def make(self, members: list[str], spec: dict[str, Any], longest_ms: int) -> None:
        self.longest_ms = longest_ms
        self.bench = Bench(members, spec)

    @rule(failing=SOME)
    def sinks_fail_and_heal(self, failing: set[str]) -> None:
        self.bench.failing = failing

    @rule(seconds=st.sampled_from([0.0, 0.5, 1.875, 2.0, 5.0, 31.0, 100_000.0]))
    def time_passes(self, seconds: float) -> None:
        self.bench.wait(seconds)

    @rule()
    def a_batch_comes(self) -> None:
        before = self.bench.processor.pools()
        try:
            taken = self.bench.batch()
        except AllFailed as error:
            self.all_failed = error
            taken = ""
        self.check_round(before, taken)

    @rule()
    def a_batch_is_aborted(self) -> None:
        before = self.bench.processor.pools()
        for sink in self.bench.processor.candidates():
            assert sink in self.bench.members
            break
        assert self.bench.processor.pools() == before

    @rule()
    def the_agent_starts_again(self) -> None:
        before = self.bench.processor.pools()
        self.bench.processor = self.bench.made(before.failed)
        after = self.bench.processor.pools()
        assert ({p.sink: p.failures for p in after.failed}, after.live) == (
            {p.sink: p.failures for p in before.failed},
            before.live,
        )

    @rule()
    def all_is_well_for_long(self) -> None:
        self.bench.failing = set()
        self.bench.wait(self.longest_ms / 1000 + 1)
        self.bench.batches(2 * len(self.bench.members))
        self.check_all_recovered()

    def check_all_recovered(self) -> None:
        assert self.bench.processor.pools().failed == []

    def ready(self, before: Pools) -> list[str]:
        """Live members, and failed ones whose time is up."""
        now = WALL + self.bench.now
        return [*before.live, *(penalty.sink for penalty in before.failed if penalty.until <= now)]

    def check_round(self, before: Pools, taken: str) -> None:
        tried, ready = self.bench.tried, self.ready(before)
        healthy = set(ready) - self.bench.failing
        assert len(set(tried)) == len(tried)
        assert set(tried) <= set(ready)
        assert bool(taken) == bool(healthy)
        assert taken or (set(tried) == set(ready) and self.all_failed.causes.keys() == set(self.bench.members))
        self.check_switches(before, tried, taken)

    def check_switches(self, before: Pools, tried: list[str], taken: str) -> None:
        failures = {penalty.sink: penalty.failures for penalty in before.failed}
        failed = [sink for sink in tried if sink != taken]
        switches = [switch for switch in self.bench.switches if not switch.recovered]
        assert [switch.sink for switch in switches] == failed
        for switch, following in zip(switches, [*tried[1:], ""], strict=False):
            assert switch.failures == failures.get(switch.sink, 0) + 1
            self.check_penalty(switch)
            assert switch.to == following
        recovered = [switch.sink for switch in self.bench.switches if switch.recovered]
        assert recovered == ([taken] if taken in failures else [])

    def check_penalty(self, switch: Switch) -> None:
        assert switch.penalty_ms == min(self.longest_ms, 1000 * 2**switch.failures)

    @invariant()
    def every_member_is_in_one_pool_and_the_pause_has_bounds(self) -> None:
        pools = self.bench.processor.pools()
        assert sorted([*pools.live, *(penalty.sink for penalty in pools.failed)]) == sorted(self.bench.members)
        assert all(p.until <= WALL + self.bench.now + self.longest_ms / 1000 + 0.001 for p in pools.failed)
        assert 0.5 <= self.bench.processor.pause() <= 10


class Failovers(Groups):
    """The highest priority that is live works, after those that may come back."""

    @initialize(count=st.integers(1, 4), numbers=st.permutations([-7, 0, 5, 2**31 - 1]), longest=LONGEST)
    def there_is_a_group(self, count: int, numbers: list[int], longest: int) -> None:
        members = NAMES[:count]
        self.priorities = dict(zip(members, numbers, strict=False))
        spec = {"type": "failover", "priorities": self.priorities, "max_penalty_ms": longest}
        self.make(members, spec, longest)

    def check_round(self, before: Pools, taken: str) -> None:
        super().check_round(before, taken)
        due = [penalty.sink for penalty in before.failed if penalty.until <= WALL + self.bench.now]
        ranked = sorted(before.live, key=lambda name: -self.priorities[name])
        times = {penalty.sink: penalty.until for penalty in before.failed}
        tried = self.bench.tried
        first, then = tried[: len(due)], tried[len(due) :]
        assert [times[sink] for sink in first] == sorted(times[sink] for sink in first)
        assert then == ranked[: len(then)]

    @invariant()
    def the_highest_live_priority_is_active(self) -> None:
        pools = self.bench.processor.pools()
        assert pools.active == max(pools.live, key=lambda name: self.priorities[name], default="")


class Balances(Groups):
    """Everybody who may gets a share."""

    @initialize(
        count=st.integers(2, 4),
        selector=st.sampled_from(["round_robin", "random"]),
        backoff=st.booleans(),
        longest=LONGEST,
    )
    def there_is_a_group(self, count: int, selector: str, backoff: bool, longest: int) -> None:
        self.in_turn = selector == "round_robin"
        spec = {"type": "load_balance", "selector": selector, "backoff": backoff, "max_timeout_ms": longest}
        self.make(NAMES[:count], spec, longest if backoff else 0)

    def check_all_recovered(self) -> None:
        if self.in_turn:
            super().check_all_recovered()
            counts = [self.bench.batches(len(self.bench.members)).count(name) for name in self.bench.members]
            assert counts == [1] * len(counts)


LOAD = settings(max_examples=150, stateful_step_count=40, deadline=None)


def test_failover_groups_lose_no_batch() -> None:
    run_state_machine_as_test(Failovers, settings=LOAD)


def test_balanced_groups_lose_no_batch() -> None:
    run_state_machine_as_test(Balances, settings=LOAD)
