"""The condition Output from stored rows of the ledger: checked for a host at once, stored, alerted on, over again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from pipelines.domain.base.states import LedgerState, Phase
from pipelines.domain.lifecycle.conditions import ConditionType
from pipelines.domain.monitoring.alert_rules import AlertRule, Facts
from pipelines.foundation import clock
from pipelines.models import Alert, AlertSetting, Event, OutputVerdict, Pipeline, Run
from pipelines.selectors.monitoring import lag
from pipelines.selectors.monitoring import output as reading
from pipelines.services.ledger.rollup import roll_up
from pipelines.services.monitoring import alerts
from pipelines.services.monitoring.alerts import Patience
from pipelines.services.monitoring.output import CHECK_SECONDS, OutputWatch
from tests.factories import LedgerBatchFactory, PipelineFactory, RunFactory

pytestmark = pytest.mark.django_db
START = datetime(2026, 1, 20, 12, tzinfo=UTC)
GUILTY = "sources.orders.interceptors[1]"
FINE: dict[str, Any] = {"read": 3_000, "delivered": 2_940, "filtered": 60, "components": {GUILTY: {"filtered": 60}}}
BAD: dict[str, Any] = {"read": 3_000, "delivered": 0, "filtered": 3_000, "components": {GUILTY: {"filtered": 3_000}}}


class Host:
    """A worker that watches its host as time goes on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = START
        self.watch, self.patience = OutputWatch("alpha"), Patience()
        monkeypatch.setattr(clock, "now", lambda: self.now)

    def look(self) -> None:
        """One pass of the watch."""
        facts = {each.id: each.facts for each in lag.monitored("alpha")}
        told = self.watch.add_to(facts, self.now.timestamp())
        alerts.evaluate(facts=told, patience=self.patience, now=self.now.timestamp())

    def minutes(self, run: Run, number: int, **counts: Any) -> None:
        """Minutes in which the run finishes a batch every thirty seconds, and old ones are merged."""
        for _ in range(number):
            for second in (0, 30):
                write(run, self.now + timedelta(seconds=second), **counts)
            self.now += timedelta(seconds=CHECK_SECONDS)
            self.look()
        roll_up(now=self.now)


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(monkeypatch)


def write(run: Run, at: datetime, **fields: Any) -> None:
    number = run.batches.count()
    ranges = [{"topic": "in", "partition": 0, "start": number, "end": number + 1}]
    LedgerBatchFactory.create(
        run=run, source=fields.pop("source", "orders"), first_batch=number, ranges=ranges, done_at=at, **fields
    )


def runs(pipeline: Pipeline, since: datetime) -> Run:
    run = RunFactory.create(pipeline=pipeline)
    Run.objects.filter(pk=run.pk).update(started_at=since)
    return run


@pytest.fixture
def orders() -> Pipeline:
    return PipelineFactory.create(name="orders", host__name="alpha", phase=Phase.RUNNING, labels={"team": "shop"})


def said(pipeline: Pipeline) -> tuple[str, str]:
    row = OutputVerdict.objects.get(pipeline=pipeline)
    return row.status, row.reason


def standing() -> list[str]:
    return list(Alert.objects.filter(rule=AlertRule.OUTPUT).exclude(state="RESOLVED").values_list("message", flat=True))


