"""`GET /metrics`: the state of everything, for Prometheus and what reads its format.

Every figure comes from the database with each request, so it is the same whichever web server answers, and a restart
loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from importlib.metadata import version
from ipaddress import IPv6Address
from typing import Any

from django.conf import settings
from django.db import Error as DatabaseError
from django.http import HttpResponse
from django.utils.cache import patch_vary_headers
from drf_spectacular.utils import extend_schema
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, choose_encoder, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import View
from pipelines.api.http.permissions import CLOSED, RolePermission
from pipelines.domain.base.addresses import address_of
from pipelines.domain.base.states import DesiredState, MigrationStage, Phase
from pipelines.domain.ledger.ledger import COUNTERS, Counts
from pipelines.domain.ledger.totals import cumulative
from pipelines.domain.monitoring import metrics
from pipelines.domain.monitoring.metrics import Metric, MetricType
from pipelines.foundation import dispatch
from pipelines.foundation.errors import HeadgateError
from pipelines.selectors.access.audit import audit_metrics
from pipelines.selectors.access.schemas import AuditMetricsSchema
from pipelines.selectors.hosts.capacity import host_metrics
from pipelines.selectors.hosts.schemas import HostMetricsSchema
from pipelines.selectors.monitoring.metrics import snapshot
from pipelines.selectors.monitoring.schemas import ChannelMetricsSchema, ComponentMetricsSchema, MetricsSchema

Encoder = Callable[[Any], bytes]
Row = tuple[Sequence[str], Any]
"""Values of the labels, and that of the series; None: there is no such series."""


class DatabaseAway(HeadgateError):
    """Without the database nothing is known, and what was known before is not repeated."""

    status = 503
    code = "database_unavailable"
    title = "The database does not answer"


class AnyAccepted(BaseContentNegotiation):
    """Errors are JSON whatever is asked for; the formats of metrics are negotiated by their own library."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """The only one."""
        renderer = next(iter(renderers))
        return renderer, str(renderer.media_type)


class NetworkOrRole(RolePermission):
    """Clients of the networks that the settings name, and users with a role in every team."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Whether the address or the role allows it."""
        return super().has_permission(request, view) or _is_listed(str(request.META.get("REMOTE_ADDR") or ""))


def _is_listed(text: str) -> bool:
    """Whether an address is in a network of HEADGATE_METRICS_NETWORKS; one that carries an IPv4 address is that."""
    address = address_of(text)
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return address is not None and any(address in network for network in settings.HEADGATE.metrics_networks)


class Metrics(View):
    """What monitoring systems scrape: figures of every team."""

    scope = CLOSED
    permission_classes = [NetworkOrRole]
    content_negotiation_class = AnyAccepted

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        """All metrics, in the text format of Prometheus or as OpenMetrics."""
        encode, content_type = _encoder(request.headers.get("Accept", ""))
        return HttpResponse(encode(collector()), content_type=content_type)

    def handle_exception(self, exc: Exception) -> Response:
        """A database that is away is no defect of the server."""
        if isinstance(exc, DatabaseError):
            hint = "GET /readyz says when it is back."
            exc = DatabaseAway("The database does not answer.", hint=hint, retry_after=5)
        return super().handle_exception(exc)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """No cache keeps an answer."""
        answered = super().finalize_response(request, response, *args, **kwargs)
        answered.headers["Cache-Control"] = "no-store"
        patch_vary_headers(answered, ["Accept"])
        return answered


def _encoder(accept: str) -> tuple[Encoder, str]:
    """The format for an Accept header; the plain one where its versions are no numbers."""
    try:
        return choose_encoder(accept)
    except TypeError:
        return generate_latest, CONTENT_TYPE_PLAIN_0_0_4


def collector() -> MetricsCollector:
    """Everything as it is now. All of it is read before the first line is written."""
    environment = settings.HEADGATE
    audit = audit_metrics(environment.signer.public, environment.audit_destinations)
    return MetricsCollector(snapshot(), host_metrics(), audit, _redis_answers(), version("headgate"))


def _redis_answers() -> bool:
    try:
        return bool(dispatch.event_stream().ping())
    except Exception:  # whatever the client raises, the answer is no
        return False


