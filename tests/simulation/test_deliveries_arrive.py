"""Whatever happens to workers and endpoints, every event that an endpoint wants arrives, and none for ever."""

from __future__ import annotations

from random import Random

import pytest

from pipelines.domain.monitoring.webhooks import MOST_ATTEMPTS, DeliveryResponse, DeliveryState
from pipelines.models import Delivery, Event
from tests.factories import EventFactory
from tests.fakes.receivers import FakePosts, Sent, Time, happen, receiver, sender, turn

pytestmark = pytest.mark.django_db
STEPS = 80
URLS = ["https://a.example/", "https://b.example/"]


class World:
    """Two workers, two endpoints, and everything that may go wrong with them."""

    def __init__(self, seed: int, time: Time) -> None:
        self.random, self.time = Random(seed), time
        self.posts = FakePosts(self._answer)
        self.failing = dict.fromkeys(URLS, 0.3)
        self.accepted: list[Sent] = []
        self.workers = [sender(self.posts, time) for _ in range(2)]
        self.late: list[int] = []
        for url in URLS:
            receiver("wanted.*", url=url)

    def _answer(self, message: Sent) -> DeliveryResponse:
        if self.random.random() < self.failing[message.url]:
            return DeliveryResponse(self.random.choice([None, 302, 404, 500]), "no")
        self.accepted.append(message)
        return DeliveryResponse(200)

    def step(self) -> None:
        """One thing happens."""
        self.random.choice([self._happen, self._happen, self._commit, self._turn, self._turn, self._die, self._wait])()

    def _happen(self) -> None:
        """An event; sometimes one that took its number first shows only later."""
        (event,) = happen(self.random.choice(["wanted.one", "other.one"]))
        if self.random.random() < 0.3:
            Event.objects.filter(pk=event.pk).delete()
            self.late.append(event.pk)
            happen("wanted.two")

    def _commit(self) -> None:
        while self.late:
            EventFactory.create(pk=self.late.pop(), kind="wanted.late", pipeline=None, at=self.time.wall)

    def _turn(self) -> None:
        turn(self.random.choice(self.workers))

    def _die(self) -> None:
        """A worker claims, sends, and is gone before it has written anything down."""
        place = self.random.randrange(len(self.workers))
        self.workers[place].turn()
        self.workers[place] = sender(self.posts, self.time)

    def _wait(self) -> None:
        """No transaction is open for longer than a few seconds."""
        self._commit()
        self.time.pass_(self.random.choice([1, 30, 90, 400]))

    def heal(self) -> None:
        """Everything is well again, for long enough."""
        self._commit()
        self.failing = dict.fromkeys(URLS, 0.0)
        for _ in range(40):
            turn(*self.workers)
            self.time.pass_(4_000)


@pytest.mark.parametrize("seed", range(8))
def test_every_wanted_event_arrives_and_its_messages_have_one_id(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(seed, Time(monkeypatch))
    for _ in range(STEPS):
        world.step()
    world.heal()
    wanted = set(Event.objects.filter(kind__startswith="wanted").values_list("pk", flat=True))
    rows = list(Delivery.objects.select_related("receiver"))
    assert {(row.receiver.url, row.event_id) for row in rows} == {(url, event) for url in URLS for event in wanted}
    assert {row.state for row in rows} == {DeliveryState.DELIVERED}
    assert {message.id for message in world.accepted} == {row.message_id for row in rows}
    assert max(row.attempts for row in rows) <= MOST_ATTEMPTS