def test_a_revision_that_filters_everything_is_seen_within_minutes_and_over_after_the_fix(
    host: Host, orders: Pipeline, viewer: APIClient
) -> None:
    """The story of a migration that changed one pattern: everything ran, nothing arrived, and all was green."""
    before = runs(orders, START - timedelta(days=3))
    for day in range(1, 8):
        for minute in range(-60, 60, 10):
            write(before, START - timedelta(days=day) + timedelta(minutes=minute), **FINE)
    host.minutes(before, 6, **FINE)
    assert said(orders) == ("True", "as_usual")

    Run.objects.filter(pk=before.pk).update(state="ENDED")
    bad, began = runs(orders, host.now), host.now
    host.minutes(bad, 4, **BAD)
    assert standing() == []
    assert said(orders) == ("Unknown", "catching_up")
    host.minutes(bad, 1, **BAD)
    assert host.now - began <= timedelta(minutes=5)
    words = f"Nothing was delivered in 5 min while 30,000 records of source orders were read: {GUILTY} filtered 30,000."
    assert (said(orders), standing()) == (("False", "nothing_delivered"), [words])
    shown = viewer.get("/api/v1/pipelines/orders/status").json()["conditions"]
    (condition,) = [each for each in shown if each["type"] == ConditionType.OUTPUT]
    assert (condition["status"], condition["message"]) == ("False", words)
    (alert,) = viewer.get("/api/v1/alerts?rule=output").json()["results"]
    assert (alert["severity"], alert["pipeline"]) == ("critical", "orders")
    assert alert["next_step"].startswith("Compare the component")

    Run.objects.filter(pk=bad.pk).update(state="ENDED")
    good = runs(orders, host.now)
    host.minutes(good, 1, **FINE)
    assert standing() == []
    host.minutes(good, 5, **FINE)
    assert said(orders) == ("True", "as_usual")
    kinds = list(Event.objects.filter(kind__startswith="alert.").order_by("pk").values_list("kind", flat=True))
    assert kinds == ["alert.opened", "alert.resolved"]


def test_without_a_past_it_learns_and_after_an_hour_it_knows(host: Host, orders: Pipeline) -> None:
    run = runs(orders, START - timedelta(hours=1))
    host.minutes(run, 5, **FINE)
    assert said(orders) == ("Unknown", "learning")
    for _ in range(18):
        host.minutes(run, 5, **FINE)
    assert said(orders) == ("True", "as_usual")
    host.minutes(run, 5, read=3_000, delivered=600, filtered=2_400, components={GUILTY: {"filtered": 2_400}})
    assert said(orders) == ("False", "below_usual")
    assert f"{GUILTY} filtered 24,000" in standing()[0]


def test_merged_rows_say_the_same_of_the_past(host: Host, orders: Pipeline) -> None:
    run = runs(orders, START - timedelta(days=9))
    for day in range(1, 8):
        for minute in range(0, 60, 4):
            write(run, START - timedelta(days=day) + timedelta(minutes=minute), **FINE)
    roll_up(now=START)
    assert run.batches.filter(rolled=2).count() <= 7
    host.minutes(run, 5, **FINE)
    assert said(orders) == ("Unknown", "learning")
    for day in range(1, 8):
        for hour in (-1, 1):
            write(run, START - timedelta(days=day) + timedelta(hours=hour), **FINE)
    host.watch = OutputWatch("alpha")
    host.look()
    assert said(orders) == ("True", "as_usual")


def test_a_standby_reads_from_its_promotion_on(host: Host, orders: Pipeline) -> None:
    run = runs(orders, START - timedelta(days=1))
    Run.objects.filter(pk=run.pk).update(promoted_at=START + timedelta(minutes=1))
    host.minutes(run, 5, **BAD)
    assert said(orders) == ("Unknown", "catching_up")
    host.minutes(run, 1, **BAD)
    assert said(orders) == ("False", "nothing_delivered")
    assert OutputVerdict.objects.get().since == host.now


def test_what_a_replay_reads_beside_the_stream_is_not_checked(host: Host, orders: Pipeline) -> None:
    run = runs(orders, START - timedelta(days=1))
    host.minutes(run, 6, **BAD, state=LedgerState.REPLAYED)
    assert said(orders) == ("Unknown", "quiet")


def test_each_channel_reads_the_records_of_its_source(host: Host, orders: Pipeline) -> None:
    """Records are counted once, deliveries and components are those of all channels."""
    run = runs(orders, START - timedelta(days=1))
    for channel in ("main", "audit"):
        write(run, START + timedelta(seconds=1), channel=channel, **{**BAD, "read": 30_000})
    host.now += timedelta(minutes=4)
    host.look()
    assert "while 30,000 records" in standing()[0]
    assert f"{GUILTY} filtered 3,000." in standing()[0]
    write(run, START + timedelta(seconds=2), channel="audit", read=1, delivered=1)
    host.now += timedelta(seconds=CHECK_SECONDS - 30)
    host.look()
    assert len(standing()) == 1
    host.now += timedelta(seconds=30)
    host.look()
    assert standing() == []


