"""Deliveries: every event that an endpoint wants arrives at least once, signed, and nothing is tried for ever."""

from __future__ import annotations

import json
import threading
from collections import Counter
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from pipelines.domain.monitoring.receivers import MailServer
from pipelines.domain.monitoring.webhooks import (
    DELAYS,
    MOST_ATTEMPTS,
    DeliveryResponse,
    DeliveryState,
    Reach,
    key_of,
    signature,
)
from pipelines.foundation import clock
from pipelines.foundation.errors import Conflict
from pipelines.models import Alert, Delivery, Event, Receiver
from pipelines.services.base.audit import Actor
from pipelines.services.monitoring import deliveries, receivers
from pipelines.services.runs.observations import Retention, prune
from tests.factories import EventFactory, PipelineFactory
from tests.fakes.http_servers import Reply, serving
from tests.fakes.receivers import NEW, OLD, FakePosts, FakeSecrets, Sent, Time, happen, receiver, sender, turn
from tests.waiting import wait_for
from workers.adapters.filelock import FileLock
from workers.adapters.receivers.mails import SmtpMails
from workers.adapters.receivers.posts import HttpPosts
from workers.supervisor.background.sending.attempts import Attempts
from workers.supervisor.background.sending.deliveries import AT_ONCE_EACH, SETTLED_SECONDS, DeliverySender

pytestmark = pytest.mark.django_db
ANA = Actor("ana")
FAILS = DeliveryResponse(500, "It answers 500.")
TAKEN = DeliveryResponse(200)


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    return Time(monkeypatch)


def types(posts: FakePosts) -> list[str]:
    return [json.loads(message.body)["type"] for message in posts.sent]


def only() -> Delivery:
    return Delivery.objects.get()


def test_an_endpoint_gets_the_events_that_it_wants_once_and_signed(time: Time) -> None:
    happen("migration.planned")
    receiver("migration.*", "alert.opened")
    pipeline = PipelineFactory.create(name="orders")
    (event, *_) = happen("migration.paused", "migrations.other", "alert.opened", "phase.changed")
    Event.objects.filter(pk=event.pk).update(pipeline=pipeline)
    posts = FakePosts()
    worker = sender(posts, time)
    for _ in range(3):
        turn(worker)
    assert sorted(types(posts)) == ["alert.opened", "migration.paused"]
    first = posts.sent[types(posts).index("migration.paused")]
    at = int(time.wall.timestamp())
    assert first.headers["webhook-signature"] == signature(key_of(NEW), first.id, at, first.body)
    document = json.loads(first.body)
    assert document["timestamp"] == "2026-01-01T00:00:00Z"
    assert (document["data"]["id"], document["data"]["pipeline"]) == (event.pk, "orders")
    row = Delivery.objects.get(event=event)
    assert (row.state, row.attempts, row.response_status) == (DeliveryState.DELIVERED, 1, 200)
    assert row.ended_at == Receiver.objects.get().last_success_at == time.wall


def test_two_secrets_give_two_signatures(time: Time) -> None:
    receiver("*", secrets=["new", "old"])
    happen("phase.changed")
    posts, secrets = FakePosts(), FakeSecrets()
    turn(sender(posts, time, secrets))
    (message,) = posts.sent
    at = int(time.wall.timestamp())
    expected = [signature(key_of(each), message.id, at, message.body) for each in (NEW, OLD)]
    assert message.headers["webhook-signature"].split() == expected
    assert secrets.reads == 1


