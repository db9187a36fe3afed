"""The price of the ledger: the same pipeline with its books and without, by turns."""

from __future__ import annotations

import statistics

from bench.bench import Bench
from bench.cases.throughput import LARGE, WARM_UP, measure
from bench.figures import Result, result
from bench.systems.headgate import Headgate


def ledger(bench: Bench) -> list[Result]:
    """Steady rates with and without; the cost is that of the medians."""
    (count,) = bench.options.sizes(LARGE)
    bench.records["ledger"] = count
    systems = {"with": Headgate(), "without": Headgate(ledger=False)}
    rates: dict[str, list[float]] = {kind: [] for kind in systems}
    with bench.source(min(count, WARM_UP)) as source:
        for system in systems.values():
            measure(bench, system, source, min(count, WARM_UP))
    with bench.source(count) as source:
        for number in range(1, bench.options.runs + 1):
            for kind, system in systems.items():
                rate = measure(bench, system, source, count)["steady_records_per_second"]
                rates[kind].append(rate)
                bench.say(f"  ledger {number}/{bench.options.runs} {kind}: {rate:,.0f} records/s")
    cost = 100 * (1 - statistics.median(rates["with"]) / statistics.median(rates["without"]))
    name = systems["with"].name
    return [
        result("ledger", name, "steady_records_per_second", rates["with"]),
        result("ledger", name, "without_ledger_records_per_second", rates["without"]),
        result("ledger", name, "ledger_cost_percent", [cost]),
    ]
