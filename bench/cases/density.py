"""Density: small pipelines side by side on one host, each with an agent of its own, first idle, then with a little to
do."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from bench.bench import Bench, Values, check, results
from bench.figures import Result, percentile
from bench.systems.base import Work
from bench.systems.headgate import Agent, Headgate
from bench.topics import Pacer
from bench.usage import private_mb, proportional_mb, total_cpu_seconds

AGENTS = 16
RATE = 10
"""Records a second of each, in the second part."""
_QUIET = Headgate(delivery={"target_latency": "500ms"}, launcher={"jvm_profile": "small"})
"""What one defines who has many pipelines with little to do."""
_BEFORE_RATE = 1_000
_BEFORE = 4.0  # seconds at that rate, before its rest is measured
_REST = 20.0  # seconds until agents have given memory back
_WARM_UP = 10.0
_TIMEOUT = 120.0


@dataclass
class _Beside:
    """One of the agents, its work, and how many records it was sent."""

    agent: Agent
    work: Work
    source: str
    sent: int = 0


def density(bench: Bench) -> list[Result]:
    """Memory, CPU and latency of all agents together. Raises Failed where one of them misses or doubles a record."""
    values: Values = {}
    for number in range(1, bench.options.runs + 1):
        for system in bench.able("density", [_QUIET]):
            with _side_by_side(bench, system) as beside:
                found = _measured(bench, system, beside)
            for metric, value in found.items():
                values.setdefault((system.name, metric), []).append(value)
            line = ", ".join(f"{metric} {value:,.1f}" for metric, value in found.items())
            bench.say(f"  density {number}/{bench.options.runs} {system.name}: {line}")
    return results("density", values)


@contextmanager
def _side_by_side(bench: Bench, system: Headgate) -> Iterator[list[_Beside]]:
    """Agents that have moved some records, started one after the other."""
    with ExitStack() as stack:
        made: list[_Beside] = []
        for _ in range(AGENTS):
            source = stack.enter_context(bench.source(0))
            work = stack.enter_context(bench.work(source, hurry=True))
            made.append(_Beside(stack.enter_context(system.start(work)), work, source))
            _feed(bench, made[-1:], _BEFORE_RATE, _BEFORE)
        yield made


def _feed(bench: Bench, beside: Sequence[_Beside], rate: int, seconds: float) -> None:
    """Send each of them so many records a second, and wait until all have come."""
    pacers = [Pacer(each.work.servers, each.source, rate, each.sent) for each in beside]
    for pacer in pacers:
        pacer.start()
    time.sleep(seconds)
    for each, pacer in zip(beside, pacers, strict=True):
        each.sent = pacer.end()
    for each in beside:
        _arrived(bench, each)


def _arrived(bench: Bench, each: _Beside) -> None:
    each.agent.await_(lambda: bench.topics.size(each.work.sink) >= each.sent, "the last record", _TIMEOUT)


def _measured(bench: Bench, system: Headgate, beside: list[_Beside]) -> dict[str, float]:
    time.sleep(_REST)
    idle = _share(beside, lambda: time.sleep(bench.options.seconds))
    memory = [sum(of(each.agent.token) for each in beside) for of in (proportional_mb, private_mb)]
    _feed(bench, beside, RATE, _WARM_UP)
    first = [each.sent for each in beside]
    busy = _share(beside, lambda: _feed(bench, beside, RATE, bench.options.seconds))
    latencies: list[float] = []
    for each, begun in zip(beside, first, strict=True):
        each.agent.stop()
        delivered = bench.topics.read([each.work.sink], each.sent, latencies_from=begun)
        check(system.name, delivered)
        latencies += delivered.latencies_ms
    return {
        "idle_cpu_percent": idle,
        "idle_pss_mb": memory[0],
        "idle_private_mb": memory[1],
        "busy_cpu_percent": busy,
        "latency_p50_ms": percentile(latencies, 0.5),
        "latency_p99_ms": percentile(latencies, 0.99),
    }


def _share(beside: list[_Beside], act: Callable[[], None]) -> float:
    """Percent of a core that all of them take together meanwhile."""
    before, started = _cpu(beside), time.monotonic()
    act()
    return 100 * (_cpu(beside) - before) / (time.monotonic() - started)


def _cpu(beside: list[_Beside]) -> float:
    return sum(total_cpu_seconds(each.agent.token) for each in beside)
