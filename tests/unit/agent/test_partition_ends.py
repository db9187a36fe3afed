"""Where partitions end, while the broker does not know it yet."""

from __future__ import annotations

import weakref
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException
from confluent_kafka import TopicPartition as ClientPartition

from pipelines.domain.base.positions import PartitionPosition, TopicPartition
from workers.agent.kafka.admin import KafkaCluster

KEY = TopicPartition("orders", 3)


class Client(SimpleNamespace):
    """As much of an admin client as is asked."""


class Answers(KafkaCluster):
    """A cluster whose clients give prepared answers: an offset, or the code of an error."""

    def __init__(self, *answers: int | KafkaError) -> None:
        super().__init__({"bootstrap.servers": "127.0.0.1:1"}, None)
        self.left = list(answers)
        self.clients = 0

    @property
    def _admin(self) -> Any:
        if self._client is None:
            self.clients += 1
            self._client = Client(list_offsets=self._answer)  # type: ignore[assignment]
        return self._client

    def _answer(self, wanted: dict[ClientPartition, Any], **_: Any) -> dict[ClientPartition, Future[Any]]:
        future: Future[Any] = Future()
        answer = self.left.pop(0)
        if isinstance(answer, KafkaError):
            future.set_exception(KafkaException(answer))
        else:
            future.set_result(SimpleNamespace(offset=answer))
        return dict.fromkeys(wanted, future)


@pytest.fixture(autouse=True)
def _without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.agent.kafka.admin._RETRY", 0.0)


@pytest.mark.parametrize(
    "code", [KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE, KafkaError.FENCED_LEADER_EPOCH]
)
def test_a_partition_without_a_leader_is_asked_again_by_a_client_that_has_forgotten_the_old_one(code: int) -> None:
    cluster = Answers(KafkaError(code), KafkaError(code), 42)
    assert cluster.latest([KEY]) == {KEY: 42}
    assert cluster.clients == 3


def test_a_client_that_another_thread_forgets_lives_until_it_has_answered() -> None:
    """librdkafka cancels the requests of a client that nobody holds any more."""
    held: list[bool] = []

    class Forgotten(Answers):
        def _answer(self, wanted: dict[ClientPartition, Any], **how: Any) -> dict[ClientPartition, Future[Any]]:
            found = super()._answer(wanted, **how)
            client = weakref.ref(self._client)
            self._give_up_client()

            class Watched(dict[ClientPartition, Future[Any]]):
                def items(self) -> Any:
                    held.append(client() is not None)
                    return super().items()

            return Watched(found)

    assert Forgotten(42).latest([KEY]) == {KEY: 42}
    assert held == [True]


def test_a_commit_that_was_given_up_cannot_arrive_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its request ends with its client, which nothing keeps alive: not even the error."""
    monkeypatch.setattr("workers.agent.kafka.admin.TIMEOUT", 0.01)
    cluster = Answers()
    cluster._admin.alter_consumer_group_offsets = lambda *_, **__: {"orders": Future()}
    client = weakref.ref(cluster._admin)
    with pytest.raises(KafkaException) as error:
        cluster.commit("orders", [PartitionPosition(topic="orders", partition=3, offset=7)])
    assert error.value.args[0].code() == KafkaError._TIMED_OUT
    assert client() is None


def test_waiting_for_a_leader_has_an_end() -> None:
    with pytest.raises(KafkaException):
        Answers(*[KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION)] * 2).latest([KEY], timeout=0)


def test_another_error_is_told_at_once() -> None:
    cluster = Answers(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), 42)
    with pytest.raises(KafkaException):
        cluster.latest([KEY])
    assert cluster.left == [42]


def test_a_negative_offset_is_none() -> None:
    assert Answers(-1).earliest([KEY]) == {}


def test_a_leader_that_does_not_answer_is_no_end_of_nothing() -> None:
    """librdkafka gives an invalid offset and no error for it."""
    with pytest.raises(KafkaException) as raised:
        Answers(OFFSET_INVALID).latest([KEY])
    assert raised.value.args[0].code() == KafkaError._TIMED_OUT
