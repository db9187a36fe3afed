"""Throughput: a topic is full, and every system moves all of it, by turns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench.bench import Bench, Values, check, results
from bench.cases import latency
from bench.figures import Result, steady_rate
from bench.records import PATTERN, SHOP_HEADER, SHOPS
from bench.systems.base import Failed, System, Work
from bench.systems.connect import Connect
from bench.systems.flume import Flume
from bench.systems.headgate import EVENTS_PER_BATCH, INTERCEPTOR, Headgate, kafka_sink
from bench.usage import Sampler, total_cpu_seconds

SMALL, LARGE = 2_000_000, 8_000_000
WARM_UP = 200_000
_ROOM = {"capacity": EVENTS_PER_BATCH, "transaction_capacity": EVENTS_PER_BATCH}
_START_TIMEOUT = 120.0
_SLOWEST = 20_000  # records per second that no system stays below


def kafka_to_kafka(bench: Bench) -> list[Result]:
    """All systems, two sizes, and the latency at 100 records a second: what the README shows."""
    systems = bench.able("kafka_to_kafka", [Headgate(), Headgate("real_time"), Flume(), Connect()])
    measured = []
    for count in bench.options.sizes(SMALL, LARGE):
        case = "kafka_to_kafka_2m" if count == SMALL else "kafka_to_kafka"
        measured += compare(bench, case, systems, count)
    return measured + latency.at_rate(bench, "kafka_to_kafka", systems, 100)


def failover_group(bench: Bench) -> list[Result]:
    """A sink group of two topics of which the first is always there: what the processor costs."""
    group = {"sinks": ["out", "spare"], "processor": {"type": "failover", "priorities": {"out": 10, "spare": 5}}}
    return _headgate(
        bench,
        "failover_group",
        lambda work: {
            "sinks": {"out": kafka_sink(work, work.sink), "spare": kafka_sink(work, work.more("spare"))},
            "sink_groups": {"pair": group},
        },
        more=["spare"],
    )


def multiplexing_3(bench: Bench) -> list[Result]:
    """Three channels with a topic each, chosen by a header: each with a read of its own, and all in one pass."""
    systems = bench.able("multiplexing_3", [_multiplexing("direct"), _multiplexing("memory", **_ROOM)])
    (count,) = bench.options.sizes(SMALL)
    return compare(bench, "multiplexing_3", systems, count, more=SHOPS)


def _multiplexing(channel: str, **more: int) -> Headgate:
    selector = {"type": "multiplexing", "header": SHOP_HEADER, "mapping": {shop: [shop] for shop in SHOPS}}

    def graph(work: Work) -> dict[str, Any]:
        return {
            "selector": selector,
            "channels": {shop: {"type": channel, **more} for shop in SHOPS},
            "sinks": {shop: kafka_sink(work, work.more(shop), shop) for shop in SHOPS},
        }

    return Headgate(graph=graph, variant=channel)


def python_interceptor(bench: Bench) -> list[Result]:
    """Parse JSON, add a field, dump, for every record, in Python."""
    python = {"type": "python", "class": INTERCEPTOR, "on_error": "fail"}
    return _headgate(
        bench,
        "python_interceptor",
        lambda work: {
            "interceptors": [{"type": "timestamp"}, {"type": "regex_filter", "regex": PATTERN}, python],
        },
    )


def sql_interceptor(bench: Bench) -> list[Result]:
    """The same work by patterns and in SQL, by turns: a filter, and a filter with a header out of the body."""
    pattern = {"type": "regex_filter", "regex": PATTERN}
    extractor = {"type": "regex_extractor", "regex": r'"amount":(\d+)', "serializers": [{"name": "amount"}]}
    fields = {"schema": "n STRING, amount BIGINT", "where": "json.amount > 0", "set": {"headers.amount": "json.amount"}}
    variants: dict[str, list[dict[str, Any]]] = {
        "regex_filter": [pattern],
        "sql_pattern": [{"type": "sql", "where": f"body RLIKE r'{PATTERN}'"}],
        "regex_extractor": [pattern, extractor],
        "sql_get": [{"type": "sql", "set": {"headers.amount": "get_json_object(body, '$.amount')"}}],
        "sql_fields": [{"type": "sql", **fields}],
    }
    systems = [
        Headgate(graph=lambda _, own=own: {"interceptors": [{"type": "timestamp"}, *own]}, variant=name)  # type: ignore[misc]
        for name, own in variants.items()
    ]
    (count,) = bench.options.sizes(SMALL)
    return compare(bench, "sql_interceptor", bench.able("sql_interceptor", systems), count)


def kafka_clients(bench: Bench) -> list[Result]:
    """Settings of the Kafka clients, one changed at a time: how the producer fills its batches and compresses them, and
    how much the consumer fetches at once."""
    fetch = {"max.partition.fetch.bytes": 8 * 2**20, "fetch.max.bytes": 64 * 2**20}
    systems = [
        _clients("as_above"),
        _clients("kafkas_batch_size", options={}),
        _clients("no_linger", linger_ms=0),
        _clients("long_linger", linger_ms=100),
        _clients("zstd", compression="zstd"),
        _clients("uncompressed", compression="none"),
        _clients("large_fetches", source=fetch),
        _clients("patient_fetches", source={"fetch.min.bytes": 2**20}),
    ]
    (count,) = bench.options.sizes(SMALL)
    return compare(bench, "kafka_clients", bench.able("kafka_clients", systems), count)


def _clients(variant: str, source: Mapping[str, int] | None = None, **sink: Any) -> Headgate:
    return Headgate(
        graph=lambda work: {"options": dict(source or {}), "sinks": {"out": kafka_sink(work, work.sink) | sink}},
        variant=variant,
    )


def _headgate(
    bench: Bench, case: str, graph: Callable[[Work], Mapping[str, Any]], more: Sequence[str] = ()
) -> list[Result]:
    """One case that Headgate runs alone, beside the plain pipeline in the same run of this program."""
    if not (systems := bench.able(case, [Headgate(graph=graph)])):
        return []
    (count,) = bench.options.sizes(SMALL)
    return compare(bench, case, systems, count, more=more)


def compare(
    bench: Bench, case: str, systems: Sequence[System], count: int, *, more: Sequence[str] = ()
) -> list[Result]:
    """All systems by turns, after a warm-up of each. `more`: further sink topics of the work.

    Raises Failed where one stops, is too slow, or does not deliver every record exactly once.
    """
    values: Values = {}
    bench.records[case] = count
    with_shop = tuple(more) == SHOPS
    with bench.source(min(count, WARM_UP), with_shop=with_shop) as source:
        for system in systems:
            measure(bench, system, source, min(count, WARM_UP), more)
    with bench.source(count, with_shop=with_shop) as source:
        for number in range(1, bench.options.runs + 1):
            for system in systems:
                found = _measure_peer_again(bench, case, system, source, count, more)
                for metric, value in found.items():
                    values.setdefault((system.name, metric), []).append(value)
                bench.say(f"  {case} {number}/{bench.options.runs} {system.name}: {_line(found)}")
    return results(case, values)


def measure(bench: Bench, system: System, source: str, count: int, more: Sequence[str] = ()) -> dict[str, float]:
    with bench.work(source, more=more) as work, system.start(work) as running:
        sinks = [work.sink, *(work.more(name) for name in more)]
        with Sampler(running.token) as usage:
            running.await_(
                lambda: bench.topics.size(*sinks) >= count, f"{count:,} records", _START_TIMEOUT + count / _SLOWEST
            )
            cpu = total_cpu_seconds(running.token)
        running.settle()
        running.stop()
        delivered = bench.topics.read(sinks, count)
        check(system.name, delivered)
        return {
            "steady_records_per_second": steady_rate(delivered.arrivals),
            "wall_seconds": max(delivered.arrivals) / 1000 - running.started_at,
            "cpu_seconds_per_million": cpu / count * 1e6,
            "peak_rss_mb": usage.peak_rss_mb,
        }


def _measure_peer_again(
    bench: Bench, case: str, system: System, source: str, count: int, more: Sequence[str]
) -> dict[str, float]:
    """Measure; a peer that is not exact gets a second chance, which the report tells. Headgate gets none."""
    try:
        return measure(bench, system, source, count, more)
    except Failed as error:
        if isinstance(system, Headgate):
            raise
        bench.skip(case, f"one run of {system.name} was measured again: {str(error).splitlines()[0]}")
        return measure(bench, system, source, count, more)


def _line(found: Mapping[str, float]) -> str:
    return ", ".join(f"{metric} {value:,.1f}" for metric, value in found.items())
