"""Dead letters in a topic: key, body and headers as they were, with headers that tell what was wrong."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from pipelines.domain.journal import Planned
from workers.agent.batch import Refusal
from workers.agent.component import DeadLetterBuilder, Place
from workers.agent.findings import refuse
from workers.agent.kafka import Cluster

_TIMEOUT = 30.0


class Builder(DeadLetterBuilder):
    """Writes with all acknowledgements, and waits for them."""

    def __init__(self, spec: Any, place: Place) -> None:
        super().__init__(spec, place)
        self._cluster = Cluster.of(spec.bootstrap_servers or "", spec.options)

    def probe(self) -> None:
        """The topic exists and may be written."""
        if self.spec.bootstrap_servers is None:
            message = "It has no address, and no Kafka source lends one."
            raise refuse(self.place.path, "ADDRESS_MISSING", message, "Set errors.dead_letter.bootstrap_servers.")
        self._cluster.partitions([self.spec.topic], self.place.path, "WRITE")

    @cached_property
    def _producer(self) -> Producer:
        return Producer({
            **self._cluster.settings, "acks": "all", "enable.idempotence": True, "compression.type": "lz4",
            "delivery.timeout.ms": int(_TIMEOUT * 1000), "client.id": f"headgate.{self.place.pipeline}.dead",
        })  # fmt: skip

    def store(self, planned: Planned, letters: Sequence[Refusal]) -> list[str]:
        """Raises KafkaException where one was not acknowledged. A place is `topic/partition@offset`."""
        places = [""] * len(letters)
        errors: list[KafkaError] = []

        def hear(number: int) -> Callable[[KafkaError | None, Message], None]:
            def heard(error: KafkaError | None, message: Message) -> None:
                if error is not None:
                    errors.append(error)
                places[number] = f"{message.topic()}/{message.partition()}@{message.offset()}"

            return heard

        for number, letter in enumerate(letters):
            self._producer.produce(
                self.spec.topic, key=letter.key, value=letter.body, headers=_headers(self.place, planned, letter),
                on_delivery=hear(number),
            )  # fmt: skip
        left = self._producer.flush(_TIMEOUT)
        if errors or left:
            raise KafkaException(errors[0] if errors else KafkaError(KafkaError._MSG_TIMED_OUT))
        return places


def _headers(place: Place, planned: Planned, letter: Refusal) -> list[tuple[str, str | bytes | None]]:
    told = {
        "pipeline": place.pipeline, "source": planned.source, "channel": planned.channel,
        "component": letter.component, "cause": letter.cause,
        "origin": f"{letter.topic}/{letter.partition}/{letter.offset}", "at": f"{time.time():.3f}",
    }  # fmt: skip
    return [*letter.headers, *((f"headgate.dead.{name}", value.encode()) for name, value in told.items())]