def test_a_failure_is_tried_again_by_the_schedule_and_then_given_up_with_the_endpoint(time: Time) -> None:
    hook = receiver("phase.*")
    happen("phase.changed")
    posts = FakePosts(lambda _: FAILS)
    worker = sender(posts, time)
    turn(worker)
    for number, delay in enumerate(DELAYS, start=1):
        assert only().next_attempt_at == time.wall + timedelta(seconds=delay)
        time.pass_(delay - 1)
        turn(worker)
        assert len(posts.sent) == number
        time.pass_(1)
        turn(worker)
    row, hook = only(), Receiver.objects.get(pk=hook.pk)
    assert (row.state, row.attempts, row.last_error) == (DeliveryState.FAILED, MOST_ATTEMPTS, "It answers 500.")
    assert len({message.id for message in posts.sent}) == 1
    assert len({message.headers["webhook-timestamp"] for message in posts.sent}) == MOST_ATTEMPTS
    assert (hook.enabled, hook.failing_since is None) == (False, False)
    assert "10 attempts in a row failed" in hook.disabled_reason
    assert Event.objects.get(kind="receiver.disabled").data["receiver"] == hook.pk
    assert Alert.objects.get(rule="receiver_disabled").key == f"receiver {hook.pk}"


def test_an_endpoint_that_takes_other_messages_stays_on_when_one_is_given_up(time: Time) -> None:
    receiver("*")
    (bad,) = happen("bad.one")
    posts = FakePosts(lambda message: FAILS if b"bad.one" in message.body else DeliveryResponse(200))
    worker = sender(posts, time)
    turn(worker)
    for delay in DELAYS:
        happen("good.one")
        time.pass_(delay)
        turn(worker)
        turn(worker)
    assert Delivery.objects.get(event=bad).state == DeliveryState.FAILED
    assert Receiver.objects.get().enabled
    assert not Alert.objects.exists()


def test_the_endpoint_may_ask_for_more_time(time: Time) -> None:
    receiver("*")
    happen("phase.changed")
    turn(sender(FakePosts(lambda _: DeliveryResponse(429, "later", "3600")), time))
    assert only().next_attempt_at == time.wall + timedelta(hours=1)


def test_an_endpoint_that_is_gone_is_switched_off_at_once(time: Time) -> None:
    hook = receiver("*")
    happen(*["phase.changed"] * (AT_ONCE_EACH + 3))
    posts = FakePosts(lambda _: DeliveryResponse(410, "It answers 410."))
    worker = sender(posts, time)
    for _ in range(3):
        turn(worker)
    assert len(posts.sent) == AT_ONCE_EACH
    states = Counter(Delivery.objects.values_list("state", flat=True))
    assert states == {DeliveryState.FAILED: AT_ONCE_EACH, DeliveryState.WAITING: 3}
    assert Event.objects.filter(kind="receiver.disabled").count() == 1
    assert "410 Gone" in Receiver.objects.get(pk=hook.pk).disabled_reason


def test_two_workers_do_not_both_send(time: Time) -> None:
    receiver("*")
    happen(*["phase.changed"] * 5)
    posts = FakePosts()
    one, two = sender(posts, time), sender(posts, time)
    one.turn()
    two.turn()
    one.finish()
    two.finish()
    turn(one, two)
    assert len(posts.sent) == len({message.id for message in posts.sent}) == 5


