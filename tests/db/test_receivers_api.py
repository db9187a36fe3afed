"""Receivers over REST: for admins, every finding at once, audited, and never a secret or a whole address elsewhere."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.models import Model
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from pipelines.domain.monitoring.webhooks import DeliveryState
from pipelines.models import Alert, AuditRow, Delivery, Event, IdempotencyKey, Receiver
from pipelines.services.monitoring import deliveries, receivers
from tests.fakes.receivers import happen

pytestmark = pytest.mark.django_db
HOOKS = "/api/v1/receivers"
SECRET = f"whsec_{base64.b64encode(b'c' * 32).decode()}"
PATH = "/canary-path"
BODY = {"url": f"https://hooks.example.com{PATH}?token=canary", "events": ["alert.*"], "secrets": ["${secret:hooks}"]}


@pytest.fixture(autouse=True)
def _store(key_file: Path, admin: APIClient) -> None:
    """An open store with one secret that can sign, and one that cannot."""
    for name, value in (("hooks", SECRET), ("hooks-2", SECRET), ("password", "canary-password")):
        assert (
            admin.put(f"/api/v1/secrets/{name}", {"value": value, "purpose": "receivers"}, format="json").status_code
            == 201
        )


def post(client: APIClient, **changes: Any) -> Any:
    return client.post(HOOKS, {**BODY, **changes}, format="json")


def _stored(*models: type[Model]) -> str:
    return str([row for model in models for row in model._default_manager.values()])


def test_an_endpoint_is_added_changed_and_removed_and_each_is_audited(admin: APIClient) -> None:
    made = post(admin, description="Operations")
    assert (made.status_code, made["Location"]) == (201, f"{HOOKS}/{made.json()['id']}")
    assert made.json()["secrets"] == ["${secret:hooks}"]
    address = made["Location"]
    changed = admin.patch(
        address, {"events": ["*"], "secrets": ["${secret:hooks-2}", "${secret:hooks}"]}, format="json"
    )
    assert (changed.status_code, changed.json()["description"], changed["ETag"]) == (200, "Operations", '"2"')
    assert admin.get(address).json() == changed.json() == admin.get(HOOKS).json()["results"][0]
    assert admin.delete(address).status_code == 204
    assert admin.get(address).json()["code"] == "receiver_not_found"
    actions = [row.action for row in AuditRow.objects.filter(action__startswith="receiver").order_by("id")]
    assert actions == ["receiver.created", "receiver.updated", "receiver.deleted"]


def test_nothing_tells_of_the_secret_and_nothing_else_of_the_path(admin: APIClient) -> None:
    made = post(admin)
    admin.patch(made["Location"], {"enabled": False}, format="json")
    admin.patch(made["Location"], {"enabled": True}, format="json")
    admin.post(f"{made['Location']}/test", {}, format="json")
    receivers.switch_off(receiver=Receiver.objects.get(), reason="x.")
    reported = _stored(AuditRow, Event, Alert)
    assert "https://hooks.example.com" in reported
    assert "canary" not in reported
    assert SECRET not in reported + _stored(IdempotencyKey, Receiver, Delivery)
    assert SECRET.encode() not in made.content


def test_every_finding_comes_at_once(admin: APIClient) -> None:
    answer = post(
        admin, url="http://127.0.0.1/", events=["No"], secrets=["${secret:nobody}", "${secret:password}", SECRET]
    )
    assert (answer.status_code, answer.json()["code"]) == (422, "receiver_invalid")
    assert [(f["path"], f["code"]) for f in answer.json()["findings"]] == [
        ("url", "https_required"),
        ("url", "address_not_public"),
        ("events[0]", "invalid_event_type"),
        ("secrets", "secrets_missing"),
        ("secrets[2]", "secret_not_a_reference"),
        ("secrets[0]", "secret_not_found"),
        ("secrets[1]", "bad_webhook_secret"),
    ]
    assert SECRET.encode() not in answer.content
    assert b"canary" not in answer.content
    assert not Receiver.objects.exists()


def test_settings_say_where_messages_may_go(admin: APIClient, settings: Any) -> None:
    reach = {"webhook_http": True, "webhook_networks": ["127.0.0.0/8"]}
    settings.HEADGATE = type(settings.HEADGATE).model_validate({**settings.HEADGATE.model_dump(), **reach})
    assert post(admin, url="http://127.0.0.1:9000/").status_code == 201
    assert post(admin, url="http://10.0.0.1:9000/").status_code == 422


def test_a_closed_store_is_no_hindrance(admin: APIClient, settings: Any, tmp_path: Path) -> None:
    settings.HEADGATE = settings.HEADGATE.model_copy(update={"secret_key_file": tmp_path / "none"})
    assert post(admin).status_code == 201


def test_only_admins_see_and_set_receivers(admin: APIClient, operator: APIClient) -> None:
    address = post(admin)["Location"]
    for path in (HOOKS, address, f"{address}/deliveries"):
        assert operator.get(path).status_code == operator.head(path).status_code == 403
    assert post(operator).status_code == 403
    assert operator.patch(address, {"enabled": False}, format="json").status_code == 403
    assert operator.post(f"{address}/test", {}, format="json").status_code == 403
    assert operator.delete(address).status_code == 403
    assert Receiver.objects.get().enabled


def test_a_change_of_what_was_changed_meanwhile_is_refused(admin: APIClient) -> None:
    made = post(admin)
    address, seen = made["Location"], made["ETag"]
    assert admin.patch(address, {"description": "a"}, format="json", headers={"If-Match": seen}).status_code == 200
    late = admin.patch(address, {"description": "b"}, format="json", headers={"If-Match": seen})
    assert (late.status_code, late.json()["code"]) == (412, "changed_meanwhile")
    assert Receiver.objects.get().description == "a"


def test_switched_off_what_waits_goes_on_waiting_and_switched_on_it_is_sent_with_what_follows(admin: APIClient) -> None:
    address = post(admin, events=["phase.*"])["Location"]
    (first,) = happen("phase.changed")
    deliveries.plan(settled=0)
    assert admin.get(address).json()["waiting"] == 1
    admin.patch(address, {"enabled": False}, format="json")
    (row,) = admin.get(f"{address}/deliveries", {"state": "WAITING"}).json()["results"]
    assert row["type"] == "phase.changed"
    happen("phase.changed")
    for refused in (f"{address}/test", f"{address}/deliveries/{row['id']}/retry"):
        assert admin.post(refused, {}, format="json").json()["code"] == "receiver_disabled"
    admin.patch(address, {"enabled": True}, format="json")
    (last,) = happen("phase.changed")
    deliveries.plan(settled=0)
    waiting = Delivery.objects.filter(state=DeliveryState.WAITING).order_by("event_id")
    assert list(waiting.values_list("event_id", flat=True)) == [first.pk, last.pk]


def test_the_alert_of_an_endpoint_is_over_when_it_is_switched_on(admin: APIClient) -> None:
    address = post(admin)["Location"]
    receivers.switch_off(receiver=Receiver.objects.get(), reason="its endpoint answers 410 Gone.")
    shown = admin.get(address).json()
    assert (shown["enabled"], shown["disabled_reason"]) == (False, "its endpoint answers 410 Gone.")
    assert Alert.objects.get().state == "OPEN"
    assert admin.patch(address, {"enabled": True}, format="json").json()["disabled_reason"] == ""
    assert Alert.objects.get().state == "RESOLVED"


def test_a_trial_answers_with_its_delivery_and_a_repeated_request_with_the_same(admin: APIClient) -> None:
    address = post(admin)["Location"]
    headers = {"Idempotency-Key": "k"}
    first, second = (admin.post(f"{address}/test", {}, format="json", headers=headers) for _ in range(2))
    assert (first.status_code, first.json()) == (202, second.json())
    assert admin.get(first["Location"]).json() == first.json()
    assert (first.json()["type"], first.json()["state"]) == ("webhook.ping", "WAITING")
    assert Delivery.objects.count() == 1


def test_a_delivery_is_retried_and_one_of_another_receiver_is_not_found(admin: APIClient) -> None:
    address, other = (post(admin)["Location"] for _ in range(2))
    delivery = admin.post(f"{address}/test", {}, format="json").json()["id"]
    Delivery.objects.update(state=DeliveryState.FAILED, attempts=1, next_attempt_at=None)
    again = admin.post(f"{address}/deliveries/{delivery}/retry", {}, format="json")
    assert (again.status_code, again.json()["state"], again.json()["attempts"]) == (202, "WAITING", 1)
    assert AuditRow.objects.filter(action="receiver.retry", after__delivery=delivery).exists()
    refused = admin.post(f"{other}/deliveries/{delivery}/retry", {}, format="json")
    assert refused.json()["code"] == "delivery_not_found"


def test_lists_take_a_fixed_number_of_queries(admin: APIClient) -> None:
    address = post(admin, events=["*"])["Location"]

    def queries(path: str) -> int:
        with CaptureQueriesContext(connection) as asked:
            assert admin.get(path).status_code == 200
        return len(asked)

    happen("phase.changed")
    deliveries.plan(settled=0)
    few = queries(HOOKS), queries(f"{address}/deliveries")
    for _ in range(3):
        post(admin)
    happen(*["phase.changed"] * 9)
    deliveries.plan(settled=0)
    assert (queries(HOOKS), queries(f"{address}/deliveries")) == few


def test_a_secret_that_signs_is_deleted_only_by_force(admin: APIClient) -> None:
    number = post(admin).json()["id"]
    listed = {each["name"]: each["receivers"] for each in admin.get("/api/v1/secrets").json()["results"]}
    assert listed == {"hooks": [number], "hooks-2": [], "password": []}
    refused = admin.delete("/api/v1/secrets/hooks?purpose=receivers")
    assert (refused.status_code, refused.json()["code"]) == (409, "secret_used_by_receivers")
    assert admin.delete("/api/v1/secrets/hooks?force=true&purpose=receivers").status_code == 204


def test_there_is_a_most_of_receivers(admin: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receivers, "MOST_RECEIVERS", 1)
    assert post(admin).status_code == 201
    assert post(admin).json()["code"] == "too_many_receivers"
    assert json.loads(admin.get(HOOKS).content)["next"] is None


def test_receivers_of_each_kind_are_made_with_what_they_need(admin: APIClient, settings: Any) -> None:
    mail = {"smtp_host": "mail.example.com", "smtp_sender": "headgate@example.com"}
    settings.HEADGATE = settings.HEADGATE.model_copy(update=mail)
    for name, value in (("slack", "https://hooks.slack.com/services/T/B/canary"), ("pagerduty", "c" * 32)):
        admin.put(f"/api/v1/secrets/{name}", {"value": value, "purpose": "receivers"}, format="json")
    for kind, fields, target, events in (
        ("slack", {"secrets": ["${secret:slack}"]}, "Slack", ["alert.opened", "alert.resolved"]),
        ("pagerduty", {"secrets": ["${secret:pagerduty}"]}, "https://events.pagerduty.com", ["alert.*"]),
        ("email", {"email": {"recipients": ["a@b.example"]}}, "a@b.example", ["alert.opened", "alert.resolved"]),
    ):
        made = admin.post(HOOKS, {"kind": kind, **fields}, format="json")
        assert made.status_code == 201, made.json()
        shown = made.json()
        assert (shown["kind"], shown["target"], shown["events"]) == (kind, target, events)
        assert shown == admin.get(made["Location"]).json()
        test = admin.post(f"{made['Location']}/test", {}, format="json")
        assert (test.status_code, test.json()["type"]) == (202, "receiver.test")
    assert "canary" not in _stored(AuditRow, Event, Receiver, Delivery)


def test_every_finding_of_a_kind_and_of_its_matchers_comes_at_once(admin: APIClient) -> None:
    matchers = {"labels": [":x"], "rules": ["blokced"], "severities": ["high"]}
    body = {"kind": "slack", "url": "https://a.example", "secrets": ["${secret:hooks}"], "matchers": matchers}
    answer = admin.post(HOOKS, {**body, "events": ["phase.*"]}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (422, "receiver_invalid")
    assert [(each["path"], each["code"]) for each in answer.json()["findings"]] == [
        ("url", "address_is_a_secret"),
        ("events[0]", "not_an_alert"),
        ("matchers.labels[0]", "invalid_label"),
        ("matchers.rules[0]", "unknown_rule"),
        ("matchers.severities[0]", "unknown_severity"),
        ("secrets[0]", "bad_address"),
    ]
    assert SECRET.encode() not in answer.content
    unknown = admin.post(HOOKS, {"kind": "pager"}, format="json")
    assert (unknown.status_code, unknown.json()["findings"][0]["path"]) == (422, "kind")


def test_matchers_are_replaced_as_a_whole_and_the_rest_stays(admin: APIClient) -> None:
    made = post(admin, matchers={"labels": ["team:shop"], "severities": ["critical"]})
    changed = admin.patch(made["Location"], {"matchers": {"rules": ["lag"]}}, format="json").json()
    assert changed["matchers"] == {"pipelines": [], "labels": [], "rules": ["lag"], "severities": []}
    assert changed["events"] == BODY["events"]
    refused = admin.patch(made["Location"], {"kind": "slack"}, format="json")
    assert refused.json()["code"] == "body_invalid"
