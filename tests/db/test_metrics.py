"""What Prometheus reads: every metric from real rows, for who may read it, in a fixed number of queries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as plain
from pytest_django import Settings
from rest_framework.test import APIClient

from pipelines.domain.access.audit.chain import BEGIN
from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import DesiredState, MigrationStage, Phase
from pipelines.domain.ledger.ledger import Counts
from pipelines.domain.lifecycle.conditions import ConditionStatus
from pipelines.domain.monitoring.lag import PartitionLag, as_rows
from pipelines.domain.monitoring.metrics import METRICS
from pipelines.domain.monitoring.output import Reason, Verdict
from pipelines.foundation import clock
from pipelines.models import Alert, ChannelTotals, Delivery, Event, Host, LagPoint, Migration, Pipeline, Receiver, Run
from pipelines.services.access import access
from pipelines.services.access.audit import checking
from pipelines.services.base.totals import add
from pipelines.services.monitoring import output
from pipelines.services.runs.runs import Aftermath, _consequences
from tests.db.test_journals import done, planned, rng, take
from tests.factories import HostFactory, PipelineFactory, RunFactory, UserFactory, now

pytestmark = pytest.mark.django_db
PATH = "/metrics"
QUERIES = 18
"""Token and role, eight of pipelines, one of receivers, four of hosts, two of the audit."""


def scrape(client: APIClient, **headers: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    response = client.get(PATH, headers=headers or None)
    assert response.status_code == 200, response.content
    text = response.content.decode()
    parse: Any = openmetrics if "openmetrics" in response.headers["Content-Type"] else plain
    samples = [each for family in parse(text) for each in family.samples]
    found = {(each.name, frozenset(each.labels.items())): each.value for each in samples}
    assert len(found) == len(samples)
    return found


class Scraped:
    """The series of one scrape, by name and labels."""

    def __init__(self, client: APIClient) -> None:
        self.series = scrape(client)

    def __call__(self, name: str, **labels: str) -> float | None:
        return self.series.get((f"headgate_{name}", frozenset(labels.items())))

    def names(self) -> set[str]:
        return {name for name, _ in self.series}


@pytest.fixture
def viewer() -> APIClient:
    client = APIClient()
    token = access.create_token(user=UserFactory.create(role=Role.VIEWER), name="prometheus", expires=None)
    client.credentials(HTTP_AUTHORIZATION=f"Token {token}")
    return client


@pytest.fixture
def run() -> Run:
    return RunFactory.create(pipeline=PipelineFactory.create(name="orders"))


CHANNEL = {"pipeline": "orders", "source": "shop", "channel": "main"}


def test_the_ledgers_totals_are_counters(viewer: APIClient, run: Run) -> None:
    counts = Counts(read=10, added=2, delivered=4, filtered=3, unrouted=1, dead_lettered=2, dropped_optional=2)
    take(run, done(0, rng(0, 10), counts=counts, duplicates_max=3, ms=700), done(1, rng(10, 20), ms=90_000))
    take(run, planned(2, rng(20, 30)))
    found = Scraped(viewer)
    expected = {
        "read": 20,
        "added": 2,
        "delivered": 14,
        "filtered": 3,
        "unrouted": 1,
        "dead_lettered": 2,
        "dropped": 2,
        "routed_elsewhere": 0,
        "skipped": 0,
        "reread": 0,
    }
    assert {name: found(f"channel_records_{name}_total", **CHANNEL) for name in expected} == expected
    assert found("channel_possible_duplicates_total", **CHANNEL) == 3
    assert found("channel_batches_total", **CHANNEL) == 2
    assert found("channel_open_batches", **CHANNEL) == 1
    assert found("channel_ledger_balanced", **CHANNEL) == 1


def test_durations_of_batches_are_a_histogram(viewer: APIClient, run: Run) -> None:
    take(run, *[done(n, rng(n, n + 1), ms=ms) for n, ms in enumerate([50, 700, 90_000, 400_000])])
    found = Scraped(viewer)
    name = "channel_batch_duration_seconds"
    bounds = {"0.1": 1, "0.5": 1, "1.0": 2, "60.0": 2, "300.0": 3, "+Inf": 4}
    assert {le: found(f"{name}_bucket", **CHANNEL, le=le) for le in bounds} == bounds
    assert found(f"{name}_count", **CHANNEL) == 4
    assert found(f"{name}_sum", **CHANNEL) == pytest.approx(490.75)


def test_a_gap_and_a_record_without_a_verdict_unbalance_the_ledger(viewer: APIClient, run: Run) -> None:
    other = RunFactory.create(pipeline=PipelineFactory.create(name="other"))
    take(run, done(0, rng(0, 10)), done(1, rng(15, 20)))
    take(other, done(0, rng(0, 10), counts=Counts(read=10, delivered=9)))
    found = Scraped(viewer)
    assert found("channel_records_skipped_total", **CHANNEL) == 5
    assert found("channel_ledger_balanced", **CHANNEL) == 0
    assert found("channel_ledger_balanced", **CHANNEL | {"pipeline": "other"}) == 0


def test_phase_and_desired_state_are_sets(viewer: APIClient) -> None:
    PipelineFactory.create(name="orders", phase=Phase.STALLED, desired_state=DesiredState.RUNNING)
    found = Scraped(viewer)
    assert {phase: found("pipeline_phase", pipeline="orders", phase=phase) for phase in Phase} == {
        phase: float(phase is Phase.STALLED) for phase in Phase
    }
    states = {state: found("pipeline_desired_state", pipeline="orders", desired_state=state) for state in DesiredState}
    assert states == {"RUNNING": 1, "PAUSED": 0, "STOPPED": 0}


def lag(records: int | None, seconds: float | None, partition: int = 0, channel: str = "main") -> PartitionLag:
    return PartitionLag("shop", channel, "orders", partition, 0, None, records, seconds)


def point(pipeline: Pipeline, *partitions: PartitionLag, ago: float = 0, step: int = 60) -> LagPoint:
    at = now() - timedelta(seconds=ago)
    return LagPoint.objects.create(pipeline=pipeline, at=at, step=step, partitions=as_rows(partitions))


def test_lag_is_that_of_the_newest_point_over_all_partitions(viewer: APIClient) -> None:
    pipeline = PipelineFactory.create(name="orders")
    point(pipeline, lag(99, 99), ago=60)
    point(pipeline, lag(5, 2.5), lag(7, 30.0, 1), lag(1, None, channel="audit"), lag(None, None, 1, "audit"))
    point(pipeline, lag(1000, 1000), step=300)
    found = Scraped(viewer)
    assert (found("channel_lag_records", **CHANNEL), found("channel_lag_seconds", **CHANNEL)) == (12, 30)
    audit = CHANNEL | {"channel": "audit"}
    assert (found("channel_lag_records", **audit), found("channel_lag_seconds", **audit)) == (None, None)


def test_lag_that_nobody_has_measured_for_long_is_not_shown(viewer: APIClient) -> None:
    quiet, old = PipelineFactory.create(name="orders"), PipelineFactory.create(name="old")
    point(quiet, lag(0, 0), ago=900)
    point(old, lag(3, 4), ago=1100)
    found = Scraped(viewer)
    assert found("channel_lag_records", **CHANNEL) == 0
    assert found("channel_lag_records", **CHANNEL | {"pipeline": "old"}) is None


def test_restarts_only_grow(viewer: APIClient) -> None:
    pipeline = PipelineFactory.create(name="orders", restart_count=2, restarts=7)
    failed = Aftermath(Phase.BACKOFF, "", "", None, findings=[], restart=("boot", 1.0, 5.0))
    Pipeline.objects.filter(pk=pipeline.pk).update(**_consequences(pipeline, failed, clock.now()))
    found = Scraped(viewer)
    assert found("pipeline_restarts_total", pipeline="orders") == 8
    assert found("pipeline_restarts_in_a_row", pipeline="orders") == 3
    stopped = Aftermath(Phase.STOPPED, "", "", None, findings=[], restart=None)
    Pipeline.objects.filter(pk=pipeline.pk).update(**_consequences(pipeline, stopped, clock.now()))
    found = Scraped(viewer)
    assert found("pipeline_restarts_total", pipeline="orders") == 8
    assert found("pipeline_restarts_in_a_row", pipeline="orders") == 0


def test_findings_and_the_safety_of_positions(viewer: APIClient) -> None:
    safe = {"type": "PositionsSafe", "status": "False", "reason": "lost", "message": ""}
    findings = [{"code": "TOPIC_RECREATED", "path": "", "message": ""}, {"code": "component_failed"}]
    PipelineFactory.create(name="orders", findings=findings, conditions=[safe])
    PipelineFactory.create(name="fine", conditions=[safe | {"status": "True"}])
    PipelineFactory.create(name="new")
    found = Scraped(viewer)
    assert found("pipeline_findings", pipeline="orders") == 2
    assert found("pipeline_position_findings", pipeline="orders") == 1
    safety = {name: found("pipeline_positions_safe", pipeline=name) for name in ("orders", "fine", "new")}
    assert safety == {"orders": 0, "fine": 1, "new": None}


def migration(pipeline: Pipeline, stage: MigrationStage) -> Migration:
    return Migration.objects.create(
        pipeline=pipeline,
        kind="revision",
        stage=stage,
        stage_since=now(),
        created_at=now(),
        reason="",
        created_by="ana",
    )


def test_the_stage_of_an_open_migration(viewer: APIClient) -> None:
    pipeline = PipelineFactory.create(name="orders")
    migration(pipeline, MigrationStage.COMMITTED)
    migration(PipelineFactory.create(name="other"), MigrationStage.ABORTED)
    migration(pipeline, MigrationStage.NEEDS_ATTENTION)
    found = Scraped(viewer)
    stages = {stage: found("migration_stage", pipeline="orders", stage=stage) for stage in MigrationStage}
    assert stages == {stage: float(stage is MigrationStage.NEEDS_ATTENTION) for stage in MigrationStage}
    assert found("migration_stage", pipeline="other", stage="ABORTED") is None


def alert(rule: str, key: str, state: str = "OPEN", pipeline: Pipeline | None = None) -> None:
    Alert.objects.create(
        rule=rule, key=key, pipeline=pipeline, state=state, message="", opened_at=now(), changed_at=now()
    )


def test_alerts_whose_cause_persists(viewer: APIClient) -> None:
    pipeline = PipelineFactory.create(name="orders")
    alert("lag", "orders", pipeline=pipeline)
    alert("failed", "orders", "RESOLVED", pipeline)
    alert("group_lost", "orders/a", "ACKNOWLEDGED", pipeline)
    alert("group_lost", "orders/b", "ACKNOWLEDGED", pipeline)
    alert("host_silent", "alpha")
    found = Scraped(viewer)
    assert found("alerts_active", pipeline="orders", rule="lag", state="OPEN") == 1
    assert found("alerts_active", pipeline="orders", rule="group_lost", state="ACKNOWLEDGED") == 2
    assert found("alerts_active", pipeline="", rule="host_silent", state="OPEN") == 1
    assert found("alerts_active", pipeline="orders", rule="failed", state="RESOLVED") is None


def test_hosts_with_their_slots_and_their_supervision(viewer: APIClient) -> None:
    HostFactory.create(name="alpha", responding=True, tick_ms=12.5, slots=4, messages={"state": "HEALTHY"})
    HostFactory.create(name="beta", seen_at=now() - timedelta(minutes=1), messages={"state": "HEALTHY"})
    HostFactory.create(name="cut-off", responding=True, messages={"state": "UNRESPONSIVE"})
    HostFactory.create(name="gone", removed_at=now())
    HostFactory.create(name="never", seen_at=None)
    RunFactory.create(pipeline=PipelineFactory.create(name="orders", desired_state=DesiredState.RUNNING))
    PipelineFactory.create(name="away", host=Host.objects.get(name="beta"))
    PipelineFactory.create(name="homeless", host=None)
    found = Scraped(viewer)
    hosts = ("alpha", "beta", "cut-off", "gone", "never")
    of = {
        name: [found(name, host=host) for host in hosts]
        for name in ("host_supervised", "host_slots", "host_slots_used", "host_broker_connection_healthy")
    }
    assert of == {
        "host_supervised": [1, 0, 1, None, 0],
        "host_slots": [4, None, None, None, None],
        "host_slots_used": [1, 0, 0, None, 0],
        "host_broker_connection_healthy": [1, None, 0, None, None],
    }
    assert found("supervisor_tick_duration_seconds", host="alpha") == 0.0125
    seen = Host.objects.get(name="beta").seen_at
    assert seen is not None
    assert found("host_last_seen_timestamp_seconds", host="beta") == pytest.approx(seen.timestamp())
    supervised = {name: found("pipeline_supervised", pipeline=name) for name in ("orders", "away", "homeless")}
    assert supervised == {"orders": 1, "away": 0, "homeless": 1}
    assert found("pipeline_info", pipeline="away", host="beta") == 1
    assert found("pipeline_info", pipeline="homeless", host="") == 1


def test_the_queue_of_receivers_and_the_web_servers_redis(viewer: APIClient) -> None:
    found = Scraped(viewer)
    assert (found("receiver_deliveries_pending"), found("receiver_oldest_pending_delivery_seconds")) == (0, 0)
    hook = Receiver.objects.create(
        url="https://example.com",
        failing_since=now(),
        created_at=now(),
        updated_at=now(),
        created_by="a",
        updated_by="a",
    )
    for number, state in enumerate(["WAITING", "SENDING", "DELIVERED", "FAILED"]):
        event = Event.objects.create(kind="run.ended", message="", at=now())
        at = now() - timedelta(minutes=number + 1)
        Delivery.objects.create(receiver=hook, event=event, message_id=str(number), state=state, created_at=at)
    found = Scraped(viewer)
    assert found("receiver_deliveries_pending") == 2
    assert 120 <= (found("receiver_oldest_pending_delivery_seconds") or 0) < 600
    assert found("receivers_failing") == 1
    assert found("redis_up") == 0


def test_a_deleted_pipeline_is_in_no_series(viewer: APIClient) -> None:
    run = RunFactory.create(pipeline=PipelineFactory.create(name="deleted", phase=Phase.STOPPED))
    take(run, done(0, rng(0, 10)), planned(1, rng(10, 20)))
    point(run.pipeline, lag(5, 5))
    alert("failed", "deleted", pipeline=run.pipeline)
    migration(run.pipeline, MigrationStage.NEEDS_ATTENTION)
    Pipeline.objects.filter(pk=run.pipeline_id).update(archived_at=now())
    assert [labels for _, labels in scrape(viewer) if ("pipeline", "deleted") in labels] == []


def full(number: int) -> None:
    """Pipelines with everything that a metric shows."""
    for _ in range(number):
        run = RunFactory.create()
        filtered = {"sources.shop.interceptors[0]": {"filtered": 1}}
        counts = Counts(read=10, delivered=9, filtered=1, components=filtered, delivered_bytes=90)
        take(run, done(0, rng(0, 10), counts=counts), planned(1, rng(10, 20)))
        point(run.pipeline, lag(5, 5))
        alert("failed", run.pipeline.name, pipeline=run.pipeline)
        migration(run.pipeline, MigrationStage.PLANNED)
        fine = Verdict(ConditionStatus.TRUE, Reason.AS_USUAL, "As usual.")
        output.record(host=run.host_id, changed={run.pipeline.id: (fine, now())}, now=now())


@pytest.mark.parametrize("pipelines", [0, 1, 50])
def test_the_number_of_queries_does_not_depend_on_that_of_pipelines(
    viewer: APIClient, pipelines: int, django_assert_num_queries: Any
) -> None:
    full(pipelines)
    without_a_host = 3  # nobody asks what is promised to no host
    with django_assert_num_queries(QUERIES if pipelines else QUERIES - without_a_host):
        assert viewer.get(PATH).status_code == 200


def test_a_thousand_pipelines_are_as_many_queries(viewer: APIClient) -> None:
    PipelineFactory.create(name="first")
    template = Pipeline.objects.values("team_id", "current_revision_id", "host_id", "phase_since").get()
    Pipeline.objects.bulk_create([Pipeline(name=f"p-{n}", **template) for n in range(1000)])
    pipelines = Pipeline.objects.values_list("pk", flat=True)
    add({(pipeline, "shop", "main"): {"read": 3, "delivered": 3, "batches": 1, "longer": 1} for pipeline in pipelines})
    LagPoint.objects.bulk_create(
        LagPoint(pipeline_id=pipeline, at=now(), step=60, partitions=as_rows([lag(1, 1)])) for pipeline in pipelines
    )
    with CaptureQueriesContext(connection) as queries:
        found = scrape(viewer)
    assert len(queries) <= QUERIES
    read = [value for (name, _), value in found.items() if name == "headgate_channel_records_read_total"]
    assert read == [3.0] * 1001
    assert sum(name == "headgate_channel_lag_records" for name, _ in found) == 1001


def test_every_metric_is_exposed_as_it_is_described(viewer: APIClient, settings: Settings) -> None:
    """With the labels and under the names that rules, dashboards and the reference go by."""
    settings.HEADGATE = settings.HEADGATE.model_copy(update={"audit_syslog": "tls://logs"})
    checking.record(found=BEGIN, signer=settings.HEADGATE.signer)
    HostFactory.create(name="alpha", responding=True, tick_ms=1, slots=4, messages={"state": "HEALTHY"})
    full(1)
    Pipeline.objects.update(conditions=[{"type": "PositionsSafe", "status": "True"}])
    described = {name: labels for metric in METRICS for name, labels in metric.series.items()}
    shown = {name: frozenset(label for label, _ in labels) for name, labels in scrape(viewer)}
    assert shown == described
    text = viewer.get(PATH).content.decode()
    families = {family.name: family for family in plain(text)}
    for metric in METRICS:
        name = f"{metric.name}_info" if metric.type == "info" else metric.name
        assert families[name].documentation == metric.help, metric.name
        assert families[name].type == ("gauge" if metric.type == "info" else metric.type), metric.name


def test_names_follow_the_conventions() -> None:
    for metric in METRICS:
        assert metric.name.startswith("headgate_")
        assert not metric.name.endswith(("_total", "_info", "_count", "_sum", "_bucket")), metric.name
        assert metric.help.endswith(".")
        assert not {"partition", "run", "topic", "id", "le"} & set(metric.labels), metric.name


ACCEPTED = {
    "": "text/plain; version=0.0.4; charset=utf-8",
    "*/*": "text/plain; version=0.0.4; charset=utf-8",
    "application/json": "text/plain; version=0.0.4; charset=utf-8",
    "text/plain": "text/plain; version=0.0.4; charset=utf-8",
    "text/plain;version=x": "text/plain; version=0.0.4; charset=utf-8",
    "application/openmetrics-text;version=one.0": "text/plain; version=0.0.4; charset=utf-8",
    "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1": (
        "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores"
    ),
}


@pytest.mark.parametrize(("accept", "content_type"), ACCEPTED.items())
def test_the_format_is_negotiated(viewer: APIClient, run: Run, accept: str, content_type: str) -> None:
    take(run, done(0, rng(0, 10)))
    response = viewer.get(PATH, headers={"Accept": accept})
    assert (response.status_code, response.headers["Content-Type"]) == (200, content_type)
    assert response.headers["Cache-Control"] == "no-store"
    assert "Accept" in response.headers["Vary"]
    assert scrape(viewer, Accept=accept)[("headgate_channel_records_read_total", frozenset(CHANNEL.items()))] == 10


def test_head_and_options(viewer: APIClient) -> None:
    head = viewer.head(PATH)
    assert (head.status_code, head.content, head.headers["Cache-Control"]) == (200, b"", "no-store")
    options = viewer.options(PATH)
    assert (options.status_code, options.headers["Cache-Control"]) == (200, "no-store")
    assert options.headers["Allow"] == "GET, HEAD, OPTIONS"
    assert _of(Role.ADMIN).post(PATH).status_code == 405


def test_without_a_token_or_with_a_wrong_one_nothing_is_shown() -> None:
    PipelineFactory.create(name="orders")
    for client, status in ((APIClient(), 401), (_with("Token hg_wrong"), 401), (_of(None), 403)):
        for response in (client.get(PATH, headers={"Accept": "text/plain"}), client.get(PATH)):
            assert (response.status_code, response.headers["Content-Type"]) == (status, "application/problem+json")
            assert response.headers["Cache-Control"] == "no-store"
            assert b"orders" not in response.content
    assert APIClient().get(PATH).headers["WWW-Authenticate"] == "Token"


def _with(authorization: str) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=authorization)
    return client


def _of(role: Role | None) -> APIClient:
    token = access.create_token(user=UserFactory.create(role=role), name="t", expires=None)
    return _with(f"Token {token}")


@pytest.mark.parametrize("role", list(Role))
def test_every_role_reads_them(role: Role) -> None:
    assert _of(role).get(PATH).status_code == 200


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("10.1.2.3", 200),
        ("::ffff:10.1.2.3", 200),
        ("fd00::1", 200),
        ("10.2.0.1", 401),
        ("fd01::1", 401),
        ("", 401),
        ("not-an-address", 401),
    ],
)
def test_clients_of_listed_networks_need_no_token(settings: Settings, address: str, status: int) -> None:
    networks = [ip_network("10.1.0.0/16"), ip_network("fd00::/64")]
    settings.HEADGATE = settings.HEADGATE.model_copy(update={"metrics_networks": networks})
    client = APIClient(REMOTE_ADDR=address)
    assert client.get(PATH).status_code == status
    assert client.get("/api/v1/pipelines").status_code == 401
    forged = client.get(PATH, headers={"X-Forwarded-For": "10.1.2.3"})
    assert forged.status_code == status


@contextmanager
def database_away() -> Iterator[None]:
    def refuse(*_: Any) -> Any:
        raise OperationalError("the connection was refused")

    with connection.execute_wrapper(refuse):
        yield


def test_a_database_that_is_away_is_an_answer_without_metrics(viewer: APIClient, settings: Settings) -> None:
    assert viewer.get(PATH).status_code == 200
    settings.HEADGATE = settings.HEADGATE.model_copy(update={"metrics_networks": [ip_network("127.0.0.0/8")]})
    for client in (viewer, APIClient()):
        with database_away():
            response = client.get(PATH, headers={"Accept": "text/plain"})
        assert (response.status_code, response.headers["Content-Type"]) == (503, "application/problem+json")
        assert response.json()["code"] == "database_unavailable"
        assert response.headers["Cache-Control"] == "no-store"
        assert int(response.headers["Retry-After"]) > 0
    assert viewer.get(PATH).status_code == 200


def test_totals_of_a_purged_pipeline_go_with_it(run: Run) -> None:
    take(run, done(0, rng(0, 10)))
    Run.objects.filter(pipeline=run.pipeline).delete()
    Pipeline.objects.filter(pk=run.pipeline_id).update(current_revision=None)
    Pipeline.objects.filter(pk=run.pipeline_id).delete()
    assert not ChannelTotals.objects.exists()
