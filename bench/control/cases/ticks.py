"""How long a tick takes, and how many queries it makes."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from django.db import connection

from bench.control.fleet import Plan
from bench.control.stage import Fleet, Stage, Values
from bench.figures import percentile

SETTLE = 12
"""Ticks before measuring: the first ones record conditions, and every status that is stored at least every 10 s."""
COUNTED = 10

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
    """One figure per run: median and slowest tick of a host, and the most queries that one made."""
    medians, worst, queries = [], [], []
    with stage.fleet(plan) as fleet:
        for _ in range(SETTLE):
            fleet.live()
            fleet.tick()
        for _ in range(stage.runs):
            found = [each for _ in range(stage.ticks) for each in _timed(fleet)]
            medians.append(percentile(found, 0.5))
            worst.append(max(found))
            queries.append(float(max(_counted(fleet) for _ in range(COUNTED))))
    return {"tick_p50_ms": medians, "tick_slowest_ms": worst, "queries_per_tick": queries}


def _timed(fleet: Fleet) -> list[float]:
    """Milliseconds of each host's tick after one more second."""
    fleet.live()
    found = []
    for supervisor in fleet.supervisors:
        start = time.perf_counter()
        supervisor.tick()
        found.append((time.perf_counter() - start) * 1000)
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
