"""How long a tick takes, and how many queries it makes."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from django.db import connection

from bench.control.fleet import Plan
from bench.control.stage import Fleet, Stage, Values, on_one_core
from bench.figures import percentile

SETTLE = 12
"""Ticks before measuring: the first ones record conditions, and every status that is stored at least every 10 s."""
COUNTED = 5

PLANS = {
    "quiet_10": Plan(10),
    "quiet_100": Plan(100),
    "quiet_1000": Plan(1_000),
    "quiet_5000": Plan(5_000),
    "mixed_10": Plan(10, busy=2),
    "mixed_100": Plan(100, busy=20),
    "mixed_1000": Plan(1_000, busy=200),
    "mixed_1000_on_10_hosts": Plan(1_000, busy=200, hosts=10),
    "mixed_5000_on_50_hosts": Plan(5_000, busy=1_000, hosts=50),
}


def measure(stage: Stage, plan: Plan) -> Values:
    """One figure per run: median and slowest tick of a host, its processor time, and the most queries that one made."""
    on_one_core()
    medians, worst, cpu, queries = [], [], [], []
    with stage.fleet(plan) as fleet:
        for _ in range(SETTLE):
            fleet.live()
            fleet.tick()
        for _ in range(stage.runs):
            found = [each for _ in range(stage.ticks) for each in _timed(fleet)]
            medians.append(percentile([spent for spent, _ in found], 0.5))
            worst.append(max(spent for spent, _ in found))
            cpu.append(percentile([worked for _, worked in found], 0.5))
            queries.append(float(max(_counted(fleet) for _ in range(COUNTED))))
    return {"tick_p50_ms": medians, "tick_slowest_ms": worst, "tick_cpu_ms": cpu, "queries_per_tick": queries}


def _timed(fleet: Fleet) -> list[tuple[float, float]]:
    """Milliseconds of each host's tick after one more second: by the clock, and of the processor."""
    fleet.live()
    found = []
    for supervisor in fleet.supervisors:
        start, worked = time.perf_counter(), time.process_time()
        supervisor.tick()
        found.append(((time.perf_counter() - start) * 1000, (time.process_time() - worked) * 1000))
    return found


def _counted(fleet: Fleet) -> int:
    """Queries of the host that made the most of them."""
    fleet.live()
    most = 0
    for supervisor in fleet.supervisors:
        count = 0

        def counting(execute: Callable[..., Any], *arguments: Any) -> Any:
            nonlocal count
            count += 1
            return execute(*arguments)

        with connection.execute_wrapper(counting):
            supervisor.tick()
        most = max(most, count)
    return most


CASES = {name: partial(measure, plan=plan) for name, plan in PLANS.items()}
