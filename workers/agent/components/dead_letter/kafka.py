"""Dead letters in a topic: key, body and headers as they were, with headers that tell what was wrong."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from pipelines.domain.definitions.components.dead_letter.file import FileDeadLetters
from pipelines.domain.ledger.journal import Planned
from pipelines.domain.runs.protocol import AgentFinding
from workers.agent.base.findings import refuse
from workers.agent.components.dead_letter import file
from workers.agent.graph.batch import Refusal
from workers.agent.graph.component import DeadLetterBuilder, Place
from workers.agent.kafka.admin import KafkaCluster

_TIMEOUT = 30.0
_LARGEST = 1_000_000_000
"""What the client itself allows; the topic's own limit decides."""


class Builder(DeadLetterBuilder):
    """Writes with all acknowledgements, and waits for them."""

    def __init__(self, spec: Any, place: Place) -> None:
        super().__init__(spec, place)
        self._cluster = KafkaCluster.of(spec.bootstrap_servers or "", spec.options, place.reach)

    def probe(self) -> None:
        """The topic exists and may be written."""
        if self.spec.bootstrap_servers is None:
            message = "The dead-letter queue has no brokers, and there is no Kafka source to take them from."
            raise refuse(self.place.path, "ADDRESS_MISSING", message, "Set errors.dead_letter.bootstrap_servers.")
        self._cluster.partitions([self.spec.topic], self.place.path, "WRITE")

    def out_of_reach(self) -> list[AgentFinding]:
        """Brokers of the cluster."""
        return self._cluster.out_of_reach(self.place.path)

    @cached_property
    def _producer(self) -> Producer:
        return Producer(
            {
                **self._cluster.settings,
                "acks": "all",
                "enable.idempotence": True,
                "compression.type": "lz4",
                "delivery.timeout.ms": int(_TIMEOUT * 1000),
                "client.id": f"headgate.{self.place.pipeline}.dead",
                "message.max.bytes": _LARGEST,
            }
        )

    @cached_property
    def _files(self) -> file.Builder:
        """Takes what is too large for the topic, which would hold its batch for ever."""
        return file.Builder(FileDeadLetters(type="file"), self.place)

    def store(self, planned: Planned, dead_letters: Sequence[Refusal]) -> list[str]:
        """Raises KafkaException where one was not acknowledged. A place is `topic/partition@offset`, or `file:byte` of
        what is too large for the topic."""
        answers = self._send_all(planned, dead_letters)
        for number, answer in enumerate(answers):
            if answer.is_too_large:  # its batch was; alone it may fit
                answers[number] = self._send_all(planned, [dead_letters[number]])[0]
        wrong = next((answer for answer in answers if answer.error is not None and not answer.is_too_large), None)
        if wrong is not None:
            raise KafkaException(wrong.error)
        large = [
            dead_letter for dead_letter, answer in zip(dead_letters, answers, strict=True) if answer.error is not None
        ]
        in_files = iter(self._store_in_files(planned, large))
        return [answer.place if answer.error is None else next(in_files) for answer in answers]

    def _send_all(self, planned: Planned, dead_letters: Sequence[Refusal]) -> list[_Answer]:
        answers = [self._send(planned, dead_letter) for dead_letter in dead_letters]
        self._producer.flush(_TIMEOUT)
        return answers

    def _send(self, planned: Planned, dead_letter: Refusal) -> _Answer:
        answer = _Answer()
        try:
            self._producer.produce(
                self.spec.topic,
                key=dead_letter.key,
                value=dead_letter.body,
                headers=_headers(self.place, planned, dead_letter),
                on_delivery=answer.on_delivery,
            )
        except KafkaException as error:
            answer.error = error.args[0]
        return answer

    def _store_in_files(self, planned: Planned, dead_letters: Sequence[Refusal]) -> list[str]:
        if not dead_letters:
            return []
        self._files.probe()
        return self._files.store(planned, dead_letters)


@dataclass
class _Answer:
    """What the broker says of one letter."""

    error: KafkaError | None = field(default_factory=lambda: KafkaError(KafkaError._MSG_TIMED_OUT))
    place: str = ""

    @property
    def is_too_large(self) -> bool:
        """Whether the topic refuses it for its size."""
        return self.error is not None and self.error.code() == KafkaError.MSG_SIZE_TOO_LARGE

    def on_delivery(self, error: KafkaError | None, message: Message) -> None:
        """Called by the client."""
        self.error = error
        self.place = f"{message.topic()}/{message.partition()}@{message.offset()}"


def _headers(place: Place, planned: Planned, dead_letter: Refusal) -> list[tuple[str, str | bytes | None]]:
    reported = {
        "pipeline": place.pipeline,
        "source": planned.source,
        "channel": planned.channel,
        "component": dead_letter.component,
        "cause": dead_letter.cause,
        "origin": f"{dead_letter.topic}/{dead_letter.partition}/{dead_letter.offset}",
        "at": f"{time.time():.3f}",
    }
    return [*dead_letter.headers, *((f"headgate.dead.{name}", value.encode()) for name, value in reported.items())]
