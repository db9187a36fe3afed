"""Silences hold messages back and never alerts; what still says something at the end is sent then, and once."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from pipelines.domain.monitoring.matching import Matchers
from pipelines.domain.monitoring.webhooks import DeliveryResponse, DeliveryState
from pipelines.foundation.errors import Conflict, Invalid, NotFound
from pipelines.models import Alert, AuditRow, Delivery, Event, Receiver, Silence
from pipelines.selectors.monitoring.silences import get_silence, silence_schema
from pipelines.services.base.audit import Actor
from pipelines.services.monitoring import alerts, receivers, silences
from pipelines.services.monitoring.silences import SilenceSettings
from tests.factories import PipelineFactory
from tests.fakes.receivers import FakePosts, Time, happen, receiver, sender, turn

pytestmark = pytest.mark.django_db
ANA = Actor("ana")
MONTH = timedelta(days=30)


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    return Time(monkeypatch)


def silence(time: Time, seconds: float = 3600, comment: str = "Works.", **matchers: Any) -> Silence:
    wanted = SilenceSettings(Matchers.of(matchers), time.wall + timedelta(seconds=seconds), comment)
    return silences.create(wanted=wanted, longest=MONTH, actor=ANA)


def fire(name: str = "orders", rule: str = "blocked", **labels: str) -> Alert:
    pipeline = PipelineFactory.create(name=name, labels=labels)
    alert = alerts.raise_alert(rule=rule, key=name, message="Decide.", pipeline=pipeline)
    assert alert is not None
    return alert


def over(alert: Alert) -> None:
    assert alerts.clear_alert(rule=alert.rule, key=alert.key)


def sent(posts: FakePosts) -> list[str]:
    return [json.loads(message.body)["type"] for message in posts.sent]


def states() -> dict[str, str]:
    return {row.event.kind: row.state for row in Delivery.objects.select_related("event").order_by("id")}


def test_an_alert_that_still_fires_when_its_silence_ends_is_delivered_then_and_once(time: Time) -> None:
    receiver("alert.*")
    silence(time, severities=["critical"], labels=["team:shop"])
    alert = fire(team="shop")
    posts = FakePosts()
    worker = sender(posts, time)
    turn(worker)
    time.pass_(3599)
    turn(worker)
    assert (posts.sent, states()) == ([], {"alert.opened": "SUPPRESSED"})
    assert Alert.objects.get().state == "OPEN"
    time.pass_(1)
    for _ in range(3):
        turn(worker)
    assert sent(posts) == ["alert.opened"]
    over(alert)
    for _ in range(2):
        turn(worker)
    assert sent(posts) == ["alert.opened", "alert.resolved"]


def test_nobody_is_told_of_an_alert_that_is_over_before_its_silence_ends(time: Time) -> None:
    receiver("alert.*")
    silence(time, labels=["team:shop"])
    alert = fire(team="shop")
    posts = FakePosts()
    worker = sender(posts, time)
    turn(worker)
    over(alert)
    turn(worker)
    time.pass_(3600)
    for _ in range(2):
        turn(worker)
    assert posts.sent == []
    assert states() == {"alert.opened": "SUPPRESSED", "alert.resolved": "SUPPRESSED"}
    assert not Delivery.objects.filter(ended_at=None).exists()


def test_that_an_alert_is_over_of_which_somebody_was_told_is_sent_when_the_silence_ends(time: Time) -> None:
    receiver("alert.*")
    alert = fire()
    posts = FakePosts()
    worker = sender(posts, time)
    turn(worker)
    silence(time, rules=["blocked"])
    over(alert)
    turn(worker)
    assert sent(posts) == ["alert.opened"]
    time.pass_(3600)
    for _ in range(3):
        turn(worker)
    assert sent(posts) == ["alert.opened", "alert.resolved"]


def test_ending_early_is_audited_and_delivers(time: Time) -> None:
    receiver("alert.*")
    made = silence(time, severities=["critical"])
    fire()
    posts = FakePosts()
    worker = sender(posts, time)
    turn(worker)
    assert silence_schema(get_silence(made.pk)).suppressed == 1
    time.pass_(60)
    for _ in range(2):
        silences.end(silence_id=made.pk, actor=Actor("ben"))
    turn(worker)
    assert sent(posts) == ["alert.opened"]
    shown = silence_schema(get_silence(made.pk))
    assert (shown.state, shown.ended_by, shown.ends_at) == ("ENDED", "ben", time.wall)
    assert list(
        AuditRow.objects.filter(action__startswith="silence").order_by("id").values_list("action", "actor")
    ) == [
        ("silence.created", "ana"),
        ("silence.ended", "ben"),
    ]
    assert Event.objects.filter(kind="silence.ended").count() == 1


def test_one_that_has_expired_cannot_be_ended(time: Time) -> None:
    made = silence(time, rules=["lag"])
    time.pass_(3600)
    assert silence_schema(get_silence(made.pk)).state == "EXPIRED"
    with pytest.raises(Conflict):
        silences.end(silence_id=made.pk, actor=ANA)
    with pytest.raises(NotFound):
        silences.end(silence_id=10**6, actor=ANA)


def test_a_second_silence_goes_on_holding_back(time: Time) -> None:
    receiver("alert.*")
    silence(time, 3600, rules=["blocked"])
    silence(time, 7200, severities=["critical"])
    fire()
    posts = FakePosts()
    worker = sender(posts, time)
    turn(worker)
    time.pass_(3600)
    turn(worker)
    assert posts.sent == []
    time.pass_(3600)
    turn(worker)
    assert sent(posts) == ["alert.opened"]


def test_what_is_held_back_costs_nothing_until_its_silence_ends(time: Time) -> None:
    receiver("alert.*")
    silence(time, severities=["critical"])
    worker = sender(FakePosts(), time)

    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            turn(worker)
        return len(asked)

    fire()
    turn(worker)
    few = queries()
    for number in range(20):
        fire(f"p{number}")
    turn(worker)
    assert queries() == few


def test_what_waits_for_another_attempt_is_held_back_too(time: Time) -> None:
    receiver("alert.*")
    fire()
    posts = FakePosts(lambda _: DeliveryResponse(500, "no"))
    worker = sender(posts, time)
    turn(worker)
    silence(time, pipelines=["orders"])
    time.pass_(600)
    turn(worker)
    assert len(posts.sent) == 1
    posts.answer = lambda _: DeliveryResponse(200)
    time.pass_(3000)
    turn(worker)
    assert (len(posts.sent), Delivery.objects.get().state) == (2, DeliveryState.DELIVERED)


def test_what_fails_while_it_is_silenced_is_not_tried_again_before_the_end(time: Time) -> None:
    receiver("alert.*")
    fire()
    posts = FakePosts(lambda _: DeliveryResponse(500, "no"))
    worker = sender(posts, time)
    worker.turn()
    silence(time, pipelines=["orders"])
    worker.finish()
    assert (Delivery.objects.get().state, Delivery.objects.get().last_error) == (DeliveryState.SUPPRESSED, "no")
    time.pass_(3599)
    turn(worker)
    assert len(posts.sent) == 1
    posts.answer = lambda _: DeliveryResponse(200)
    time.pass_(1)
    turn(worker)
    assert (len(posts.sent), Delivery.objects.get().state) == (2, DeliveryState.DELIVERED)


def test_other_alerts_and_events_are_not_held_back(time: Time) -> None:
    receiver("*")
    silence(time, labels=["team:shop"])
    position = Event.objects.latest("id").pk
    Receiver.objects.update(position=position)
    fire("clicks", team="pay")
    happen("phase.changed")
    posts = FakePosts()
    turn(sender(posts, time))
    assert sorted(sent(posts)) == ["alert.opened", "phase.changed"]


def test_an_acknowledgement_is_sent_after_the_silence_while_it_stands(time: Time) -> None:
    receiver("alert.*")
    silence(time, rules=["blocked"])
    alert = fire()
    alerts.acknowledge(alert_id=alert.pk, actor=ANA, note="On it.")
    posts = FakePosts()
    worker = sender(posts, time)
    turn(worker)
    time.pass_(3600)
    for _ in range(3):
        turn(worker)
    assert sent(posts) == ["alert.opened", "alert.acknowledged"]


def test_a_person_can_send_what_is_suppressed(time: Time) -> None:
    made = receiver("alert.*")
    silence(time, rules=["blocked"])
    fire()
    posts = FakePosts()
    worker = sender(posts, time)
    turn(worker)
    receivers.retry(receiver_id=made.pk, delivery_id=Delivery.objects.get().pk, actor=ANA)
    turn(worker)
    assert sent(posts) == ["alert.opened"]


def test_every_finding_comes_at_once(time: Time) -> None:
    def found(ends_at: Any = None, comment: str = " ", **matchers: Any) -> list[tuple[str, str]]:
        wanted = SilenceSettings(Matchers.of(matchers), ends_at, comment)
        with pytest.raises(Invalid) as refused:
            silences.create(wanted=wanted, longest=MONTH, actor=ANA)
        return [(each.path, each.code) for each in refused.value.findings]

    assert found() == [("matchers", "matchers_missing"), ("ends_at", "end_missing"), ("comment", "comment_missing")]
    assert found(time.wall, "x", pipelines=["nobody"], rules=["no"]) == [
        ("matchers.rules[0]", "unknown_rule"),
        ("ends_at", "out_of_range"),
        ("matchers.pipelines[0]", "pipeline_not_found"),
    ]
    assert found(time.wall + timedelta(days=31), "x", rules=["lag"]) == [("ends_at", "out_of_range")]
    assert not Silence.objects.exists()


def test_there_is_a_most_of_silences(time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silences, "MOST_SILENCES", 1)
    silence(time, rules=["lag"])
    with pytest.raises(Conflict):
        silence(time, rules=["lag"])
    time.pass_(3600)
    silence(time, rules=["lag"])


def test_old_ones_are_pruned(time: Time) -> None:
    silence(time, rules=["lag"])
    assert silences.prune(before=time.wall) == 0
    assert silences.prune(before=time.wall + timedelta(hours=2)) == 1
