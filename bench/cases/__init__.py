"""The cases: what is measured, in the order of the report. A case takes a Bench and gives its results."""

from __future__ import annotations

from collections.abc import Callable

from bench.bench import Bench
from bench.cases import agent, density, latency, ledger, recovery, sinks, start, throughput
from bench.figures import Result

CASES: dict[str, Callable[[Bench], list[Result]]] = {
    "kafka_to_kafka": throughput.kafka_to_kafka,
    "latency": latency.latency,
    "small_batches": latency.small_batches,
    "start": start.start,
    "recovery": recovery.recovery,
    "pause_resume": agent.pause_resume,
    "idle": agent.idle,
    "density": density.density,
    "ledger": ledger.ledger,
    "kafka_clients": throughput.kafka_clients,
    "failover_group": throughput.failover_group,
    "multiplexing_3": throughput.multiplexing_3,
    "python_interceptor": throughput.python_interceptor,
    "sql_interceptor": throughput.sql_interceptor,
    "parquet_sink": sinks.parquet_sink,
    "postgres_sink": sinks.postgres_sink,
}

RUNS = {"recovery": 5}
"""How often a case repeats where that is not what the others do."""