class MetricsCollector(Collector):
    """Metrics of one request, for the encoders of `prometheus_client`."""

    def __init__(
        self,
        found: MetricsSchema,
        hosts: Sequence[HostMetricsSchema],
        audit: AuditMetricsSchema,
        redis: bool,
        build: str,
    ) -> None:
        self.found = found
        self.hosts = hosts
        self.audit = audit
        self.redis = redis
        self.build = build

    def collect(self) -> Iterator[Family]:
        """Every family, with the series that there are."""
        yield from self._channels()
        yield from self._pipelines()
        yield from self._hosts()
        yield from self._rest()

    def _channels(self) -> Iterator[Family]:
        channels = [((each.pipeline, each.source, each.channel), each) for each in self.found.channels]
        for column, metric in metrics.RECORDS.items():
            yield family(metric, ((labels, each.totals[column]) for labels, each in channels))
        yield family(metrics.DELIVERED_BYTES, ((labels, _bytes(each)) for labels, each in channels))
        yield family(metrics.COMPONENT_RECORDS, map(_of_component, self.found.components))
        yield _durations(channels)
        yield family(metrics.OPEN_BATCHES, self.found.open_batches.items())
        yield family(metrics.LEDGER_BALANCED, ((labels, _is_balanced(each)) for labels, each in channels))
        lags = [((each.pipeline, each.source, each.channel), each) for each in self.found.lags]
        yield family(metrics.LAG_RECORDS, ((labels, each.records) for labels, each in lags))
        yield family(metrics.LAG_SECONDS, ((labels, each.seconds) for labels, each in lags))

    def _pipelines(self) -> Iterator[Family]:
        found = self.found.pipelines
        supervised = {each.name: each.supervised for each in self.hosts}
        yield family(metrics.PIPELINE, (((each.name, each.host or ""), 1) for each in found))
        yield family(metrics.PHASE, _states(Phase, {each.name: each.phase for each in found}))
        yield family(metrics.DESIRED_STATE, _states(DesiredState, {each.name: each.desired_state for each in found}))
        yield family(
            metrics.SUPERVISED,
            (((each.name,), each.host is None or supervised.get(each.host, False)) for each in found),
        )
        yield family(metrics.RESTARTS, (((each.name,), each.restarts) for each in found))
        yield family(metrics.RESTARTS_IN_A_ROW, (((each.name,), each.restarts_in_a_row) for each in found))
        yield family(metrics.POSITIONS_SAFE, (((each.name,), each.positions_safe) for each in found))
        yield family(metrics.OUTPUT_USUAL, (((each.name,), each.output_usual) for each in found))
        yield family(metrics.FINDINGS, (((each.name,), each.findings) for each in found))
        yield family(metrics.POSITION_FINDINGS, (((each.name,), each.position_findings) for each in found))
        yield family(metrics.MIGRATION_STAGE, _states(MigrationStage, self.found.migrations))
        yield family(
            metrics.ALERTS, (((each.pipeline, each.rule, each.state), each.number) for each in self.found.alerts)
        )

    def _hosts(self) -> Iterator[Family]:
        hosts = [((each.name,), each) for each in self.hosts]
        seen = ((labels, each.seen_at.timestamp() if each.seen_at else None) for labels, each in hosts)
        yield family(metrics.HOST_SUPERVISED, ((labels, each.supervised) for labels, each in hosts))
        yield family(metrics.HOST_SEEN, seen)
        yield family(metrics.TICK_DURATION, ((labels, each.tick_seconds) for labels, each in hosts))
        yield family(metrics.HOST_SLOTS, ((labels, each.slots) for labels, each in hosts))
        yield family(metrics.HOST_SLOTS_USED, ((labels, each.slots_used) for labels, each in hosts))
        yield family(metrics.BROKER_CONNECTION, ((labels, each.connected) for labels, each in hosts))
        yield family(metrics.SPANS_EXPORTED, ((labels, each.spans_exported) for labels, each in hosts))
        yield family(metrics.SPANS_DROPPED, ((labels, each.spans_dropped) for labels, each in hosts))

    def _rest(self) -> Iterator[Family]:
        yield family(metrics.AUDIT_UNSEALED, [((), self.audit.unsealed)])
        yield family(metrics.AUDIT_CHAIN_HOLDS, [((), self.audit.holds)])
        yield family(metrics.AUDIT_BEHIND, (((name,), rows) for name, rows in self.audit.behind.items()))
        receivers = self.found.receivers
        yield family(metrics.DELIVERIES, [((), receivers.pending)])
        yield family(metrics.OLDEST_DELIVERY, [((), receivers.oldest_seconds)])
        yield family(metrics.FAILING_RECEIVERS, [((), receivers.failing)])
        yield family(metrics.REDIS_UP, [((), self.redis)])
        yield family(metrics.BUILD, [((self.build,), 1)])


def family(metric: Metric, rows: Iterable[Row]) -> Family:
    """A family with the series whose value is known."""
    made = _empty(metric)
    suffix = next(iter(metric.series)).removeprefix(metric.name)
    for labels, value in rows:
        if value is not None:
            made.add_sample(f"{metric.name}{suffix}", dict(zip(metric.labels, labels, strict=True)), float(value))
    return made


def _empty(metric: Metric) -> Family:
    kinds = {MetricType.COUNTER: CounterMetricFamily, MetricType.GAUGE: GaugeMetricFamily}
    kind = kinds.get(metric.type)
    return kind(metric.name, metric.help) if kind else Family(metric.name, metric.help, metric.type.value)


def _durations(channels: Iterable[tuple[tuple[str, str, str], ChannelMetricsSchema]]) -> Family:
    metric = metrics.BATCH_DURATION
    made = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
    for labels, each in channels:
        buckets = [(_bound(bound), float(batches)) for bound, batches in cumulative(each.totals)]
        made.add_metric(labels, buckets, each.totals["milliseconds"] / 1000)
    return made


def _bound(seconds: float) -> str:
    """As the label `le` has it."""
    return str(floatToGoString(seconds))  # type: ignore[no-untyped-call]


def _states(states: type[StrEnum], present: dict[str, Any]) -> Iterator[Row]:
    """One series for each state of each pipeline: 1 for the present one, 0 for the others."""
    for pipeline, current in present.items():
        for state in states:
            yield (pipeline, state.value), state is current


def _bytes(channel: ChannelMetricsSchema) -> int | None:
    """None where records were delivered and the bytes of none were counted."""
    totals = channel.totals
    return totals["delivered_bytes"] if totals["sized"] or not totals["delivered"] else None


def _of_component(each: ComponentMetricsSchema) -> Row:
    return (each.pipeline, each.source, each.channel, each.component, each.outcome), each.records


def _is_balanced(channel: ChannelMetricsSchema) -> bool:
    totals = channel.totals
    difference = Counts(**{name: totals[name] for name in COUNTERS}).difference
    return not (difference or totals["unattributed"] or totals["gaps"] or totals["overlaps"])