SELECTED = {"sources.orders.selector": {"routed_elsewhere": 3_000}}
MAIN: dict[str, Any] = {"read": 3_000, "delivered": 3_000, "delivered_bytes": 600_000, "channel": "main"}
AUDIT: dict[str, Any] = {**MAIN, "delivered": 1_000, "delivered_bytes": 200_000, "channel": "audit"}
SILENT: dict[str, Any] = {**AUDIT, "delivered": 0, "delivered_bytes": None, "components": SELECTED}


def usually(run: Run, *channels: dict[str, Any]) -> None:
    """Two hours on each of the last days."""
    for day in range(1, 8):
        for minute in range(-60, 60, 10):
            for channel in channels:
                write(run, START - timedelta(days=day) + timedelta(minutes=minute), **channel)


def minutes(host: Host, run: Run, number: int, *channels: dict[str, Any]) -> None:
    for _ in range(number):
        for channel in channels:
            write(run, host.now, **channel)
        host.minutes(run, 1, **{**MAIN, "channel": "main"})


def test_a_channel_that_delivers_nothing_while_its_sibling_goes_on_is_seen_and_over_after_the_fix(
    host: Host, orders: Pipeline
) -> None:
    run = runs(orders, START - timedelta(days=8))
    usually(run, MAIN, AUDIT)
    minutes(host, run, 6, AUDIT)
    assert said(orders) == ("True", "as_usual")
    minutes(host, run, 6, SILENT)
    assert said(orders) == ("False", "channel_silent")
    assert standing()[0].startswith("Channel audit delivered nothing in 5 min while ")
    assert "sources.orders.selector routed elsewhere" in standing()[0]
    host.watch = OutputWatch("alpha")
    minutes(host, run, 1, SILENT)
    assert said(orders) == ("False", "channel_silent")
    minutes(host, run, 2, AUDIT)
    assert (said(orders), standing()) == (("True", "as_usual"), [])


def test_a_channel_that_was_always_quiet_stays_so(host: Host, orders: Pipeline) -> None:
    run = runs(orders, START - timedelta(days=8))
    usually(run, MAIN, SILENT)
    minutes(host, run, 6, SILENT)
    assert said(orders) == ("True", "as_usual")


def test_bodies_that_become_empty_are_seen_though_as_many_records_are_delivered(host: Host, orders: Pipeline) -> None:
    run = runs(orders, START - timedelta(days=8))
    usually(run, MAIN)
    host.minutes(run, 6, **MAIN)
    assert said(orders) == ("True", "as_usual")
    host.minutes(run, 6, **{**MAIN, "delivered_bytes": 0})
    assert said(orders) == ("False", "records_smaller")
    assert standing() == [
        "The bodies that source orders delivered in 5 min have 0 bytes in the mean, usually at least 100."
    ]
    host.watch = OutputWatch("alpha")
    host.minutes(run, 6, **MAIN)
    assert (said(orders), standing()) == (("True", "as_usual"), [])


def test_bytes_that_an_earlier_version_has_not_counted_are_no_small_bodies(host: Host, orders: Pipeline) -> None:
    run = runs(orders, START - timedelta(days=8))
    usually(run, {**MAIN, "delivered_bytes": None})
    host.minutes(run, 6, **MAIN)
    assert said(orders) == ("True", "as_usual")
    host.minutes(run, 6, **{**MAIN, "delivered_bytes": None})
    assert said(orders) == ("True", "as_usual")


@pytest.mark.parametrize("scope", [{"label": "team:shop"}, {"pipeline_name": "orders"}, {}])
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"records": 100_000}, ("Unknown", "quiet")),
        ({"enabled": False}, ("Unknown", "switched_off")),
        ({"seconds": 600.0}, ("Unknown", "catching_up")),
        ({"deviations": None}, ("False", "nothing_delivered")),
    ],
)
def test_it_is_set_like_other_rules(
    host: Host, orders: Pipeline, scope: dict[str, str], values: dict[str, Any], expected: tuple[str, str]
) -> None:
    run = runs(orders, START - timedelta(days=1))
    AlertSetting.objects.create(rule=AlertRule.OUTPUT, values=values, updated_by="ana", **scope)
    host.minutes(run, 5, **BAD)
    assert said(orders) == expected
    assert bool(standing()) == (expected[0] == "False")


