"""The random choice of a soak: the seed alone decides it, and it keeps what it promises."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.chaos.soak.schedule import KINDS, NAMES, Strike, schedule
from tests.chaos.soak.strikes import STRIKES

BY_NAME = {kind.name: kind for kind in KINDS}
PIPELINES = ["one", "two"]
seeds = st.integers(0, 2**32)
times = st.floats(0, 7200)


@given(seeds, times)
def test_a_seed_decides_everything(seed: int, seconds: float) -> None:
    assert schedule(seed, seconds, PIPELINES) == schedule(seed, seconds, PIPELINES)


@given(seeds, times, st.floats(5, 60))
def test_each_fault_is_over_before_the_next_one_and_before_the_end(seed: int, seconds: float, every: float) -> None:
    strikes = schedule(seed, seconds, PIPELINES, every=every)
    ends = [*(strike.at for strike in strikes[1:]), seconds]
    assert all(strike.at + strike.lasts <= end for strike, end in zip(strikes, ends, strict=False))
    assert all(later.at - earlier.at > every - 0.001 for earlier, later in pairwise(strikes))
    assert [strike.number for strike in strikes] == list(range(1, len(strikes) + 1))


@given(seeds)
def test_every_fault_of_the_list_comes_before_one_comes_again(seed: int) -> None:
    faults = [strike.fault for strike in schedule(seed, 20 * len(KINDS), PIPELINES)]
    assert sorted(faults) == sorted(NAMES)


@given(seeds, times)
def test_what_cannot_be_taken_back_comes_so_often_at_most(seed: int, seconds: float) -> None:
    counted = Counter(strike.fault for strike in schedule(seed, seconds, PIPELINES))
    assert all(count <= (BY_NAME[name].at_most or count) for name, count in counted.items())


@given(seeds, st.sets(st.sampled_from(NAMES)))
def test_faults_can_be_chosen(seed: int, names: set[str]) -> None:
    assert {strike.fault for strike in schedule(seed, 1200, PIPELINES, sorted(names))} == names


@given(seeds)
def test_a_fault_strikes_one_pipeline_or_what_all_share(seed: int) -> None:
    def fits(strike: Strike) -> bool:
        kind = BY_NAME[strike.fault]
        return (strike.pipeline in PIPELINES) == kind.own and (strike.lasts > 0) == kind.lasts and strike.chance <= 1

    assert all(fits(strike) for strike in schedule(seed, 3600, PIPELINES))


def test_seeds_differ() -> None:
    assert len({tuple(schedule(seed, 3600, PIPELINES)) for seed in range(20)}) == 20


def test_every_fault_of_the_list_can_be_done() -> None:
    assert sorted(STRIKES) == sorted(NAMES)
