"""What `GET /metrics` exposes: every metric with its type, its labels and what it means.

Labels name pipelines, sources, channels, hosts, states and rules, never partitions or runs, so that the number of
series grows with the definitions alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class MetricType(StrEnum):
    """Types of Prometheus."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    INFO = "info"


_SUFFIXES = {
    MetricType.COUNTER: ("_total",),
    MetricType.GAUGE: ("",),
    MetricType.HISTOGRAM: ("_bucket", "_sum", "_count"),
    MetricType.INFO: ("_info",),
}


@dataclass(frozen=True)
class Metric:
    """One metric. `name` is without the suffixes that its type adds."""

    name: str
    type: MetricType
    labels: tuple[str, ...]
    help: str

    @property
    def series(self) -> dict[str, frozenset[str]]:
        """The names that queries use, each with its labels."""
        own = frozenset(self.labels)
        return {f"{self.name}{suffix}": own | {"le"} if suffix == "_bucket" else own for suffix in _SUFFIXES[self.type]}


_CHANNEL = ("pipeline", "source", "channel")
_PIPELINE = ("pipeline",)
_HOST = ("host",)


def _counter(name: str, labels: tuple[str, ...], text: str) -> Metric:
    return Metric(f"headgate_{name}", MetricType.COUNTER, labels, text)


def _gauge(name: str, labels: tuple[str, ...], text: str) -> Metric:
    return Metric(f"headgate_{name}", MetricType.GAUGE, labels, text)


RECORDS = {
    "read": _counter("channel_records_read", _CHANNEL, "Records that finished batches read from the source."),
    "added": _counter("channel_records_added", _CHANNEL, "Records that interceptors added."),
    "delivered": _counter("channel_records_delivered", _CHANNEL, "Records that a sink acknowledged."),
    "routed_elsewhere": _counter(
        "channel_records_routed_elsewhere", _CHANNEL, "Records that the selector sent to other channels only."
    ),
    "filtered": _counter("channel_records_filtered", _CHANNEL, "Records that interceptors dropped."),
    "unrouted": _counter("channel_records_unrouted", _CHANNEL, "Records that the selector sent to no channel."),
    "dead_lettered": _counter("channel_records_dead_lettered", _CHANNEL, "Records that became dead letters."),
    "dropped_optional": _counter(
        "channel_records_dropped", _CHANNEL, "Records that an optional channel did not deliver."
    ),
    "duplicates_max": _counter(
        "channel_possible_duplicates",
        _CHANNEL,
        "Upper bound of records that sinks hold twice, of finished and aborted batches.",
    ),
    "gaps": _counter("channel_records_skipped", _CHANNEL, "Records skipped between two batches."),
    "overlaps": _counter("channel_records_reread", _CHANNEL, "Records read again between two batches."),
    "batches": _counter("channel_batches", _CHANNEL, "Batches that the sinks acknowledged."),
}
"""Counters by the column of the ledger's running totals."""

DELIVERED_BYTES = _counter(
    "channel_bytes_delivered",
    _CHANNEL,
    "Bytes of the bodies that a sink acknowledged. Absent while none are counted.",
)
COMPONENT_RECORDS = _counter(
    "channel_component_records",
    (*_CHANNEL, "component", "outcome"),
    "Records by the component that decided their outcome, counted in the revision that ran last.",
)
"""`component` is a path in the definition, `outcome` one of the five counters that components decide."""

BATCH_DURATION = Metric(
    "headgate_channel_batch_duration_seconds",
    MetricType.HISTOGRAM,
    _CHANNEL,
    "Time from the plan of a batch to the acknowledgement of its sinks.",
)
OPEN_BATCHES = _gauge("channel_open_batches", _CHANNEL, "In-flight batches. Absent without one.")
LEDGER_BALANCED = _gauge(
    "channel_ledger_balanced",
    _CHANNEL,
    "1 if every record of the channel has one verdict and none was skipped or read again between batches, else 0.",
)
LAG_RECORDS = _gauge(
    "channel_lag_records", _CHANNEL, "Records that wait in the source, measured once a minute. Absent if unknown."
)
LAG_SECONDS = _gauge(
    "channel_lag_seconds", _CHANNEL, "Age of the oldest record that waits in the source. Absent if unknown."
)

