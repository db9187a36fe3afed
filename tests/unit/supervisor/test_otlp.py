"""Spans in OpenTelemetry's own form: as its exporter gets them, and as bytes that a collector receives."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1 import trace_pb2
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind
from opentelemetry.trace.status import StatusCode

from pipelines.domain.base.trace_context import TraceContext
from pipelines.domain.monitoring.spans import Moment, Process, Span, Stage, Subject, Trace, spans_of
from tests.fakes.http_servers import Reply, serving
from workers.adapters.otlp import OtlpSpans

BEGIN = datetime(2026, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)
SUBJECT = Subject(
    id=UUID("0190a1b2-c3d4-4e5f-8a9b-0c1d2e3f4a5b"),
    context=TraceContext("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"),
    name="operation start",
    attributes={"headgate.pipeline": "orders", "headgate.generation": 2},
    request={
        "method": "POST",
        "route": "/api/v1/pipelines/<name:name>/start",
        "user_id": "7",
        "request_id": "r-1",
        "at": BEGIN.isoformat(),
    },
    created=BEGIN,
    begun=BEGIN,
    ended=BEGIN + timedelta(seconds=3),
    error="The broker is away.",
    stages=[Stage("preflight", BEGIN, None, "The broker is away.")],
)
AGENT = Span(
    process=Process.AGENT,
    name="command stop",
    id="1" * 16,
    parent="2" * 16,
    start=BEGIN,
    end=BEGIN,
    moments=(Moment("interrupt 1", BEGIN, {"headgate.stuck": "sinks.out"}),),
)
TRACE = Trace(SUBJECT.context, (*spans_of(SUBJECT), AGENT))
NANOSECONDS = int(BEGIN.timestamp()) * 10**9 + 123_456_000


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)


def test_the_exporter_gets_spans_with_our_ids_times_and_resources() -> None:
    memory = InMemorySpanExporter()
    assert OtlpSpans({}, memory).export([TRACE])
    found = {span.name: span for span in memory.get_finished_spans()}
    assert len(found) == len(TRACE.spans)
    for ours in TRACE.spans:
        theirs = found[ours.name]
        assert theirs.context is not None
        assert format(theirs.context.trace_id, "032x") == SUBJECT.context.trace_id
        assert format(theirs.context.span_id, "016x") == ours.id
        assert theirs.parent is not None
        assert format(theirs.parent.span_id, "016x") == ours.parent
        assert theirs.parent.is_remote == (ours.parent == SUBJECT.context.span_id)
        assert theirs.resource.attributes["service.name"] == f"headgate-{ours.process}"
    request, own = found["POST /api/v1/pipelines/<name:name>/start"], found["operation start"]
    assert (request.kind, own.kind) == (SpanKind.SERVER, SpanKind.INTERNAL)
    assert (request.status.status_code, own.status.status_code) == (StatusCode.UNSET, StatusCode.ERROR)
    assert own.status.description == "The broker is away."
    assert (own.start_time, own.end_time) == (NANOSECONDS, NANOSECONDS + 3 * 10**9)
    assert dict(own.attributes or {}) == {"headgate.pipeline": "orders", "headgate.generation": 2}
    (interrupt,) = found["command stop"].events
    assert (interrupt.name, interrupt.timestamp) == ("interrupt 1", NANOSECONDS)


def test_a_trace_without_a_caller_has_a_root() -> None:
    memory = InMemorySpanExporter()
    alone = replace(SUBJECT, context=TraceContext(SUBJECT.id.hex))
    OtlpSpans({}, memory).export([Trace(alone.context, tuple(spans_of(alone)))])
    assert [span.name for span in memory.get_finished_spans() if span.parent is None] == [
        "POST /api/v1/pipelines/<name:name>/start"
    ]


def test_the_environment_names_the_service_and_its_resource(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "data-platform")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=staging")
    memory = InMemorySpanExporter()
    OtlpSpans({}, memory).export([TRACE])
    resources = [span.resource.attributes for span in memory.get_finished_spans()]
    assert {each["service.name"] for each in resources} == {"data-platform"}
    assert {each["deployment.environment.name"] for each in resources} == {"staging"}
    assert {each["headgate.process"] for each in resources} == {"web", "worker", "agent"}


def test_the_sampler_of_the_environment_decides_for_a_whole_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    own = replace(SUBJECT, context=TraceContext(SUBJECT.id.hex))
    unwanted = replace(SUBJECT, context=replace(SUBJECT.context, sampled=False))
    assert [OtlpSpans({}).is_sampled(each) for each in (SUBJECT, own, unwanted)] == [True, True, False]
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_always_off")
    assert [OtlpSpans({}).is_sampled(each) for each in (SUBJECT, own, unwanted)] == [True, False, False]
    assert not OtlpSpans({"OTEL_SDK_DISABLED": "True"}).is_sampled(SUBJECT)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")


@pytest.mark.usefixtures("quick")
def test_a_collector_receives_protobuf_over_http(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda _: Reply()) as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=blue")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
        spans = OtlpSpans(os.environ)
        assert spans.export([TRACE])
        spans.close()
    (asked,) = collector.seen
    assert (asked.method, asked.path) == ("POST", "/v1/traces")
    assert (asked.headers["content-type"], asked.headers["x-tenant"]) == ("application/x-protobuf", "blue")
    received = ExportTraceServiceRequest.FromString(asked.body)
    services = {
        next(each.value.string_value for each in part.resource.attributes if each.key == "service.name"): [
            span for scope in part.scope_spans for span in scope.spans
        ]
        for part in received.resource_spans
    }
    assert {name: len(found) for name, found in services.items()} == {
        "headgate-web": 1,
        "headgate-worker": 3,
        "headgate-agent": 1,
    }
    (request,) = services["headgate-web"]
    assert (request.trace_id.hex(), request.parent_span_id.hex()) == (
        SUBJECT.context.trace_id,
        SUBJECT.context.span_id,
    )
    assert request.kind == trace_pb2.Span.SPAN_KIND_SERVER
    assert request.start_time_unix_nano == NANOSECONDS
    attributes = {each.key: each.value.string_value for each in request.attributes}
    assert attributes["http.route"] == "/api/v1/pipelines/<name:name>/start"
    assert attributes["user.id"] == "7"


@pytest.mark.usefixtures("quick")
def test_a_collector_that_is_away_or_refuses_takes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda _: Reply(400)) as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        assert not OtlpSpans(os.environ).export([TRACE])
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"{collector.url}/elsewhere")
        collector.reply = lambda _: Reply(503)
        assert not OtlpSpans(os.environ).export([TRACE])
        assert collector.seen[-1].path == "/elsewhere"
    assert not OtlpSpans(os.environ).export([TRACE])


EVERYTHING = """
import sys
import controlplane.asgi
from controlplane import bootstep
import workers.agent.driver, workers.keeper.keeper, workers.tasks
from types import SimpleNamespace as S
loops = bootstep.background_loops(S(app=S(amqp=S(queues=S(consume_from=["control"]))), concurrency=1))
print(len(loops), sorted(name for name in sys.modules if name.startswith("opentelemetry")))
"""


@pytest.mark.parametrize(("value", "loops"), [("false", 11), ("true", 12)])
def test_a_process_imports_nothing_of_it_before_it_exports(tmp_path: Path, value: str, loops: int) -> None:
    environ = {**os.environ, "HEADGATE_STATE": str(tmp_path), "HEADGATE_TRACES": value}
    environ["DJANGO_SETTINGS_MODULE"] = "controlplane.settings"
    done = subprocess.run(
        [sys.executable, "-c", EVERYTHING], env=environ, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.stdout.splitlines()[-1:] == [f"{loops} []"], done.stderr
