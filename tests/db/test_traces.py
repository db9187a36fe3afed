"""Traces of operations and migrations: the trace that a request names, on its way to worker and agent, and out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from rest_framework.test import APIClient
from structlog.contextvars import merge_contextvars
from structlog.testing import capture_logs

from pipelines.domain.base.positions import Frozen
from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import DesiredState, OperationKind, OperationState, RunState
from pipelines.domain.base.trace_context import span_id
from pipelines.domain.ledger import journal
from pipelines.domain.ledger.journal import EntryKind
from pipelines.domain.monitoring.spans import Trace
from pipelines.domain.runs import protocol
from pipelines.domain.runs.protocol import Control, Launch
from pipelines.foundation import clock
from pipelines.models import Host, Migration, Operation, PendingTrace, Pipeline, Run
from pipelines.services.base import tracing
from pipelines.services.base.audit import Actor
from pipelines.services.lifecycle import lifecycle
from tests.db.test_metrics import Scraped
from tests.factories import HostFactory, OperationFactory, PipelineFactory, RunFactory, UserFactory
from workers.adapters.otlp import OtlpSpans
from workers.simulated.agents import Agent, Agents
from workers.simulated.host import SimulatedHost
from workers.simulated.supervisor import supervisor
from workers.supervisor.background import tracing as background
from workers.supervisor.background.tracing import AT_ONCE, INTERVAL, KEPT_FOR, RETRY_SECONDS, TraceSender

pytestmark = pytest.mark.django_db
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE}-{SPAN}-01"


def client_of(role: Role = Role.OPERATOR) -> APIClient:
    client = APIClient()
    client.force_authenticate(UserFactory.create(role=role))
    return client


def start(pipeline: Pipeline, **headers: str) -> Any:
    answer = client_of().post(f"/api/v1/pipelines/{pipeline.name}/start", headers=headers)
    assert answer.status_code == 202, answer.json()
    return answer.json()


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "HEADGATE", settings.HEADGATE.model_copy(update={"traces": True}))


class Stage:
    """A host with a supervisor, agents that journal as real ones do, and its sender of traces."""

    def __init__(self) -> None:
        HostFactory.create(name="alpha")
        self.host = SimulatedHost(wall=datetime.now(UTC))
        self.supervisor = supervisor(self.host, [])
        self.agents = Agents(self.host)
        self.memory = InMemorySpanExporter()
        self.sender = TraceSender("alpha", self.host, lambda: OtlpSpans({}, self.memory))

    def pass_time(self, seconds: int) -> None:
        for _ in range(seconds):
            self.host.advance(1)
            self.agents.step()
            self.supervisor.tick()

    def names(self) -> set[str]:
        return {span.name for span in self.memory.get_finished_spans()}


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    made = Stage()
    monkeypatch.setattr(clock, "now", lambda: made.host.wall)

    def append(agent: Agent, kind: EntryKind, payload: Frozen) -> None:
        agent.entries += 1
        entry = journal.Entry(
            n=agent.entries,
            epoch=agent.launch.epoch,
            at=made.host.wall.timestamp(),
            kind=kind,
            data=payload.model_dump(mode="json"),
        )
        made.host.directories[agent.run_dir].journal += journal.encode(entry)

    monkeypatch.setattr(Agent, "append", append)
    return made


# what a request names


def test_an_operation_has_the_trace_that_its_request_names() -> None:
    pipeline = PipelineFactory.create()
    made = start(pipeline, traceparent=TRACEPARENT)
    assert made["trace_id"] == TRACE
    operation = Operation.objects.get()
    assert operation.traceparent == TRACEPARENT
    route = "/api/v1/pipelines/<name:name>/start"
    user = str(UserFactory._meta.model.objects.get(username=operation.created_by).pk)
    assert {name: operation.request[name] for name in ("method", "route", "user_id")} == {
        "method": "POST",
        "route": route,
        "user_id": user,
    }
    assert datetime.fromisoformat(operation.request["at"]) <= operation.created_at
    again = start(pipeline, traceparent=f"00-{'a' * 32}-{SPAN}-01")
    assert (again["id"], again["trace_id"]) == (made["id"], TRACE), "the operation that is under way is the answer"


@pytest.mark.parametrize("header", ["", "nonsense", TRACEPARENT.upper(), f"{TRACEPARENT}-more", "0" * 5000])
def test_without_a_valid_one_the_trace_is_the_operations_own(header: str) -> None:
    made = start(PipelineFactory.create(), traceparent=header)
    assert made["trace_id"] == made["id"].replace("-", "")
    assert Operation.objects.get().traceparent == ""


def test_every_answer_of_an_operation_has_its_trace() -> None:
    client, operation = client_of(), OperationFactory.create(traceparent=TRACEPARENT)
    one = client.get(f"/api/v1/operations/{operation.id}").json()
    (listed,) = client.get("/api/v1/operations").json()["results"]
    cancelled = client.delete(f"/api/v1/operations/{operation.id}", headers={"traceparent": f"00-{'b' * 32}-{SPAN}-01"})
    assert {one["trace_id"], listed["trace_id"], cancelled.json()["trace_id"]} == {TRACE}
    stop = Operation.objects.get(kind=OperationKind.STOP)
    assert stop.trace.trace_id == "b" * 32
    assert stop.request["method"] == "DELETE"


def test_a_migration_has_the_trace_that_its_request_names() -> None:
    HostFactory.create(responding=True)
    PipelineFactory.create(name="orders")
    wanted = {"pipeline": "orders", "kind": "software", "spec": {}, "reason": "a new version"}
    client = client_of()
    made = client.post("/api/v1/migrations", wanted, format="json", headers={"traceparent": TRACEPARENT}).json()
    assert made["trace_id"] == TRACE
    assert [each["trace_id"] for each in client.get("/api/v1/migrations").json()["results"]] == [TRACE]
    assert Migration.objects.get().request["route"] == "/api/v1/migrations"


# on its way


def test_launch_and_orders_hand_the_trace_to_the_agent(stage: Stage) -> None:
    pipeline = PipelineFactory.create()
    operation = Operation.objects.get(id=start(pipeline, traceparent=TRACEPARENT)["id"])
    stage.pass_time(8)
    run_dir = next(iter(stage.host.directories.values()))
    launch, order = run_dir.documents[protocol.LAUNCH], run_dir.documents[protocol.CONTROL]
    assert isinstance(launch, Launch)
    assert isinstance(order, Control)
    assert launch.traceparent == order.traceparent == f"00-{TRACE}-{span_id(operation.id)}-01"
    stop = lifecycle.request(pipeline=pipeline, action=OperationKind.STOP, actor=Actor("ana"))
    stage.pass_time(1)
    order = run_dir.documents[protocol.CONTROL]
    assert isinstance(order, Control)
    assert order.traceparent == f"00-{stop.id.hex}-{span_id(stop.id)}-01"


def test_a_run_that_nobody_asked_for_has_no_trace(stage: Stage) -> None:
    pipeline = PipelineFactory.create()
    start(pipeline)
    stage.pass_time(8)
    (agent,) = stage.agents.all.values()
    agent.fate = 12
    stage.pass_time(30)
    second = stage.host.directories[stage.host.path(pipeline.name, 2)].documents[protocol.LAUNCH]
    assert isinstance(second, Launch)
    assert second.traceparent == ""


def test_log_lines_of_the_web_server_name_the_trace_without_any_exporter() -> None:
    with capture_logs([merge_contextvars]) as lines:
        start(PipelineFactory.create(), traceparent=TRACEPARENT)
        own = start(PipelineFactory.create())
        client_of().get("/api/v1/hosts")
    finished = [line.get("trace_id") for line in lines if line["event"] == "request_finished"]
    assert finished == [TRACE, own["trace_id"], None]


def test_log_lines_of_a_tick_name_the_trace_of_the_operation_under_way(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, other = PipelineFactory.create(name="asked"), PipelineFactory.create(name="other")
    made = start(asked)
    Pipeline.objects.filter(pk=other.pk).update(desired_state=DesiredState.RUNNING, generation=2)

    def fails(**_: Any) -> Run:
        raise ValueError("a defect")

    monkeypatch.setattr("pipelines.services.runs.runs.create_run", fails)
    with capture_logs([merge_contextvars]) as lines:
        stage.pass_time(1)
    failed = {line["pipeline"]: line.get("trace_id") for line in lines if line["event"] == "pipeline_failed"}
    assert failed == {"asked": made["trace_id"], "other": None}


# out


def component(name: str) -> journal.ComponentState:
    return journal.ComponentState(name=name, kind="sink", type="kafka", state="ready")


@pytest.mark.usefixtures("on")
def test_one_trace_from_the_request_to_the_first_batch(stage: Stage) -> None:
    pipeline = PipelineFactory.create()
    made = start(pipeline, traceparent=TRACEPARENT)
    stage.pass_time(1)
    stage.agents.step()
    (agent,) = stage.agents.all.values()
    agent.append(EntryKind.PHASE, journal.PhaseChanged(phase="PREFLIGHT"))
    stage.host.advance(1)
    agent.append(EntryKind.COMPONENT, component("sinks.out"))
    stage.pass_time(20)
    assert stage.sender.turn() == INTERVAL
    spans = {span.name: span for span in stage.memory.get_finished_spans()}
    assert set(spans) == {
        "POST /api/v1/pipelines/<name:name>/start",
        "operation start",
        "pick-up",
        "stage preflight",
        "stage starting",
        "stage first_batch_or_idle",
        "launch agent",
        "agent start",
        "preflight sinks.out",
        "first batch shop.main",
    }
    assert {format(span.context.trace_id, "032x") for span in spans.values() if span.context} == {TRACE}
    own = spans["operation start"]
    assert own.attributes is not None
    assert own.attributes["headgate.operation.state"] == OperationState.SUCCEEDED
    assert own.attributes["headgate.operation.id"] == made["id"]
    assert not PendingTrace.objects.exists()
    assert Host.objects.get().spans_exported == len(spans)
    assert stage.sender.turn() == INTERVAL
    assert len(stage.memory.get_finished_spans()) == len(spans), "nothing is sent twice"


@pytest.mark.usefixtures("on")
@pytest.mark.parametrize(
    "kind", [OperationKind.STOP, OperationKind.PAUSE, OperationKind.RESTART, OperationKind.FORCE_STOP]
)
def test_every_kind_of_operation_is_traced(stage: Stage, kind: OperationKind) -> None:
    pipeline = PipelineFactory.create()
    start(pipeline)
    stage.pass_time(10)
    operation = lifecycle.request(pipeline=pipeline, action=kind, actor=Actor("ana"))
    stage.pass_time(30)
    stage.sender.turn()
    operation.refresh_from_db()
    assert operation.state == OperationState.SUCCEEDED
    assert {"operation start", f"operation {kind}"} <= stage.names()
    assert {f"stage {step['name']}" for step in operation.steps} <= stage.names()


@pytest.mark.usefixtures("on")
def test_a_request_that_ends_at_once_and_one_that_is_superseded_are_traced() -> None:
    HostFactory.create(name="alpha", responding=True)
    resting, starting = PipelineFactory.create(), PipelineFactory.create()
    lifecycle.request(pipeline=resting, action=OperationKind.STOP, actor=Actor("ana"))
    first = lifecycle.request(pipeline=starting, action=OperationKind.START, actor=Actor("ana"))
    lifecycle.request(pipeline=starting, action=OperationKind.STOP, actor=Actor("ana"))
    ended = {row.subject: row.host for row in PendingTrace.objects.filter(whole=True)}
    assert set(ended) == {each.id for each in Operation.objects.exclude(ended_at=None)}
    assert ended[first.id] == "alpha"
    assert len(ended) == 2


@pytest.mark.usefixtures("on")
def test_an_operation_without_a_host_is_exported_by_any_host(stage: Stage) -> None:
    pipeline = PipelineFactory.create(host=None)
    lifecycle.request(pipeline=pipeline, action=OperationKind.STOP, actor=Actor("ana"))
    assert [(row.host, row.whole) for row in PendingTrace.objects.all()] == [("", True)]
    stage.host.advance(10)
    stage.sender.turn()
    assert stage.names() == {"operation stop"}


def test_where_traces_are_off_nothing_is_queued(stage: Stage) -> None:
    start(PipelineFactory.create(), traceparent=TRACEPARENT)
    stage.pass_time(20)
    assert Operation.objects.get().ended_at is not None
    assert not PendingTrace.objects.exists()


@pytest.mark.usefixtures("on")
def test_a_worker_that_was_killed_leaves_its_traces_to_the_next_with_the_same_ids(stage: Stage) -> None:
    """It was killed after the collector had taken the spans and before that was written down."""
    start(PipelineFactory.create())
    stage.pass_time(20)
    rows = list(PendingTrace.objects.all())
    stage.sender.turn()
    first = {(span.name, span.context.span_id) for span in stage.memory.get_finished_spans() if span.context}
    PendingTrace.objects.bulk_create(rows)
    successor = TraceSender("alpha", stage.host, lambda: OtlpSpans({}, stage.memory))
    stage.memory.clear()
    successor.turn()
    assert first == {(span.name, span.context.span_id) for span in stage.memory.get_finished_spans() if span.context}
    assert len(first) > 4


@pytest.mark.usefixtures("on")
def test_each_host_exports_the_spans_of_its_own_agents(stage: Stage) -> None:
    beta = HostFactory.create(name="beta")
    pipeline = PipelineFactory.create()
    start(pipeline)
    stage.pass_time(10)
    other = RunFactory.create(pipeline=pipeline, host=beta, number=50, state=RunState.ENDED, ended_at=clock.now())
    stop = lifecycle.request(pipeline=pipeline, action=OperationKind.STOP, actor=Actor("ana"))
    Run.objects.filter(pk=other.pk).update(ended_at=stop.created_at + timedelta(seconds=1))
    stage.pass_time(10)
    assert {(row.host, row.whole) for row in PendingTrace.objects.filter(subject=stop.id)} == {
        ("alpha", True),
        ("beta", False),
    }
    told = journal.CommandTaken(seq=2, command="stop", state="accepted").model_dump(mode="json")
    at = stop.created_at.timestamp() + 0.5
    entry = journal.Entry(n=1, epoch=50, at=at, kind=EntryKind.COMMAND, data=told)
    stage.host.directories[Path(other.run_dir)].journal += b"damaged\n" + journal.encode(entry) + b"cut"
    stage.host.advance(10)
    TraceSender("beta", stage.host, lambda: OtlpSpans({}, stage.memory)).turn()
    assert stage.names() == {"command stop"}
    assert {row.host for row in PendingTrace.objects.all()} == {"alpha"}


class Collector:
    """Takes no trace that `refuses` names."""

    def __init__(self) -> None:
        self.refuses: Any = lambda _trace: True
        self.sent: list[Trace] = []
        self.asked = 0

    def is_sampled(self, _subject: Any) -> bool:
        return True

    def export(self, traces: Sequence[Trace]) -> bool:
        self.asked += 1
        if any(map(self.refuses, traces)):
            return False
        self.sent += traces
        return True

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def collector(stage: Stage) -> Collector:
    made = Collector()
    stage.sender = TraceSender("alpha", stage.host, lambda: made, chance=iter(lambda: stage.host.boottime, -1).__next__)
    return made


def queue(number: int) -> list[Operation]:
    pipeline = PipelineFactory.create(host=Host.objects.get())
    made = [
        OperationFactory.create(pipeline=pipeline, state=OperationState.SUCCEEDED, ended_at=clock.now(), steps=[])
        for _ in range(number)
    ]
    for each in made:
        tracing.operation_ended(each)
    return made


@pytest.mark.usefixtures("on")
def test_a_collector_that_is_away_is_tried_again_and_keeps_no_tick_waiting(stage: Stage, collector: Collector) -> None:
    pipeline = PipelineFactory.create()
    start(pipeline)
    stage.pass_time(20)
    assert stage.sender.turn() == RETRY_SECONDS
    stop = lifecycle.request(pipeline=pipeline, action=OperationKind.STOP, actor=Actor("ana"))
    stage.pass_time(20)
    stop.refresh_from_db()
    assert stop.state == OperationState.SUCCEEDED
    asked = collector.asked
    assert asked == 1, "ticks do not send"
    collector.refuses = lambda _trace: False
    while PendingTrace.objects.exists():
        stage.sender.turn()
    assert len(collector.sent) == 2
    assert Host.objects.get().spans_dropped == 0


@pytest.mark.usefixtures("on")
def test_what_is_not_taken_within_an_hour_is_dropped_counted_and_shown(stage: Stage, collector: Collector) -> None:
    start(PipelineFactory.create())
    stage.pass_time(20)
    stage.sender.turn()
    stage.host.advance(KEPT_FOR.total_seconds() + 60)
    with capture_logs() as lines:
        stage.sender.turn()
    assert not PendingTrace.objects.exists()
    (dropped,) = [line for line in lines if line["event"] == "spans_dropped"]
    assert dropped["traces"] == 1
    assert Host.objects.get().spans_dropped == dropped["spans"] > 4
    stage.supervisor.tick()
    client = client_of(Role.VIEWER)
    assert Scraped(client)("trace_spans_dropped_total", host="alpha") == dropped["spans"]
    assert Scraped(client)("trace_spans_exported_total", host="alpha") == 0


@pytest.mark.usefixtures("on")
def test_the_queue_is_bounded_and_gives_up_what_is_oldest(
    stage: Stage, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "MOST_KEPT", 3)
    first = queue(2)
    stage.host.advance(1)
    queue(3)
    stage.host.advance(10)
    stage.sender.turn()
    assert PendingTrace.objects.count() == 3
    assert not PendingTrace.objects.filter(subject__in=[each.id for each in first]).exists()


@pytest.mark.usefixtures("on")
def test_what_a_host_that_is_gone_leaves_is_given_up_by_another(stage: Stage, collector: Collector) -> None:
    HostFactory.create(name="beta")
    pipeline = PipelineFactory.create(host=Host.objects.get(name="beta"))
    lifecycle.request(pipeline=pipeline, action=OperationKind.STOP, actor=Actor("ana"))
    stage.host.advance(KEPT_FOR.total_seconds() + 60)
    stage.sender.turn()
    assert PendingTrace.objects.count() == 1
    stage.host.advance(KEPT_FOR.total_seconds())
    stage.sender.turn()
    assert not PendingTrace.objects.exists()


@pytest.mark.usefixtures("on")
def test_a_trace_that_is_never_taken_holds_up_no_other(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    taken, made = Collector(), queue(8)
    bad = made[0].id.hex
    taken.refuses = lambda trace: trace.context.trace_id == bad
    stage.sender = TraceSender("alpha", stage.host, lambda: taken)
    stage.host.advance(10)
    for _ in range(1000):
        stage.sender.turn()
        if PendingTrace.objects.count() == 1:
            break
    assert PendingTrace.objects.get().subject == made[0].id
    assert len(taken.sent) == 7


@pytest.mark.usefixtures("on")
def test_a_trace_that_cannot_be_encoded_is_given_up_alone(stage: Stage) -> None:
    taken, made = Collector(), queue(3)

    def encodes(trace: Trace) -> bool:
        if trace.context.trace_id == made[1].id.hex:
            raise ValueError("it cannot be encoded")
        return False

    taken.refuses = encodes
    stage.sender = TraceSender("alpha", stage.host, lambda: taken)
    stage.host.advance(10)
    stage.sender.turn()
    assert not PendingTrace.objects.exists()
    assert len(taken.sent) == 2
    assert Host.objects.get().spans_dropped == 1


@pytest.mark.usefixtures("on")
def test_many_traces_are_sent_in_parts_one_after_the_other(stage: Stage) -> None:
    taken = Collector()
    taken.refuses = lambda _trace: False
    queue(AT_ONCE + 1)
    stage.sender = TraceSender("alpha", stage.host, lambda: taken)
    stage.host.advance(10)
    assert stage.sender.turn() == 0.0
    assert stage.sender.turn() == INTERVAL
    assert len(taken.sent) == AT_ONCE + 1


@pytest.mark.usefixtures("on")
def test_what_is_not_sampled_or_was_purged_is_taken_out_without_a_span(stage: Stage) -> None:
    pipeline = PipelineFactory.create()
    lifecycle.request(
        pipeline=pipeline, action=OperationKind.STOP, actor=Actor("ana", traceparent=f"{TRACEPARENT[:-1]}0")
    )
    (gone,) = queue(1)
    Operation.objects.filter(id=gone.id).delete()
    stage.host.advance(10)
    stage.sender.turn()
    assert not PendingTrace.objects.exists()
    assert not stage.names()
    assert (Host.objects.get().spans_exported, Host.objects.get().spans_dropped) == (0, 0)


@pytest.mark.usefixtures("on")
def test_a_migration_that_ends_is_queued_with_the_hosts_of_its_runs(stage: Stage) -> None:
    HostFactory.create(name="alpha", responding=True)
    pipeline = PipelineFactory.create(name="orders", host=Host.objects.get())
    wanted = {"pipeline": "orders", "kind": "software", "spec": {}, "reason": "a new version"}
    client = client_of()
    made = client.post("/api/v1/migrations", wanted, format="json", headers={"traceparent": TRACEPARENT}).json()
    ended = client.post(f"/api/v1/migrations/{made['id']}/abort", {}, format="json")
    assert ended.status_code == 202, ended.json()
    assert [(row.host, row.whole) for row in PendingTrace.objects.all()] == [("alpha", True)]
    stage.host.advance(10)
    stage.sender.turn()
    assert stage.names() == {"POST /api/v1/migrations", "migration software"}
    assert pipeline is not None


def test_a_failure_of_the_exporter_is_a_result_that_the_sender_understands(stage: Stage) -> None:
    class Failing(InMemorySpanExporter):
        def export(self, spans: Any) -> SpanExportResult:
            return SpanExportResult.FAILURE

    (made,) = queue(0) or [OperationFactory.create(state=OperationState.SUCCEEDED, ended_at=clock.now(), steps=[])]
    PendingTrace.objects.create(subject=made.id, host="alpha", whole=True, since=clock.now())
    stage.sender = TraceSender("alpha", stage.host, lambda: OtlpSpans({}, Failing()))
    stage.host.advance(10)
    assert stage.sender.turn() == RETRY_SECONDS
    assert PendingTrace.objects.exists()