PIPELINE = Metric(
    "headgate_pipeline", MetricType.INFO, ("pipeline", "host"), "The host of a pipeline; empty before its first start."
)
PHASE = _gauge("pipeline_phase", ("pipeline", "phase"), "1 for the present phase of the pipeline, 0 for the others.")
DESIRED_STATE = _gauge(
    "pipeline_desired_state",
    ("pipeline", "desired_state"),
    "1 for the pipeline's desired state, 0 for the others.",
)
SUPERVISED = _gauge(
    "pipeline_supervised", _PIPELINE, "1 if the supervisor of the pipeline's host reported within 5 s, else 0."
)
RESTARTS = _counter("pipeline_restarts", _PIPELINE, "Automatic restarts after runs that ended by themselves.")
RESTARTS_IN_A_ROW = _gauge(
    "pipeline_restarts_in_a_row", _PIPELINE, "Automatic restarts since the pipeline was stable last."
)
POSITIONS_SAFE = _gauge(
    "pipeline_positions_safe", _PIPELINE, "1 if the positions are safe, 0 if not. Absent if unknown."
)
OUTPUT_USUAL = _gauge(
    "pipeline_output_usual",
    _PIPELINE,
    "1 if what the pipeline delivers of what it reads is as usual, 0 if not. Absent if it cannot be checked.",
)
FINDINGS = _gauge("pipeline_findings", _PIPELINE, "Findings that refused the last start.")
POSITION_FINDINGS = _gauge("pipeline_position_findings", _PIPELINE, "Those of them that are about positions.")
MIGRATION_STAGE = _gauge(
    "migration_stage",
    ("pipeline", "stage"),
    "1 for the present stage of the pipeline's open migration, 0 for the others. Absent without an open migration.",
)
ALERTS = _gauge(
    "alerts_active",
    ("pipeline", "rule", "state"),
    "Alerts whose cause persists. The pipeline is empty for alerts about hosts and other things.",
)

HOST_SUPERVISED = _gauge("host_supervised", _HOST, "1 if the supervisor of the host reported within 5 s, else 0.")
HOST_SEEN = _gauge("host_last_seen_timestamp_seconds", _HOST, "When the supervisor of the host reported last.")
TICK_DURATION = _gauge("supervisor_tick_duration_seconds", _HOST, "Duration of the supervisor's last tick.")
HOST_SLOTS = _gauge("host_slots", _HOST, "The most agents of the host. Absent without a limit.")
HOST_SLOTS_USED = _gauge("host_slots_used", _HOST, "Agents that run on the host or are to be started there.")
BROKER_CONNECTION = _gauge(
    "host_broker_connection_healthy", _HOST, "1 if messages reach the worker of the host, 0 if not. Absent if unknown."
)
SPANS_EXPORTED = _counter("trace_spans_exported", _HOST, "Spans that the worker of the host has exported.")
SPANS_DROPPED = _counter("trace_spans_dropped", _HOST, "Spans that the collector did not take within an hour.")

DELIVERIES = _gauge("receiver_deliveries_pending", (), "Deliveries of receivers that wait or are being sent.")
OLDEST_DELIVERY = _gauge(
    "receiver_oldest_pending_delivery_seconds", (), "Age of the oldest delivery that is pending; 0 without one."
)
FAILING_RECEIVERS = _gauge("receivers_failing", (), "Enabled receivers whose last attempt failed.")
AUDIT_UNSEALED = _gauge("audit_unsealed_rows", (), "Rows of the audit that wait to be sealed.")
AUDIT_CHAIN_HOLDS = _gauge(
    "audit_chain_holds", (), "1 if the last verification of the audit's chain found nothing, else 0. Absent before it."
)
AUDIT_BEHIND = _gauge(
    "audit_forwarding_behind_rows", ("destination",), "Sealed rows of the audit that have not arrived at the receiver."
)
REDIS_UP = _gauge("redis_up", (), "1 if Redis answers the web server, else 0.")
BUILD = Metric("headgate_build", MetricType.INFO, ("version",), "The version of the web server.")

GROUPS: dict[str, tuple[Metric, ...]] = {
    "Channels": (
        *RECORDS.values(),
        DELIVERED_BYTES,
        COMPONENT_RECORDS,
        BATCH_DURATION,
        OPEN_BATCHES,
        LEDGER_BALANCED,
        LAG_RECORDS,
        LAG_SECONDS,
    ),
    "Pipelines": (
        PIPELINE,
        PHASE,
        DESIRED_STATE,
        SUPERVISED,
        RESTARTS,
        RESTARTS_IN_A_ROW,
        POSITIONS_SAFE,
        OUTPUT_USUAL,
        FINDINGS,
        POSITION_FINDINGS,
        MIGRATION_STAGE,
        ALERTS,
    ),
    "Hosts": (
        HOST_SUPERVISED,
        HOST_SEEN,
        TICK_DURATION,
        HOST_SLOTS,
        HOST_SLOTS_USED,
        BROKER_CONNECTION,
        SPANS_EXPORTED,
        SPANS_DROPPED,
    ),
    "Audit": (AUDIT_UNSEALED, AUDIT_CHAIN_HOLDS, AUDIT_BEHIND),
    "Queues and the web server": (DELIVERIES, OLDEST_DELIVERY, FAILING_RECEIVERS, REDIS_UP, BUILD),
}
"""Every metric, as the reference lists them."""

METRICS = tuple(metric for group in GROUPS.values() for metric in group)
