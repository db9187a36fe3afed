"""Latency: records are sent at a steady pace, each with the instant it was sent; the sink's log says when it came."""

from __future__ import annotations

import time
from collections.abc import Sequence

from bench.bench import Bench, Values, check, results
from bench.figures import Result, percentile
from bench.systems.base import System
from bench.systems.connect import Connect
from bench.systems.flume import Flume
from bench.systems.headgate import Headgate
from bench.topics import Pacer
from bench.usage import proportional_mb, total_cpu_seconds

_WARM_UP = 20.0
_START_TIMEOUT = 120.0
_DRAIN_TIMEOUT = 120.0


def latency(bench: Bench) -> list[Result]:
    """All systems at 1,000 records a second; 100 a second is part of the main case."""
    systems = bench.able("latency", [Headgate(), Headgate("real_time"), Flume(), Connect()])
    return at_rate(bench, "latency_1000", systems, 1000)


def small_batches(bench: Bench) -> list[Result]:
    """The ways to move few records: as soon as possible, by default, within a latency, the same with the profile of
    small agents, and record by record."""
    half_a_second = {"target_latency": "500ms"}
    systems = [
        Headgate(variant="at_once"),
        Headgate(variant="interval", delivery={}),
        Headgate(variant="target_latency", delivery=half_a_second),
        Headgate(variant="small", delivery=half_a_second, launcher={"jvm_profile": "small"}),
        Headgate("real_time", variant="real_time"),
    ]
    able = bench.able("small_batches", systems)
    return [found for rate in (100, 1000) for found in at_rate(bench, f"small_batches_{rate}", able, rate)]


def at_rate(bench: Bench, case: str, systems: Sequence[System], rate: int) -> list[Result]:
    """All systems by turns at `rate` records a second; raises Failed where a record is missing or comes twice."""
    values: Values = {}
    for number in range(1, bench.options.runs + 1):
        for system in systems:
            found = _measure(bench, system, rate)
            for metric, value in found.items():
                values.setdefault((system.name, metric), []).append(value)
            line = ", ".join(f"{metric} {value:,.1f}" for metric, value in found.items())
            bench.say(f"  {rate} records/s {number}/{bench.options.runs} {system.name}: {line}")
    return results(case, values)


def _measure(bench: Bench, system: System, rate: int) -> dict[str, float]:
    with bench.source(0) as source, bench.work(source, hurry=True) as work, system.start(work) as running:
        pacer = Pacer(work.servers, source, rate)
        pacer.start()
        try:
            running.await_(lambda: bench.topics.size(work.sink) > 0, "the first record", _START_TIMEOUT)
            time.sleep(min(_WARM_UP, bench.options.seconds))
            first, cpu, started = pacer.sent, total_cpu_seconds(running.token), time.monotonic()
            time.sleep(bench.options.seconds)
            cpu = (total_cpu_seconds(running.token) - cpu) / (time.monotonic() - started)
            memory = proportional_mb(running.token)
        finally:
            sent = pacer.end()
        running.await_(lambda: bench.topics.size(work.sink) >= sent, "the last record", _DRAIN_TIMEOUT)
        running.settle()
        running.stop()
        delivered = bench.topics.read([work.sink], sent, latencies_from=first)
    check(system.name, delivered)
    measured = delivered.latencies_ms
    return {
        "latency_p50_ms": percentile(measured, 0.5),
        "latency_p99_ms": percentile(measured, 0.99),
        "latency_max_ms": max(measured),
        "latency_cpu_percent": 100 * cpu,
        "latency_pss_mb": memory,
    }
