"""What Headgate wants to reach, as ratios and limits within one report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Lookup = Mapping[tuple[str, str, str], float]
"""Medians by (case, system, metric)."""

MICRO, REAL_TIME, FLUME, CONNECT = "headgate_micro_batch", "headgate_real_time", "flume", "connect"
_MAIN, _RECOVERY = "kafka_to_kafka", "recovery"
_FEW = "small_batches_100"
_AGENT = "agent_recovery_seconds"


@dataclass(frozen=True)
class Verdict:
    """A target against a report; `reached` is None where something for it was not measured."""

    wanted: str
    measured: str
    reached: bool | None

    @property
    def word(self) -> str:
        """For the table."""
        return {True: "yes", False: "no", None: "not measured"}[self.reached]


@dataclass(frozen=True)
class Target:
    """`value` and `limit` are computed from the medians; a KeyError in either means that something is missing."""

    words: str
    value: Callable[[Lookup], float]
    limit: Callable[[Lookup], float]
    at_least: bool = False

    def verdict(self, medians: Lookup) -> Verdict:
        """Compare; the limit itself counts as reached."""
        sign = "≥" if self.at_least else "≤"
        value, limit = _found(self.value, medians), _found(self.limit, medians)
        wanted = "" if limit is None else f"{sign} {short(limit)}"
        if value is None or limit is None:
            return Verdict(wanted, "" if value is None else short(value), None)
        return Verdict(wanted, short(value), value >= limit if self.at_least else value <= limit)


def short(value: float) -> str:
    """A figure as people read it: whole and grouped from a thousand on."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _found(probe: Callable[[Lookup], float], medians: Lookup) -> float | None:
    try:
        return probe(medians)
    except KeyError:
        return None


def _of(case: str, system: str, metric: str) -> Callable[[Lookup], float]:
    return lambda medians: medians[case, system, metric]


def _fixed(limit: float) -> Callable[[Lookup], float]:
    return lambda medians: limit


def _times(factor: float, base: Callable[[Lookup], float]) -> Callable[[Lookup], float]:
    return lambda medians: factor * base(medians)


def _better_peer(medians: Lookup) -> float:
    return max(medians[_MAIN, peer, "steady_records_per_second"] for peer in (FLUME, CONNECT))


def limit(words: str, case: str, system: str, metric: str, value: float, *, at_least: bool = False) -> Target:
    """A target with a fixed limit."""
    return Target(words, _of(case, system, metric), _fixed(value), at_least)


_RATE = _of(_MAIN, MICRO, "steady_records_per_second")
_CPU = _of(_MAIN, MICRO, "cpu_seconds_per_million")

TARGETS = [
    Target("steady records/s, micro-batch, against the better peer", _RATE, _better_peer, at_least=True),
    Target("the same, aim: 1.25 times", _RATE, _times(1.25, _better_peer), at_least=True),
    Target("CPU seconds per million, against Connect", _CPU, _of(_MAIN, CONNECT, "cpu_seconds_per_million")),
    Target(
        "CPU seconds per million, against 1.2 times Flume",
        _CPU,
        _times(1.2, _of(_MAIN, FLUME, "cpu_seconds_per_million")),
    ),
    limit("p50 at 100 records/s, micro-batch, ms", _MAIN, MICRO, "latency_p50_ms", 100),
    limit("the same, aim", _MAIN, MICRO, "latency_p50_ms", 60),
    limit("p99 at 100 records/s, micro-batch, ms", _MAIN, MICRO, "latency_p99_ms", 250),
    limit("the same, aim", _MAIN, MICRO, "latency_p99_ms", 150),
    limit("p50 at 100 records/s, real-time, ms", _MAIN, REAL_TIME, "latency_p50_ms", 2),
    limit("p99 at 100 records/s, real-time, ms", _MAIN, REAL_TIME, "latency_p99_ms", 10),
    Target(
        "p50, real-time, against Connect, ms",
        _of(_MAIN, REAL_TIME, "latency_p50_ms"),
        _of(_MAIN, CONNECT, "latency_p50_ms"),
    ),
    Target(
        "p99, real-time, against Connect, ms",
        _of(_MAIN, REAL_TIME, "latency_p99_ms"),
        _of(_MAIN, CONNECT, "latency_p99_ms"),
    ),
    limit(
        "Python interceptor, records/s once warm",
        "python_interceptor",
        MICRO,
        "steady_records_per_second",
        110_000,
        at_least=True,
    ),
    limit("price of the ledger, %", "ledger", MICRO, "ledger_cost_percent", 3),
    limit("cost of counts by component and bytes, %", "ledger", MICRO, "counts_cost_percent", 1),
    limit("idle agent, % of a core", "idle", MICRO, "idle_cpu_percent", 2),
    limit("idle agent, MB (PSS)", "idle", MICRO, "idle_pss_mb", 500),
    limit("CPU at 100 records/s within 500 ms, % of a core", _FEW, "target_latency", "latency_cpu_percent", 25),
    limit("the same, small profile, % of a core", _FEW, "small", "latency_cpu_percent", 25),
    limit("p99 at 100 records/s within 500 ms, ms", _FEW, "target_latency", "latency_p99_ms", 500),
    limit("16 idle agents side by side, % of a core", "density", MICRO, "idle_cpu_percent", 35),
    limit("16 idle agents side by side, MB (PSS)", "density", MICRO, "idle_pss_mb", 4500),
    limit("process start to first record, s", "start", MICRO, "start_to_first_record_seconds", 3.5),
    limit("recovery after a kill of the JVM, s", _RECOVERY, MICRO, "jvm_recovery_seconds", 3),
    limit("recovery after a kill of the driver, s", _RECOVERY, MICRO, "driver_recovery_seconds", 5),
    limit("recovery after a kill of the keeper, s", _RECOVERY, MICRO, "keeper_recovery_seconds", 5),
    limit("recovery after a kill of the whole agent, s", _RECOVERY, MICRO, "agent_recovery_seconds", 5),
    *(
        Target(f"the same, against {peer}, s", _of(_RECOVERY, MICRO, _AGENT), _of(_RECOVERY, name, _AGENT))
        for peer, name in (("Flume", FLUME), ("Connect", CONNECT))
    ),
    limit("recovery of a whole agent with a warm standby, s", _RECOVERY, MICRO, "standby_recovery_seconds", 2),
]