def test_a_setting_for_others_changes_nothing(host: Host, orders: Pipeline) -> None:
    AlertSetting.objects.create(rule=AlertRule.OUTPUT, values={"enabled": False}, updated_by="ana", label="team:x")
    host.minutes(runs(orders, START - timedelta(days=1)), 5, **BAD)
    assert said(orders) == ("False", "nothing_delivered")


def test_another_worker_goes_on_from_what_is_stored(host: Host, orders: Pipeline) -> None:
    """The input has stopped meanwhile, so nothing can be checked anew."""
    host.minutes(runs(orders, START - timedelta(days=1)), 5, **BAD)
    (words,), since = standing(), OutputVerdict.objects.get().since
    host.watch = OutputWatch("alpha")
    host.now += timedelta(hours=1)
    host.look()
    assert (standing(), OutputVerdict.objects.get().since) == ([words], since)
    Pipeline.objects.filter(pk=orders.pk).update(phase=Phase.PAUSED)
    host.now += timedelta(minutes=1)
    host.look()
    assert (said(orders), standing()) == (("Unknown", "not_running"), [])


def test_a_verdict_is_shown_while_the_worker_judges_and_never_after(
    host: Host, orders: Pipeline, viewer: APIClient
) -> None:
    def shown() -> tuple[str, str]:
        found = viewer.get("/api/v1/pipelines/orders/status").json()["conditions"]
        return next((each["status"], each["reason"]) for each in found if each["type"] == "Output")

    def measured() -> list[str]:
        lines = viewer.get("/metrics").content.decode().splitlines()
        return [each.rpartition(" ")[2] for each in lines if each.startswith("headgate_pipeline_output_usual{")]

    assert (shown(), measured()) == (("Unknown", "not_checked"), [])
    AlertSetting.objects.create(rule=AlertRule.OUTPUT, values={"deviations": None}, updated_by="ana")
    run = runs(orders, START - timedelta(days=1))
    host.minutes(run, 6, **FINE)
    assert (shown(), measured()) == (("True", "delivering"), ["1.0"])
    host.now += timedelta(minutes=3, seconds=1)
    assert (shown(), measured()) == (("Unknown", "not_checked"), [])
    host.minutes(run, 5, **BAD)
    assert (shown()[0], measured()) == ("False", ["0.0"])


def test_a_defect_keeps_no_other_rule_from_its_alerts(
    host: Host, orders: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.minutes(runs(orders, START - timedelta(days=1)), 5, **BAD)

    def fails(*_: Any) -> Mapping[UUID, Facts]:
        raise ValueError("a defect")

    monkeypatch.setattr(reading, "windows", fails)
    Pipeline.objects.filter(pk=orders.pk).update(phase=Phase.STALLED)
    host.now += timedelta(minutes=1)
    host.look()
    assert set(Alert.objects.exclude(state="RESOLVED").values_list("rule", flat=True)) == {"output", "stalled"}


@pytest.mark.parametrize("number", [1, 20])
def test_a_look_costs_the_same_number_of_queries_whatever_the_number_of_pipelines(host: Host, number: int) -> None:
    """Settings, windows, components, verdicts, host; those between looks cost none, quiet ones no row."""
    for each in range(number):
        pipeline = PipelineFactory.create(name=f"bad-{each}", host__name="alpha", phase=Phase.RUNNING)
        PipelineFactory.create(name=f"quiet-{each}", host__name="alpha", phase=Phase.RUNNING)
        run = runs(pipeline, START - timedelta(days=1))
        for minute in range(4):
            write(run, START + timedelta(minutes=minute), **BAD)
    host.now += timedelta(minutes=4)
    host.look()
    write(run, host.now, **BAD)
    facts = {each.id: each.facts for each in lag.monitored("alpha")}
    host.now += timedelta(minutes=1)
    for expected in (5, 0):
        with CaptureQueriesContext(
            connection,
        ) as asked:
            host.watch.add_to(facts, host.now.timestamp())
        assert len([each for each in asked if "SAVEPOINT" not in each["sql"]]) == expected, asked.captured_queries
    assert OutputVerdict.objects.count() == 2 * number
