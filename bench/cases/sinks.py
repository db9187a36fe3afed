"""Sinks that are no topics: Parquet files, and a PostgreSQL that lives as long as the case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from bench import postgres
from bench.bench import Bench, Values, check, results
from bench.cases.throughput import SMALL, WARM_UP
from bench.figures import Result, steady_rate
from bench.records import Delivered
from bench.systems.base import Work
from bench.systems.headgate import Headgate
from bench.usage import Sampler, total_cpu_seconds

_BATCHES = 16  # so that the second half is several
_TIMEOUT = 600.0
ReadBack = Callable[[Work, Delivered], None]


def parquet_sink(bench: Bench) -> list[Result]:
    """Kafka to Parquet files in a local directory."""
    return _compare(bench, "parquet_sink", parquet, _read_parquet)


def parquet(work: Work) -> dict[str, Any]:
    """The sink of the case."""
    directory = str(work.directory / "out")
    return {"type": "file", "channel": "out", "path": directory, "format": "parquet", "roll": {"interval": 0}}


def postgres_sink(bench: Bench) -> list[Result]:
    """Kafka to one table."""
    if missing := postgres.missing():
        bench.skip("postgres_sink", missing)
        return []
    with postgres.running(bench.directory) as server:
        return _compare(
            bench,
            "postgres_sink",
            lambda work: {"type": "postgres", "channel": "out", "dsn": server.dsn, "table": postgres.TABLE},
            lambda work, delivered: server.read(delivered),
            server.empty,
        )


def _compare(
    bench: Bench,
    case: str,
    sink: Callable[[Work], Mapping[str, Any]],
    read: ReadBack,
    prepare: Callable[[], None] = lambda: None,
) -> list[Result]:
    (count,) = bench.options.sizes(SMALL)
    bench.records[case] = count

    def system(count: int) -> Headgate:
        delivery = {"trigger_interval_ms": 0, "max_events_per_batch": max(1000, count // _BATCHES)}
        return Headgate(graph=lambda work: {"sinks": {"out": sink(work)}, "delivery": delivery})

    if not bench.able(case, [system(count)]):
        return []
    values: Values = {}
    for number, size in enumerate([min(count, WARM_UP), *[count] * bench.options.runs]):
        prepare()
        for metric, value in _measure(bench, system(size), size, read).items():
            if number:
                values.setdefault((system(size).name, metric), []).append(value)
        if number:
            rate = values[system(size).name, "steady_records_per_second"][-1]
            bench.say(f"  {case} {number}/{bench.options.runs}: {rate:,.0f} records/s")
    return results(case, values)


def _measure(bench: Bench, system: Headgate, count: int, read: ReadBack) -> dict[str, float]:
    """Arrivals are the agent's own `done` entries here: files and tables have no log with a clock."""
    with bench.source(count) as source, bench.work(source) as work, system.start(work) as agent:
        with Sampler(agent.token) as usage:
            agent.await_(lambda: sum(read for _, read in agent.done()) >= count, f"{count:,} records", _TIMEOUT)
            cpu = total_cpu_seconds(agent.token)
        done = agent.done()
        agent.stop()
        delivered = Delivered(count)
        read(work, delivered)
        check(system.name, delivered)
        arrivals: Counter[int] = Counter()
        for at, events in done:
            arrivals[round(at * 1000)] += events
        return {
            "steady_records_per_second": steady_rate(arrivals),
            "wall_seconds": max(arrivals) / 1000 - agent.started_at,
            "cpu_seconds_per_million": cpu / count * 1e6,
            "peak_rss_mb": usage.peak_rss_mb,
        }


def _read_parquet(work: Work, delivered: Delivered) -> None:
    import pyarrow.dataset as ds

    files = [str(path) for path in sorted((work.directory / "out").rglob("*.parquet")) if _visible(path.parts)]
    for batch in ds.dataset(files, format="parquet").to_batches(columns=["body"]):
        for value in batch.column("body").to_pylist():
            delivered.add(value.encode() if isinstance(value, str) else value, 0)


def _visible(parts: tuple[str, ...]) -> bool:
    return not any(part.startswith((".", "_")) for part in parts)
