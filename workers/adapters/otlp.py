"""Spans to a collector, by OTLP over HTTP. No other module imports OpenTelemetry, and this one only where it is on.

The exporter reads the variables OTEL_* of the worker's environment; so does the sampler, which is asked once for each
operation and migration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from typing import Any

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, TraceFlags, set_span_in_context
from opentelemetry.trace.status import Status, StatusCode

from pipelines.domain.base.trace_context import TraceContext
from pipelines.domain.monitoring.spans import Process, Span, Subject, Trace

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNNAMED = "unknown_service"
_LONGEST_ERROR = 1000


class OtlpSpans:
    """Implements workers.ports.SpanExport. `environ`: variables of the process; `exporter`: another one than OTLP's."""

    def __init__(self, environ: Mapping[str, str], exporter: SpanExporter | None = None) -> None:
        self._disabled = environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
        self._exporter = exporter or OTLPSpanExporter()
        self._sampler = TracerProvider(shutdown_on_exit=False).sampler
        self._resources = {process: _resource(process) for process in Process}
        self._scope = InstrumentationScope("headgate", version("headgate"))

    def is_sampled(self, subject: Subject) -> bool:
        """Whether the sampler wants the trace."""
        if self._disabled:
            return False
        trace_id = int(subject.context.trace_id, 16)
        asked = self._sampler.should_sample(
            _parent(subject.context), trace_id, subject.name, SpanKind.INTERNAL, dict(subject.attributes)
        )
        return asked.decision is Decision.RECORD_AND_SAMPLE

    def export(self, traces: Sequence[Trace]) -> bool:
        """Send the spans, bounded by OTEL_EXPORTER_OTLP_TIMEOUT; False where the collector did not take them."""
        spans = [self._readable(trace.context, span) for trace in traces for span in trace.spans]
        return self._exporter.export(spans) is SpanExportResult.SUCCESS

    def close(self) -> None:
        """Let the connection go."""
        self._exporter.shutdown()

    def _readable(self, context: TraceContext, span: Span) -> ReadableSpan:
        is_remote = span.parent == context.span_id
        return ReadableSpan(
            name=span.name,
            context=_context(context.trace_id, span.id),
            parent=_context(context.trace_id, span.parent, is_remote=is_remote) if span.parent else None,
            resource=self._resources[span.process],
            attributes=dict(span.attributes),
            events=[Event(each.name, dict(each.attributes), _nanoseconds(each.at)) for each in span.moments],
            kind=SpanKind.SERVER if span.server else SpanKind.INTERNAL,
            status=_status(span),
            start_time=_nanoseconds(span.start),
            end_time=_nanoseconds(span.end),
            instrumentation_scope=self._scope,
        )


def _resource(process: Process) -> Resource:
    """`headgate-web`, `headgate-worker` and `headgate-agent`, unless the environment names the service."""
    made = Resource.create({SERVICE_VERSION: version("headgate")})
    if not str(made.attributes[SERVICE_NAME]).startswith(_UNNAMED):
        return made.merge(Resource({"headgate.process": process.value}))
    return made.merge(Resource({SERVICE_NAME: f"headgate-{process}", "headgate.process": process.value}))


def _parent(context: TraceContext) -> Context | None:
    if not context.span_id:
        return None
    flags = TraceFlags.SAMPLED if context.sampled else TraceFlags.DEFAULT
    remote = _context(context.trace_id, context.span_id, is_remote=True, flags=flags)
    return set_span_in_context(NonRecordingSpan(remote))


def _context(trace_id: str, span_id: str, *, is_remote: bool = False, flags: Any = TraceFlags.SAMPLED) -> SpanContext:
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=is_remote, trace_flags=TraceFlags(flags))


def _status(span: Span) -> Status:
    return Status(StatusCode.ERROR, span.error[:_LONGEST_ERROR]) if span.error else Status(StatusCode.UNSET)


def _nanoseconds(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1) * 1000
