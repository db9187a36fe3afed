"""Alerts are raised once, seen by people, and over when their cause is."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from pipelines.domain.base.states import Phase
from pipelines.domain.monitoring.alert_rules import AlertRule, AlertState, Facts
from pipelines.foundation.errors import Conflict, NotFound
from pipelines.models import Alert, AuditRow, Event, Pipeline
from pipelines.services.base.audit import Actor
from pipelines.services.monitoring import alerts
from pipelines.services.monitoring.alerts import Patience
from tests.factories import PipelineFactory

pytestmark = pytest.mark.django_db
ANA = Actor("ana")


def raised(**fields: Any) -> Alert:
    alert = alerts.raise_alert(**{"rule": "disk", "key": "alpha", "message": "Full.", **fields})
    assert alert is not None
    return alert


def kinds() -> list[str]:
    return list(Event.objects.order_by("id").values_list("kind", flat=True))


def evaluate(patience: Patience, now: float, *given: tuple[Pipeline, dict[str, Any]]) -> None:
    facts = {row.id: Facts(pipeline=row.name, **{"phase": Phase.RUNNING, **fields}) for row, fields in given}
    alerts.evaluate(facts=facts, patience=patience, now=now)


def test_an_alert_that_is_raised_again_and_again_is_one_alert_and_one_event() -> None:
    pipeline = PipelineFactory.create()
    first = raised(pipeline=pipeline)
    again = raised(message="Still full.", pipeline=pipeline)
    assert (again.pk, again.message) == (first.pk, "Still full.")
    assert kinds() == ["alert.opened"]


def test_an_alert_that_is_over_opens_anew_when_its_cause_is_back() -> None:
    first = raised()
    assert alerts.clear_alert(rule="disk", key="alpha")
    assert not alerts.clear_alert(rule="disk", key="alpha")
    assert raised().pk != first.pk
    assert kinds() == ["alert.opened", "alert.resolved", "alert.opened"]


def test_an_alert_that_was_seen_stays_seen_until_it_is_over() -> None:
    alert = raised()
    for _ in range(2):
        seen = alerts.acknowledge(alert_id=alert.pk, actor=ANA)
    assert (seen.state, seen.acknowledged_by) == (AlertState.ACKNOWLEDGED, "ana")
    assert raised().state == AlertState.ACKNOWLEDGED
    assert AuditRow.objects.filter(action="alert.acknowledge").count() == 1
    alerts.clear_alert(rule="disk", key="alpha")
    with pytest.raises(Conflict):
        alerts.acknowledge(alert_id=alert.pk, actor=ANA)
    with pytest.raises(NotFound):
        alerts.acknowledge(alert_id=10**6, actor=ANA)


def test_an_alert_opens_with_its_cause_and_is_over_with_it() -> None:
    pipeline, patience = PipelineFactory.create(name="orders"), Patience()
    for _ in range(3):
        evaluate(patience, 0.0, (pipeline, {"phase": Phase.BLOCKED, "phase_message": "Decide."}))
    alert = Alert.objects.get()
    assert (alert.rule, alert.key, alert.pipeline, alert.message) == ("blocked", "orders", pipeline, "Decide.")
    evaluate(patience, 1.0, (pipeline, {}))
    alert.refresh_from_db()
    assert alert.state == AlertState.RESOLVED
    assert kinds() == ["alert.opened", "alert.resolved"]


def test_a_rule_with_patience_waits_until_it_was_broken_for_long_enough_without_a_break() -> None:
    pipeline, patience = PipelineFactory.create(), Patience()
    late: dict[str, Any] = {"lag_seconds": 10_000.0}
    for now, fields in ((0.0, late), (119.0, late), (119.5, {}), (120.0, late), (239.0, late)):
        evaluate(patience, now, (pipeline, fields))
        assert not Alert.objects.exists()
    evaluate(patience, 240.0, (pipeline, late))
    assert Alert.objects.get().rule == "lag"


def test_alerts_of_others_are_left_alone() -> None:
    mine, other = PipelineFactory.create(), PipelineFactory.create()
    alerts.raise_alert(rule="blocked", key=other.name, message="x", pipeline=other)
    alerts.raise_alert(rule="crash_loop", key=mine.name, message="x", pipeline=mine)
    evaluate(Patience(), 0.0, (mine, {}))
    assert Alert.objects.filter(state=AlertState.OPEN).count() == 2


def test_a_setting_decides_whether_a_rule_is_judged_and_can_be_taken_back() -> None:
    pipeline = PipelineFactory.create(name="orders")
    scope = {"rule": AlertRule.BLOCKED, "label": "", "pipeline_name": "orders", "actor": ANA}
    alerts.configure(values={"enabled": False}, **scope)  # type: ignore[arg-type]
    evaluate(Patience(), 0.0, (pipeline, {"phase": Phase.BLOCKED}))
    assert alerts.raise_alert(rule="blocked", key="orders", message="x", pipeline=pipeline) is None
    assert not Alert.objects.exists()
    alerts.unset(**scope)  # type: ignore[arg-type]
    evaluate(Patience(), 0.0, (pipeline, {"phase": Phase.BLOCKED}))
    assert Alert.objects.exists()
    with pytest.raises(NotFound):
        alerts.unset(**scope)  # type: ignore[arg-type]


def test_judging_a_hundred_pipelines_takes_as_many_queries_as_judging_one() -> None:
    rows = [PipelineFactory.create() for _ in range(20)]
    patience = Patience()
    evaluate(patience, 0.0, *((row, {"phase": Phase.STALLED}) for row in rows))
    counted = []
    for some in (rows[:1], rows):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            evaluate(patience, 1.0, *((row, {"phase": Phase.STALLED}) for row in some))
        counted.append(len(queries))
    assert counted == [2, 2]
