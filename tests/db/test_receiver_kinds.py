"""Alerts reach Slack, PagerDuty and mailboxes: routed, in order, once, and with what a reader needs."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from pipelines.domain.monitoring.receivers import PAGERDUTY_URL, MailServer
from pipelines.domain.monitoring.webhooks import DELAYS, DeliveryResponse, DeliveryState
from pipelines.models import Alert, Delivery, Receiver
from pipelines.services.base.audit import Actor
from pipelines.services.monitoring import alerts, deliveries, receivers
from tests.factories import PipelineFactory
from tests.fakes.receivers import FakeMails, FakePosts, FakeSecrets, Sent, Time, happen, receiver, sender, turn

pytestmark = pytest.mark.django_db
ANA = Actor("ana")
SLACK = "https://hooks.slack.com/services/T/B/canary"
ROUTING_KEY = "c" * 32
FAILS = DeliveryResponse(500, "no")


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    return Time(monkeypatch)


@pytest.fixture
def secrets() -> FakeSecrets:
    made = FakeSecrets()
    made.values |= {"slack": SLACK, "pagerduty": ROUTING_KEY, "smtp": "canary-password", "own": "canary-own"}
    return made


def slack(**more: Any) -> Receiver:
    return receiver("alert.*", kind="slack", url="", secrets=["slack"], **more)


def pagerduty(**more: Any) -> Receiver:
    return receiver("alert.*", **{"kind": "pagerduty", "url": "", "secrets": ["pagerduty"], **more})


def fire(name: str = "orders", rule: str = "blocked", **labels: str) -> Alert:
    pipeline = PipelineFactory.create(name=name, labels=labels)
    alert = alerts.raise_alert(rule=rule, key=name, message="A sink refuses.", pipeline=pipeline)
    assert alert is not None
    return alert


def bodies(posts: FakePosts) -> list[Any]:
    return [json.loads(message.body) for message in posts.sent]


def test_slack_is_told_of_an_alert_and_of_its_end(time: Time, secrets: FakeSecrets) -> None:
    slack()
    alert = fire(rule="agent_crashed")
    posts = FakePosts()
    worker = sender(posts, time, secrets)
    turn(worker)
    time.pass_(60)
    alerts.clear_alert(rule=alert.rule, key=alert.key)
    for _ in range(3):
        turn(worker)
    assert [message.url for message in posts.sent] == [SLACK] * 2
    firing, over = posts.sent
    for words in (
        "orders",
        "A sink refuses.",
        "warning",
        "2026-01-01 00:00:00 UTC",
        "Read the log",
        "/pipelines/orders",
    ):
        assert words in firing.body.decode(), words
    assert "[RESOLVED]" in over.body.decode()
    assert "2026-01-01 00:01:00 UTC" in over.body.decode()


def test_pagerduty_is_triggered_acknowledged_and_resolved_with_one_key(time: Time, secrets: FakeSecrets) -> None:
    pagerduty()
    alert = fire()
    posts = FakePosts()
    worker = sender(posts, time, secrets)
    turn(worker)
    alerts.acknowledge(alert_id=alert.pk, actor=ANA)
    turn(worker)
    alerts.clear_alert(rule=alert.rule, key=alert.key)
    turn(worker)
    assert [(each["event_action"], each["dedup_key"], each["routing_key"]) for each in bodies(posts)] == [
        (action, f"headgate:blocked:{alert.pk}", ROUTING_KEY) for action in ("trigger", "acknowledge", "resolve")
    ]
    assert {message.url for message in posts.sent} == {PAGERDUTY_URL}
    assert bodies(posts)[0]["payload"]["severity"] == "critical"


def test_the_messages_about_one_alert_keep_their_order(time: Time, secrets: FakeSecrets) -> None:
    pagerduty(url="https://events.eu.pagerduty.com/v2/enqueue")
    alert = fire()
    posts = FakePosts(lambda _: FAILS)
    worker = sender(posts, time, secrets)
    turn(worker)
    alerts.clear_alert(rule=alert.rule, key=alert.key)
    Receiver.objects.update(failing_since=None)
    turn(worker)
    assert len(posts.sent) == 1
    posts.answer = lambda _: DeliveryResponse(202)
    time.pass_(DELAYS[0])
    for _ in range(3):
        turn(worker)
    assert [each["event_action"] for each in bodies(posts)] == ["trigger", "trigger", "resolve"]
    assert {message.url for message in posts.sent} == {"https://events.eu.pagerduty.com/v2/enqueue"}


def test_mail_goes_through_the_server_of_the_installation_or_one_of_its_own(time: Time, secrets: FakeSecrets) -> None:
    recipients = ["ana@example.com", "ops@example.com"]
    receiver("alert.opened", kind="email", url="", secrets=[], email={"recipients": recipients})
    own = {
        "recipients": ["x@y.example"],
        "host": "smtp.y.example",
        "port": 465,
        "tls": "tls",
        "user": "u",
        "sender": "h@y.example",
    }
    receiver("alert.opened", kind="email", url="", secrets=["own"], email=own)
    fire()
    mails = FakeMails()
    turn(sender(FakePosts(), time, secrets, mails))
    (usual, usual_password, first), (server, password, second) = sorted(mails.sent, key=lambda each: each[0].host)
    assert (usual.host, usual_password, first.recipients) == ("mail.example.com", "canary-password", tuple(recipients))
    assert (server, password) == (
        MailServer("smtp.y.example", 465, "tls", "u", "own", "h@y.example"),
        "canary-own",
    )
    assert first.sender == "headgate@example.com"
    assert second.message_id.endswith("@y.example>")
    assert "Next step: Read the findings" in first.text
    assert "https://headgate.example.com/pipelines/orders" in first.text
    assert first.thread == f"<headgate.blocked.{Alert.objects.get().pk}@example.com>"


@pytest.mark.parametrize(
    ("matchers", "expected"),
    [
        ({}, {"orders", "clicks", "host"}),
        ({"labels": ["team:shop"]}, {"orders"}),
        ({"severities": ["warning"]}, {"clicks"}),
        ({"rules": ["host_silent", "blocked"]}, {"orders", "host"}),
        ({"labels": ["team"], "severities": ["critical"]}, {"orders"}),
        ({"pipelines": ["clicks"]}, {"clicks"}),
    ],
)
def test_alerts_are_routed(time: Time, secrets: FakeSecrets, matchers: Any, expected: set[str]) -> None:
    slack(matchers=matchers)
    fire("orders", "blocked", team="shop")
    fire("clicks", "lag", team="pay")
    alerts.raise_alert(rule="host_silent", key="host", message="Silent.")
    posts = FakePosts()
    worker = sender(posts, time, secrets)
    for _ in range(2):
        turn(worker)
    assert {each["text"].split("] ")[1].split(":")[0] for each in bodies(posts)} == expected
    assert Delivery.objects.count() == len(expected)


def test_labels_route_other_events_of_a_webhook_too(time: Time) -> None:
    receiver("phase.*", matchers={"labels": ["team:shop"], "severities": ["critical"]})
    events = happen("phase.changed", "phase.changed")
    events[0].pipeline = PipelineFactory.create(name="orders", labels={"team": "shop"})
    events[0].save()
    posts = FakePosts()
    turn(sender(posts, time))
    assert [each["data"]["pipeline"] for each in bodies(posts)] == ["orders"]


def test_a_flood_of_alerts_goes_out_at_a_bounded_rate(time: Time, secrets: FakeSecrets) -> None:
    slack()
    for number in range(deliveries.MOST_A_MINUTE + 20):
        alerts.raise_alert(rule="host_silent", key=f"host-{number}", message="Silent.")
    posts = FakePosts()
    worker = sender(posts, time, secrets)
    for _ in range(20):
        turn(worker)
        time.pass_(1)
    assert len(posts.sent) == deliveries.MOST_A_MINUTE
    time.pass_(60)
    for _ in range(20):
        turn(worker)
        time.pass_(1)
    assert len(posts.sent) == len({message.body for message in posts.sent}) == deliveries.MOST_A_MINUTE + 20


def test_a_backlog_about_alerts_that_have_ended_is_dropped(time: Time, secrets: FakeSecrets) -> None:
    slack()
    receiver("alert.*", url="https://hook.example/")
    number = deliveries.MOST_A_MINUTE + 20
    for each in range(number):
        alerts.raise_alert(rule="host_silent", key=f"host-{each}", message="Silent.")
    posts = FakePosts()
    worker = sender(posts, time, secrets)
    for _ in range(20):
        turn(worker)
        time.pass_(2)
    last = Alert.objects.get(key=f"host-{number - 1}")
    alerts.acknowledge(alert_id=last.pk, actor=ANA)
    turn(worker)
    time.pass_(deliveries.LATE.total_seconds() - 40)
    before = len([each for each in posts.sent if each.url == SLACK])
    assert before == deliveries.MOST_A_MINUTE
    for each in range(number):
        alerts.clear_alert(rule="host_silent", key=f"host-{each}")
    time.pass_(1)
    for _ in range(200):
        turn(worker)
        time.pass_(2)
    told = [json.loads(each.body)["text"] for each in posts.sent if each.url == SLACK]
    assert len(told) == 2 * deliveries.MOST_A_MINUTE
    assert not [each for each in told if f"host-{number - 1}" in each]
    assert len([each for each in posts.sent if each.url != SLACK]) == 2 * number + 1
    dropped = Delivery.objects.filter(state=DeliveryState.SUPPRESSED, silence=None).exclude(ended_at=None)
    assert dropped.count() == 2 * 20 + 1


def test_the_same_alert_is_not_sent_twice_however_often_it_is_found(time: Time, secrets: FakeSecrets) -> None:
    slack()
    pipeline = PipelineFactory.create(name="orders")
    posts = FakePosts()
    workers = [sender(posts, time, secrets) for _ in range(2)]
    for number in range(5):
        alerts.raise_alert(rule="blocked", key="orders", message=f"Found {number}.", pipeline=pipeline)
        turn(*workers)
        time.pass_(70)
    assert len(posts.sent) == 1


def test_a_secret_that_cannot_be_used_is_said_and_nothing_is_sent(time: Time, secrets: FakeSecrets) -> None:
    slack()
    pagerduty()
    secrets.values |= {"slack": "canary", "pagerduty": "two canaries"}
    fire()
    posts = FakePosts()
    turn(sender(posts, time, secrets))
    assert posts.sent == []
    errors = list(Delivery.objects.order_by("receiver_id").values_list("last_error", flat=True))
    assert "${secret:slack} is not the address" in errors[0]
    assert "${secret:pagerduty} is not an integration key" in errors[1]
    assert "canar" not in "".join(errors)


def test_a_test_says_what_came_of_it_and_of_pagerduty_nothing_stays(time: Time, secrets: FakeSecrets) -> None:
    made = [
        slack(),
        pagerduty(),
        receiver("alert.*", kind="email", url="", secrets=[], email={"recipients": ["a@b.c"]}),
    ]
    for each in made:
        receivers.test(receiver_id=each.pk, actor=ANA)
    posts, mails = FakePosts(), FakeMails(lambda _: DeliveryResponse(550, "The mail server answers 550: no"))
    turn(sender(posts, time, secrets, mails))
    actions = [each["event_action"] for each in bodies(posts) if "event_action" in each]
    assert actions == ["trigger", "resolve"]
    assert mails.sent[0][2].subject == "Test message from Headgate"
    rows = list(Delivery.objects.order_by("receiver_id").values_list("state", "response_status", "attempts"))
    assert rows == [("DELIVERED", 200, 1), ("DELIVERED", 200, 1), ("FAILED", 550, 1)]
    assert set(Delivery.objects.values_list("event__kind", flat=True)) == {"receiver.test"}


def test_an_alert_that_was_deleted_is_still_told_of(time: Time, secrets: FakeSecrets) -> None:
    slack()
    alerts.raise_alert(rule="disk", key="alpha", message="Full.")
    deliveries.plan(settled=0)
    Alert.objects.all().delete()
    posts = FakePosts()
    turn(sender(posts, time, secrets))
    assert "Full." in posts.sent[0].body.decode()
    assert Delivery.objects.get().alert is None


def test_a_receiver_that_is_gone_is_disabled_and_the_others_are_told(time: Time, secrets: FakeSecrets) -> None:
    gone = slack()
    pagerduty()
    fire()

    def answer(message: Sent) -> DeliveryResponse:
        return DeliveryResponse(410, "gone") if message.url == SLACK else DeliveryResponse(202)

    posts = FakePosts(answer)
    worker = sender(posts, time, secrets)
    for _ in range(3):
        turn(worker)
    assert not Receiver.objects.get(pk=gone.pk).enabled
    alert = Alert.objects.get(rule="receiver_disabled")
    assert (alert.key, "(Slack)" in alert.message, "canary" in alert.message) == (f"receiver {gone.pk}", True, False)
    summaries = [each["payload"]["summary"] for each in bodies(posts) if "payload" in each]
    assert any("Slack" in each for each in summaries)


def test_the_queries_of_a_turn_do_not_grow_with_alerts_and_receivers(time: Time, secrets: FakeSecrets) -> None:
    def queries(hooks: int, number: int) -> int:
        for _ in range(hooks):
            slack(matchers={"severities": ["critical"]})
        for each in range(number):
            alerts.raise_alert(rule="host_silent", key=f"{hooks}-{each}", message="Silent.")
        worker = sender(FakePosts(), time, secrets)
        time.pass_(120)
        with CaptureQueriesContext(connection) as asked:
            worker.turn()
            worker.finish()
        return len(asked)

    assert queries(1, 1) == queries(3, 5)


def test_a_receiver_that_takes_nothing_for_days_is_disabled(time: Time, secrets: FakeSecrets) -> None:
    slack()
    fire()
    posts = FakePosts(lambda _: FAILS)
    worker = sender(posts, time, secrets)
    for delay in (0.0, *DELAYS):
        time.pass_(delay)
        turn(worker)
    assert Delivery.objects.filter(state=DeliveryState.FAILED).count() == 1
    assert not Receiver.objects.get().enabled
    assert Receiver.objects.get().failing_since == time.wall - timedelta(seconds=sum(DELAYS))