def test_a_claim_is_lost_to_whoever_was_first(time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    receiver("*")
    happen("phase.changed")
    deliveries.plan(settled=0)
    stale = deliveries._chosen(time.wall, 10, 10, {})
    (job,) = deliveries.claim(now=time.wall, most=10, each=10, busy={})
    monkeypatch.setattr(deliveries, "_chosen", lambda *_: stale)
    assert deliveries.claim(now=time.wall, most=10, each=10, busy={}) == []
    assert only().attempts == job.attempt == 1


@pytest.mark.parametrize("first", ["the late answer", "the next answer"])
@pytest.mark.parametrize(
    ("late", "last", "state"), [(FAILS, TAKEN, DeliveryState.DELIVERED), (TAKEN, FAILS, DeliveryState.WAITING)]
)
def test_a_worker_that_is_silent_for_too_long_leaves_the_message_and_its_outcome_to_the_next(
    time: Time, late: DeliveryResponse, last: DeliveryResponse, state: DeliveryState, first: str
) -> None:
    hook = receiver("*")
    happen("phase.changed")
    answers = iter([late, last])
    posts = FakePosts(lambda _: next(answers))
    silent, next_one = sender(posts, time), sender(posts, time)
    silent.turn()
    wait_for(lambda: posts.sent, "the message is sent")
    turn(next_one)
    assert (len(posts.sent), only().state) == (1, DeliveryState.SENDING)
    time.pass_(deliveries.CLAIMED_FOR.total_seconds())
    next_one.turn()
    wait_for(lambda: len(posts.sent) == 2, "it is sent once more")
    assert [message.id for message in posts.sent] == [only().message_id] * 2
    if first == "the late answer":
        silent.finish()
        assert (only().state, only().attempts) == (DeliveryState.SENDING, 2)
    next_one.finish()
    silent.finish()
    row, hook = only(), Receiver.objects.get(pk=hook.pk)
    assert (row.state, row.attempts, row.response_status) == (state, 2, last.status)
    assert (hook.failing_since, hook.last_success_at) == ((None, time.wall) if last is TAKEN else (time.wall, None))


def test_an_event_that_turns_up_behind_a_newer_one_is_not_missed(time: Time) -> None:
    receiver("*")
    (newer,) = happen("phase.newer")
    Event.objects.filter(pk=newer.pk).delete()
    EventFactory.create(pk=newer.pk + 5, kind="phase.newer", pipeline=None, at=time.wall)
    posts = FakePosts()
    worker = sender(posts, time)
    turn(worker)
    time.pass_(SETTLED_SECONDS - 1)
    EventFactory.create(pk=newer.pk + 1, kind="phase.older", pipeline=None, at=time.wall)
    turn(worker)
    assert types(posts) == ["phase.newer", "phase.older"]
    time.pass_(1)
    turn(worker)
    turn(worker)
    assert Receiver.objects.get().position == newer.pk + 5
    assert len(posts.sent) == 2


def test_a_worker_that_begins_anew_neither_misses_nor_repeats(time: Time) -> None:
    receiver("*")
    posts = FakePosts()
    for number in range(4):
        happen(f"phase.n{number}")
        turn(sender(posts, time))
        time.pass_(SETTLED_SECONDS / 2)
    assert types(posts) == [f"phase.n{number}" for number in range(4)]


def test_the_queries_of_a_turn_do_not_grow_with_endpoints_and_events(time: Time) -> None:
    def queries(hooks: int, events: int) -> int:
        for _ in range(hooks):
            receiver("*")
        happen(*["phase.changed"] * events)
        worker = sender(FakePosts(), time)
        with CaptureQueriesContext(connection) as asked:
            worker.turn()
            worker.finish()
        return len(asked)

    assert queries(1, 1) == queries(3, 5)


def test_nothing_is_asked_but_for_endpoints_and_what_is_due_while_there_is_none(time: Time) -> None:
    happen("phase.changed")
    worker = sender(FakePosts(), time)
    with CaptureQueriesContext(connection) as asked:
        worker.turn()
    assert len(asked) == 2


def test_nothing_is_written_while_nothing_happens(time: Time) -> None:
    receiver("*")
    happen("phase.changed")
    worker = sender(FakePosts(), time)
    turn(worker)
    with CaptureQueriesContext(connection) as asked:
        turn(worker)
        time.pass_(SETTLED_SECONDS / 2)
        turn(worker)
    assert [query["sql"] for query in asked if not query["sql"].startswith("SELECT")] == []


def test_one_slow_endpoint_holds_nobody_up(time: Time) -> None:
    receiver("*", url="https://slow.example/")
    receiver("*", url="https://quick.example/")
    happen(*["phase.changed"] * (AT_ONCE_EACH + 2))
    release, got = threading.Event(), threading.Semaphore(0)

    def answer(message: Sent) -> DeliveryResponse:
        if "slow" in message.url:
            release.wait(60)
        else:
            got.release()
        return DeliveryResponse(200)

    posts = FakePosts(answer)
    worker = sender(posts, time)
    worker.turn()
    for _ in range(AT_ONCE_EACH):
        assert got.acquire(timeout=60)

    def all_quick_ones() -> bool:
        worker.turn()
        quick = Delivery.objects.filter(receiver__url__contains="quick", state=DeliveryState.DELIVERED)
        return quick.count() == AT_ONCE_EACH + 2

    wait_for(all_quick_ones, "what goes to the quick endpoint")
    assert Delivery.objects.filter(receiver__url__contains="slow", state=DeliveryState.SENDING).count() == AT_ONCE_EACH
    release.set()
    worker.finish()


def test_an_endpoint_that_fails_is_tried_with_one_message_at_a_time(time: Time) -> None:
    receiver("*", failing_since=time.wall)
    happen(*["phase.changed"] * 4)
    posts = FakePosts(lambda _: FAILS)
    worker = sender(posts, time)
    turn(worker)
    assert len(posts.sent) == 1
    posts.answer = lambda _: DeliveryResponse(200)
    turn(worker)
    turn(worker)
    assert len(posts.sent) == 4
    assert Receiver.objects.get().failing_since is None


def test_a_secret_that_cannot_be_had_is_said_and_nothing_is_sent(time: Time) -> None:
    receiver("*", secrets=["lost"])
    happen("phase.changed")
    posts, secrets = FakePosts(), FakeSecrets()
    worker = sender(posts, time, secrets)
    turn(worker)
    assert (posts.sent, only().state) == ([], DeliveryState.WAITING)
    assert "${secret:lost} cannot be resolved" in only().last_error
    secrets.values["lost"] = "canary"
    time.pass_(DELAYS[0])
    turn(worker)
    assert "cannot sign" in only().last_error
    assert "canary" not in only().last_error
    secrets.values["lost"] = NEW
    time.pass_(DELAYS[1])
    turn(worker)
    assert only().state == DeliveryState.DELIVERED


def test_a_fault_of_our_own_is_tried_again(time: Time) -> None:
    receiver("*")
    happen("phase.changed")

    def break_(_: Sent) -> DeliveryResponse:
        raise RuntimeError("canary")

    turn(sender(FakePosts(break_), time))
    assert (only().state, only().last_error) == (
        DeliveryState.WAITING,
        "The attempt failed. An unexpected error occurred, and says nothing about itself.",
    )


def test_a_trial_goes_to_its_endpoint_alone_and_once(time: Time) -> None:
    tried = receiver("migration.*", url="https://tried.example/")
    receiver("*", url="https://other.example/")
    made = receivers.test(receiver_id=tried.pk, actor=ANA)
    posts = FakePosts(lambda _: FAILS)
    worker = sender(posts, time)
    turn(worker)
    assert [(message.url, json.loads(message.body)["type"]) for message in posts.sent] == [
        ("https://tried.example/", "webhook.ping")
    ]
    made.refresh_from_db()
    assert (made.state, made.last_error) == (DeliveryState.FAILED, "It answers 500.")
    assert Receiver.objects.get(pk=tried.pk).enabled


def test_a_delivery_is_sent_again_when_somebody_asks_with_a_new_count(time: Time) -> None:
    hook = receiver("*")
    happen("phase.changed")
    posts = FakePosts()
    worker = sender(posts, time)
    turn(worker)
    posts.answer = lambda _: FAILS
    receivers.retry(receiver_id=hook.pk, delivery_id=only().pk, actor=ANA)
    turn(worker)
    assert (len(posts.sent), len({message.id for message in posts.sent})) == (2, 1)
    row = only()
    assert (row.state, row.attempts, row.ended_at) == (DeliveryState.WAITING, 2, None)
    assert row.next_attempt_at == time.wall + timedelta(seconds=DELAYS[0])


def test_what_is_being_sent_is_not_asked_for_again(time: Time) -> None:
    hook = receiver("*")
    happen("phase.changed")
    worker = sender(FakePosts(), time)
    worker.turn()
    with pytest.raises(Conflict, match="being sent"):
        receivers.retry(receiver_id=hook.pk, delivery_id=only().pk, actor=ANA)
    worker.finish()


def test_what_waits_while_an_endpoint_is_off_is_sent_when_it_is_on_again_with_a_new_count(time: Time) -> None:
    hook = receiver("phase.*")
    happen("phase.changed", "phase.changed")
    deliveries.plan(settled=0)
    (claimed,) = deliveries.claim(now=time.wall, most=1, each=1, busy={})
    receivers.switch_off(receiver=hook, reason="a trial")
    posts = FakePosts()
    time.pass_(90)
    turn(sender(posts, time))
    assert posts.sent == []
    assert set(Delivery.objects.values_list("state", flat=True)) == {DeliveryState.WAITING, DeliveryState.SENDING}
    Delivery.objects.update(attempts=9)
    Receiver.objects.update(enabled=True)
    receivers.send_what_waits(hook.pk)
    posts.answer = lambda message: FAILS if message.id != claimed.message_id else DeliveryResponse(200)
    worker = sender(posts, time)
    turn(worker)
    assert len(posts.sent) == 2
    assert set(Delivery.objects.values_list("state", flat=True)) == {DeliveryState.WAITING, DeliveryState.DELIVERED}
    posts.answer = lambda _: DeliveryResponse(200)
    time.pass_(DELAYS[0] * 2)
    turn(worker)
    assert set(Delivery.objects.values_list("state", flat=True)) == {DeliveryState.DELIVERED}


def test_deliveries_that_are_over_are_pruned_by_age(time: Time) -> None:
    receiver("*")
    happen("phase.changed", "phase.changed")
    worker = sender(FakePosts(), time)
    turn(worker)
    old, young = Delivery.objects.order_by("pk")
    Delivery.objects.filter(pk=old.pk).update(ended_at=time.wall - timedelta(days=31))
    waiting = Delivery.objects.create(
        receiver=old.receiver,
        event=happen("phase.changed")[0],
        message_id="msg_1",
        created_at=time.wall - timedelta(days=99),
        next_attempt_at=time.wall,
    )
    assert prune(now=time.wall, retention=Retention())["deliveries"] == 1
    assert set(Delivery.objects.values_list("pk", flat=True)) == {young.pk, waiting.pk}


def _sender(reach: Reach) -> DeliverySender:
    return DeliverySender(Attempts(HttpPosts(reach), SmtpMails(reach), MailServer(), reach), FakeSecrets())


@pytest.mark.django_db(transaction=True)
def test_a_worker_sends_by_itself_over_http_and_stops(tmp_path: Path) -> None:
    """The thread of a worker with what it really uses: lock, client and connections."""
    answers = iter([Reply(500), *[Reply(204)] * 9])
    with serving(lambda _: next(answers)) as server:
        receiver("phase.*", url=f"{server.url}/hook")
        reach = Reach(http=True, networks=(ip_network("127.0.0.0/8"),))
        worker = _sender(reach).loop(FileLock(tmp_path / "deliveries.lock"))
        worker.start()
        try:
            happen("phase.changed", "run.ended")
            wait_for(lambda: Delivery.objects.filter(attempts=1, state=DeliveryState.WAITING).exists(), "a failure")
            assert Receiver.objects.get().failing_since
            Delivery.objects.update(next_attempt_at=clock.now())
            wait_for(lambda: Delivery.objects.filter(state=DeliveryState.DELIVERED).exists(), "the delivery")
        finally:
            assert worker.stop(60)
    first, second = server.seen
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == only().message_id
    timestamp = int(second.headers["webhook-timestamp"])
    assert second.headers["webhook-signature"] == signature(key_of(NEW), only().message_id, timestamp, second.body)
    assert (only().attempts, only().response_status, only().last_error) == (2, 204, "")
