"""The price of the ledger, and of what it counts beyond sums: the same pipelines with it and without, in pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bench.bench import Bench
from bench.cases.throughput import LARGE, WARM_UP, measure
from bench.figures import Result, result
from bench.records import PATTERN
from bench.systems.base import Work
from bench.systems.headgate import Headgate

Graph = Callable[[Work], Mapping[str, Any]]
Pairs = dict[str, list[float]]
"""Figures of the two sides of each pair, by side and figure."""


def ledger(bench: Bench) -> list[Result]:
    """Steady rates and CPU time with and without: of the whole ledger for a pipeline with one filter, and of counts by
    component and bytes for one with three."""
    (count,) = bench.options.sizes(LARGE)
    bench.records["ledger"] = count
    whole = _pairs(bench, count, "ledger", lambda work: {})
    counts = _pairs(bench, count, "counts", lambda work: {"interceptors": _three_filters()})
    name = Headgate().name
    return [
        result("ledger", name, "steady_records_per_second", whole["with rate"]),
        result("ledger", name, "without_ledger_records_per_second", whole["without rate"]),
        result("ledger", name, "ledger_cost_percent", _costs(whole)),
        result("ledger", name, "counted_records_per_second", counts["with rate"]),
        result("ledger", name, "without_counts_records_per_second", counts["without rate"]),
        result("ledger", name, "counts_cost_percent", _costs(counts)),
        result("ledger", name, "counted_cpu_seconds_per_million", counts["with cpu"]),
        result("ledger", name, "without_counts_cpu_seconds_per_million", counts["without cpu"]),
    ]


def _three_filters() -> list[dict[str, Any]]:
    """Each of them decides of some record, so that each has a counter; none of the records meets one."""
    never = [{"type": "regex_filter", "regex": f"^{word} ", "exclude_events": True} for word in ("DEBUG", "TRACE")]
    return [{"type": "timestamp"}, {"type": "regex_filter", "regex": PATTERN}, *never]


def _pairs(bench: Bench, count: int, what: str, graph: Graph) -> Pairs:
    """The two sides next to each other, each of them first in every other pair."""
    sides = {"with": Headgate(graph=graph), "without": Headgate(graph=graph, without=what)}
    found: Pairs = {f"{side} {figure}": [] for side in sides for figure in ("rate", "cpu")}
    with bench.source(min(count, WARM_UP)) as source:
        for system in sides.values():
            measure(bench, system, source, min(count, WARM_UP))
    with bench.source(count) as source:
        for number in range(1, bench.options.runs + 1):
            for side in sides if number % 2 else reversed(sides):
                figures = measure(bench, sides[side], source, count)
                rate, cpu = figures["steady_records_per_second"], figures["cpu_seconds_per_million"]
                found[f"{side} rate"].append(rate)
                found[f"{side} cpu"].append(cpu)
                words = f"{rate:,.0f} records/s, {cpu:.2f} CPU s per million"
                bench.say(f"  {what} {number}/{bench.options.runs} {side}: {words}")
    return found


def _costs(pairs: Pairs) -> list[float]:
    """Of each pair."""
    return [100 * (1 - own / other) for own, other in zip(pairs["with rate"], pairs["without rate"], strict=True)]
