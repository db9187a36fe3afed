"""Alerts, their rules, lag and watched groups over HTTP: roles, answers, and the command line."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from pipelines.domain.monitoring.lag import PartitionLag
from pipelines.domain.positions.plan import Goal, Target
from pipelines.models import Alert, AlertSetting, Event, LagPoint
from pipelines.selectors.positions.resets import target_of
from pipelines.services.monitoring import alerts, deliveries
from pipelines.services.monitoring.lag import measures
from tests.db.conftest import Run
from tests.db.test_cli_against_the_api import run
from tests.factories import PipelineFactory
from tests.fakes.receivers import receiver

__all__ = ["run"]
pytestmark = pytest.mark.django_db
ALERTS, RULES = "/api/v1/alerts", "/api/v1/alert-rules"


def raised(**fields: Any) -> Alert:
    alert = alerts.raise_alert(**{"rule": "blocked", "key": "orders", "message": "Decide.", **fields})
    assert alert is not None
    return alert


def test_alerts_that_stand_are_listed_and_filtered(viewer: APIClient) -> None:
    raised(pipeline=PipelineFactory.create(name="orders"))
    raised(rule="disk", key="alpha")
    raised(rule="disk", key="beta")
    alerts.clear_alert(rule="disk", key="beta")

    def keys(query: str) -> list[str]:
        return [alert["key"] for alert in viewer.get(f"{ALERTS}{query}").json()["results"]]

    assert keys("") == ["alpha", "orders"]
    assert keys("?state=RESOLVED") == ["beta"]
    assert keys("?pipeline=orders") == ["orders"]
    assert keys("?rule=disk") == ["alpha"]
    assert viewer.get(f"{ALERTS}?state=x").status_code == 400


def test_an_operator_acknowledges_and_a_viewer_does_not(viewer: APIClient, operator: APIClient) -> None:
    address = f"{ALERTS}/{raised().pk}/acknowledge"
    assert viewer.post(address, {}, format="json").status_code == 403
    answer = operator.post(address, {}, format="json")
    assert (answer.status_code, answer.json()["acknowledged_by"]) == (200, "operator")
    alerts.clear_alert(rule="blocked", key="orders")
    assert operator.post(address, {}, format="json").json()["code"] == "alert_resolved"


def test_an_alert_says_how_severe_it_is_what_to_do_and_who_was_told(viewer: APIClient, operator: APIClient) -> None:
    raised(pipeline=PipelineFactory.create(name="orders", labels={"team": "shop"}))
    receiver("alert.*", description="Operations")
    raised(rule="lag", key="clicks", pipeline=PipelineFactory.create(name="clicks"))
    raised(rule="of_others", key="x")
    deliveries.plan(settled=0)
    silenced: dict[str, Any] = {"matchers": {"rules": ["lag"]}, "ends_at": "", "comment": "Works."}
    silenced["ends_at"] = (datetime.now(UTC) + timedelta(hours=2)).isoformat()
    made = operator.post("/api/v1/silences", silenced, format="json").json()

    def shown(query: str) -> list[dict[str, Any]]:
        return list(viewer.get(f"{ALERTS}{query}").json()["results"])

    others, lag, orders = shown("")
    assert [each["severity"] for each in (others, lag, orders)] == ["warning", "warning", "critical"]
    assert (orders["labels"], orders["deliveries"], orders["silence"]) == ({"team": "shop"}, [], None)
    assert orders["next_step"].startswith("Read the findings")
    (delivery,) = lag["deliveries"]
    assert (delivery["receiver_name"], delivery["about"], delivery["state"]) == (
        "Operations",
        "alert.opened",
        "SUPPRESSED",
    )
    assert (lag["silence"], lag["silenced_until"]) == (made["id"], made["ends_at"])
    assert [each["key"] for each in shown("?severity=critical")] == ["orders"]
    assert [each["key"] for each in shown("?severity=warning")] == ["x", "clicks"]
    assert [each["key"] for each in shown("?label=team:shop")] == ["orders"]
    assert [each["key"] for each in shown("?label=team")] == ["orders"]
    assert shown("?label=team:pay") == []
    assert viewer.get(f"{ALERTS}?severity=high").status_code == 400


def test_alerts_are_counted(viewer: APIClient, operator: APIClient) -> None:
    address = f"{ALERTS}/counts"
    assert viewer.get(address).json() == {
        "open": 0,
        "acknowledged": 0,
        "severities": {"critical": 0, "warning": 0, "info": 0},
    }
    seen = raised()
    raised(rule="lag", key="a")
    raised(rule="of_others", key="b")
    operator.post(f"{ALERTS}/{seen.pk}/acknowledge", {"note": "On it."}, format="json")
    assert viewer.get(address).json() == {
        "open": 2,
        "acknowledged": 1,
        "severities": {"critical": 0, "warning": 2, "info": 0},
    }
    assert viewer.get(f"{ALERTS}?state=ACKNOWLEDGED").json()["results"][0]["acknowledged_note"] == "On it."


def test_a_page_of_alerts_takes_a_fixed_number_of_queries(viewer: APIClient) -> None:
    receiver("alert.*")

    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            assert viewer.get(ALERTS).status_code == 200
        return len(asked)

    raised(pipeline=PipelineFactory.create(name="orders"))
    deliveries.plan(settled=0)
    few = queries()
    for number in range(30):
        raised(rule="lag", key=str(number), pipeline=PipelineFactory.create())
    deliveries.plan(settled=0)
    assert queries() == few


def test_rules_are_set_for_labels_and_pipelines_and_unset_again(viewer: APIClient, operator: APIClient) -> None:
    body = {"label": "team:shop", "records": 10, "seconds": None, "for_seconds": 0}
    assert viewer.put(f"{RULES}/lag", body, format="json").status_code == 403
    assert operator.put(f"{RULES}/lag", body, format="json").status_code == 200
    rule = next(each for each in viewer.get(RULES).json() if each["rule"] == "lag")
    assert rule["defaults"] == {
        "enabled": True,
        "for_seconds": 120.0,
        "records": None,
        "seconds": 900.0,
        "deviations": None,
    }
    (override,) = rule["overrides"]
    assert (override["label"], override["records"], override["enabled"]) == ("team:shop", 10, None)
    assert override["off"] == ["seconds"]
    assert operator.delete(f"{RULES}/lag?label=team:shop").status_code == 204
    assert operator.delete(f"{RULES}/lag?label=team:shop").status_code == 404
    off = operator.put(f"{RULES}/output", {"deviations": None}, format="json").json()
    assert (off["deviations"], off["off"]) == (None, ["deviations"])
    assert operator.put(f"{RULES}/output", {"deviations": 0.5}, format="json").status_code == 422
    assert AlertSetting.objects.get(rule="output").values == {"deviations": None}
    assert operator.put(f"{RULES}/nothing", {}, format="json").status_code == 404
    both = operator.put(f"{RULES}/lag", {"label": "a", "pipeline": "b"}, format="json")
    assert (both.status_code, both.json()["code"]) == (422, "body_invalid")


def test_a_rule_about_hosts_is_not_set_for_pipelines(operator: APIClient) -> None:
    refused = operator.put(f"{RULES}/host_silent", {"label": "team:shop", "for_seconds": 300}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (422, "scope_without_effect")
    assert operator.put(f"{RULES}/host_silent", {"for_seconds": 300}, format="json").status_code == 200


def seen(pipeline: Any, minutes: float, position: int) -> None:
    part = PartitionLag("shop", "main", "orders-in", 0, position, 200, 200 - position, 5.0)
    at = datetime.now(UTC) - timedelta(minutes=minutes)
    LagPoint.objects.create(pipeline=pipeline, at=at, step=60, **measures([part]))


def test_of_two_sources_of_one_topic_each_goes_back_to_its_own_place() -> None:
    pipeline = PipelineFactory.create(name="orders")
    parts = [PartitionLag(name, "main", "in", 0, at, 2000, 0, 5.0) for name, at in (("eu", 1000), ("us", 20))]
    at = datetime.now(UTC) - timedelta(minutes=9)
    LagPoint.objects.create(pipeline=pipeline, at=at, step=60, **measures(parts))
    event = Event.objects.create(at=datetime.now(UTC), kind="x", message="y")
    found = target_of(pipeline, f"before={event.pk}", now=datetime.now(UTC), source="eu")
    assert (found.offsets, found.source) == ({"in": {0: 1000}}, "eu")
    later = target_of(pipeline, f"before={event.pk}", now=datetime.now(UTC), source="added_since")
    assert (later.goal, later.source) == (Goal.TIMESTAMP, "added_since")
    with pytest.raises(ValueError, match="both read in"):
        target_of(pipeline, f"before={event.pk}", now=datetime.now(UTC))


def test_a_pipeline_goes_back_to_where_it_was_seen_before_an_event() -> None:
    pipeline = PipelineFactory.create(name="orders")
    seen(pipeline, 40, 100)
    seen(pipeline, 20, 150)
    event = Event.objects.create(at=datetime.now(UTC) - timedelta(minutes=5), kind="x", message="y")

    def target(back: str) -> Target:
        return target_of(pipeline, f"before={event.pk}{back}", now=datetime.now(UTC))

    assert (target("-30m").goal, target("-30m").offsets) == (Goal.OFFSETS, {"orders-in": {0: 100}})
    assert target("").offsets == {"orders-in": {0: 150}}
    older = target("-2h")
    assert older.goal is Goal.TIMESTAMP
    assert older.at == round((event.at - timedelta(hours=2)).timestamp() * 1000)


@pytest.mark.django_db(transaction=True)
def test_the_command_line_shows_alerts_lag_and_groups(run: Run) -> None:
    pipeline = PipelineFactory.create(name="orders")
    alert = raised(pipeline=pipeline)
    seen(pipeline, 2, 150)
    added = run("consumer-groups", "add", "billing", "--bootstrap-servers", "broker:9092", "--interval", "5")
    assert added.exit_code == 0, added.output
    for command, words in (
        (["alerts", "list"], "Decide."),
        (["alerts", "rules", "list"], "for_seconds"),
        (["lag", "orders"], "orders-in/0"),
        (["consumer-groups", "list"], "billing"),
        (["consumer-groups", "show", "billing"], "broker:9092"),
        (["alerts", "acknowledge", str(alert.pk)], "Decide."),
        (["alerts", "rules", "set", "lag", "--seconds", "5"], "all pipelines"),
        (["alerts", "rules", "set", "output", "--deviations", "3", "--label", "team:shop"], "team:shop"),
    ):
        plain, as_json = run(*command), run(*command, "-o", "json")
        assert plain.exit_code == as_json.exit_code == 0, (command, plain.output, as_json.output)
        assert words in plain.stdout + as_json.stdout, command
        json.loads(as_json.stdout)
    assert run("alerts", "rules", "unset", "lag").exit_code == 0
    event = Event.objects.earliest("id").pk
    assert (
        "not_seen_yet"
        in run("consumer-groups", "plan-reset", "billing", "--to", f"before={event}", "-o", "json").stderr
    )
    assert run("consumer-groups", "remove", "billing").exit_code == 0
    assert run("consumer-groups", "show", "billing").exit_code == 1


def test_a_rule_says_how_severe_it_is_what_it_compares_with_and_whom_it_can_be_set_for(viewer: APIClient) -> None:
    rules = {each["rule"]: each for each in viewer.get(RULES).json()}
    assert (rules["lag"]["severity"], rules["lag"]["thresholds"]) == ("warning", ["records", "seconds"])
    assert rules["output"]["thresholds"] == ["records", "seconds", "deviations"]
    assert rules["blocked"]["thresholds"] == []
    assert {name for name, each in rules.items() if not each["about_pipelines"]} == {
        "host_silent",
        "disk_low",
        "audit_broken",
    }
    assert all(each["next_step"] for each in rules.values())
