"""Kafka for replays: one producer per cluster, each call bounded, every answer waited for."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from pipelines.domain.access.reach import ReachPolicy
from pipelines.domain.base.causes import explain
from pipelines.domain.reprocessing.dead_letters import TopicLocation
from workers.agent.kafka.admin import librdkafka_options
from workers.agent.kafka.advertised import ADVICE, Admission, BrokersRefused
from workers.ports import Away, Closed, Gone, Outgoing

_DELIVERY_SECONDS = 20.0
_CHECK_SECONDS = 20.0
_FOR_ONE_RECORD = {KafkaError.MSG_SIZE_TOO_LARGE, KafkaError._UNKNOWN_PARTITION, KafkaError.INVALID_RECORD}
_FOR_ALL = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "Grant the source's user the right to write to the topic.",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "Grant the source's user the right to write to the cluster.",
    KafkaError._UNKNOWN_TOPIC: "Create the topic, or discard the dead letters.",
    KafkaError.UNKNOWN_TOPIC_OR_PART: "Create the topic, or discard the dead letters.",
    KafkaError._AUTHENTICATION: "Check the user and the password in the source's options.",
    KafkaError.SASL_AUTHENTICATION_FAILED: "Check the user and the password in the source's options.",
    KafkaError._SSL: "Check the certificates in the source's options.",
}
_LARGEST = 1_000_000_000
"""What the client itself allows; the topic's own limit decides."""


class KafkaClusters:
    """`workers.ports.Clusters` with librdkafka."""

    def outlet(self, servers: str, options: Mapping[str, Any], pipeline: str, reach: ReachPolicy) -> KafkaOutlet:
        return KafkaOutlet(librdkafka_options(servers, options), pipeline, reach)

    def record(self, servers: str, options: Mapping[str, Any], place: TopicLocation, reach: ReachPolicy) -> bytes:
        connection = librdkafka_options(servers, options)
        _require(Admission(connection, reach))
        consumer = Consumer(
            {
                **connection,
                "group.id": "headgate-dead-letters",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "fetch.message.max.bytes": _LARGEST,
                "receive.message.max.bytes": _LARGEST + 512,
                "fetch.max.bytes": _LARGEST,
            }
        )
        try:
            consumer.assign([TopicPartition(place.topic, place.partition, place.offset)])
            return _read(consumer, place)
        finally:
            consumer.close()


def _require(admission: Admission) -> None:
    """Raises Closed where a broker may not be reached, and Away where the cluster does not say which it has."""
    try:
        admission.require()
    except BrokersRefused as error:
        raise Closed(" ".join(error.problems), ADVICE) from error
    except KafkaException as error:
        raise Away(explain(error)) from error


def _read(consumer: Consumer, place: TopicLocation) -> bytes:
    deadline = time.monotonic() + _CHECK_SECONDS
    while (left := deadline - time.monotonic()) > 0:
        message = consumer.poll(left)
        if message is None:
            continue
        error = message.error()
        if error is not None and error.code() == KafkaError._AUTO_OFFSET_RESET:
            break
        if error is not None:
            raise Away(explain(str(error)))
        if message.offset() != place.offset:
            break
        return message.value() or b""
    else:
        raise Away(f"{place.topic}/{place.partition} could not be read within {_CHECK_SECONDS:g} s.")
    raise Gone(f"The complete body was at {place.topic}/{place.partition}@{place.offset} and has been deleted there.")


class KafkaOutlet:
    """`workers.ports.Outlet`: acknowledged by all replicas, without a duplicate of the client's own making."""

    def __init__(self, connection: Mapping[str, Any], pipeline: str, reach: ReachPolicy) -> None:
        self._admission = Admission(connection, reach)
        self._last: KafkaError | None = None
        self._settings = {
            **connection,
            "acks": "all",
            "enable.idempotence": True,
            "compression.type": "lz4",
            "message.max.bytes": _LARGEST,
            "delivery.timeout.ms": int(_DELIVERY_SECONDS * 1000),
            "client.id": f"headgate.{pipeline}.replay",
            "error_cb": self._note,
        }

    @cached_property
    def _producer(self) -> Producer:
        return Producer(self._settings)

    def _note(self, error: KafkaError) -> None:
        """Errors that belong to no record; what the cluster said last is why records time out."""
        self._last = error

    def send(self, records: Sequence[Outgoing]) -> list[str | None]:
        _require(self._admission)
        self._last = None
        errors: list[KafkaError | None] = [KafkaError(KafkaError._MSG_TIMED_OUT)] * len(records)
        for number, record in enumerate(records):
            self._produce(record, number, errors)
        self._producer.flush(_DELIVERY_SECONDS + 5)
        for number, error in enumerate(errors):
            if error is not None and error.code() == KafkaError.MSG_SIZE_TOO_LARGE:  # its batch was; alone it may fit
                self._produce(records[number], number, errors)
                self._producer.flush(_DELIVERY_SECONDS + 5)
        for error in errors:
            if error is not None and error.code() not in _FOR_ONE_RECORD:
                raise self._trouble(error, [place for place, each in enumerate(errors) if each is None])
        return [None if error is None else f"The topic rejects it: {error.str()}" for error in errors]

    def _produce(self, record: Outgoing, number: int, errors: list[KafkaError | None]) -> None:
        wanted: dict[str, Any] = {
            "key": record.key,
            "value": record.body,
            "headers": list(record.headers),
            "partition": record.partition,
            "on_delivery": _on_delivery(errors, number),
        }
        try:
            self._producer.produce(record.topic, **wanted)
        except BufferError:
            self._producer.flush(_DELIVERY_SECONDS)
            self._producer.produce(record.topic, **wanted)
        except KafkaException as error:
            errors[number] = error.args[0]

    def _trouble(self, error: KafkaError, acknowledged: Sequence[int]) -> Away | Closed:
        known = self._last if self._last is not None and self._last.code() in _FOR_ALL else error
        if known.code() in _FOR_ALL:
            return Closed(f"Kafka refuses: {known.str()}", _FOR_ALL[known.code()])
        return Away(explain(str(self._last or error)), acknowledged)

    def close(self) -> None:
        """What is not acknowledged is dropped; its letters are marked as in doubt."""
        if "_producer" in self.__dict__:
            self._producer.purge()
            self._producer.flush(1.0)


def _on_delivery(errors: list[KafkaError | None], number: int) -> Callable[[KafkaError | None, Message], None]:
    def on_delivery(error: KafkaError | None, _message: Message) -> None:
        errors[number] = error

    return on_delivery
