"""A tail that is read by librdkafka: where it has few records, a Spark job would take longer to start than this takes
altogether. What is counted and not kept is read so, too."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as ClientPartition

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.ledger.journal import Planned
from workers.agent.base.event import COPY_MARK, ORIGIN_HEADER
from workers.agent.kafka.tail import WIDEST, Seen, Told
from workers.agent.positions.checkpoint import Offsets
from workers.agent.positions.held import Bits, Copies, Held

SHORT = 50_000
"""Records of a tail that are read here."""
_TIMEOUT = 10.0
_AT_ONCE = 10_000
_SETTINGS = {
    "group.id": "headgate-look",
    "enable.auto.commit": False,
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
    "fetch.wait.max.ms": 50,
    # Headgate's producers are idempotent and have no transactions: what they wrote is read at once.
    "isolation.level": "read_uncommitted",
}


class Origin(NamedTuple):
    """The event that a record was made of."""

    copies: Copies
    offset: int


def records(
    settings: Mapping[str, Any], starts: Offsets, ends: Offsets, timeout: float, *, at_once: int = _AT_ONCE
) -> Iterator[Any]:
    """Every record of [starts, ends), as librdkafka gives it: so many at once, or those that there are.

    Raises KafkaException, or TimeoutError where they were not all read within `timeout` seconds."""
    todo = {key for key, end in ends.items() if end > starts[key]}
    if not todo:
        return
    deadline, consumer = time.monotonic() + timeout, Consumer({**settings, **_SETTINGS})
    try:
        consumer.assign([ClientPartition(*key, starts[key]) for key in todo])
        while todo:
            for message in consumer.consume(at_once, timeout=0.1):
                is_record, at = _is_record(message), int(message.offset() or 0)
                key = TopicPartition(str(message.topic()), int(message.partition() or 0))
                # Markers of transactions are no records: after those, the end of the log is told instead.
                if at >= (ends[key] - 1 if is_record else ends[key]):
                    todo.discard(key)
                if is_record and at < ends[key]:
                    yield message
            if todo and time.monotonic() >= deadline:
                raise TimeoutError(f"{len(todo)} partitions of the sink were not read to their end in {timeout:g} s")
    finally:
        consumer.close()


@dataclass(frozen=True)
class ShortTail:
    """Reads a sink's topics for records of one batch, as `workers.agent.kafka.tail.Tail` does. `settings`: of the
    connection, as librdkafka wants them; `prefix`: of the origins, before the record's own."""

    settings: Mapping[str, Any]
    planned: Planned
    prefix: str

    def read(self, starts: Offsets, ends: Offsets, told: Told) -> Seen:
        """Look at every record of [starts, ends). Raises KafkaException, or TimeoutError after ten seconds."""
        total = sum(max(0, end - starts[key]) for key, end in ends.items())
        found: dict[Copies, list[int]] = defaultdict(list)
        seen = 0
        for seen, message in enumerate(records(self.settings, starts, ends, _TIMEOUT), 1):
            if origin := self.own(message):
                found[origin.copies].append(origin.offset)
            if seen % _AT_ONCE == 0:
                told(seen, total)
        told(total, total)
        held = Held({copies: _bits(offsets) for copies, offsets in found.items()}, sum(map(len, found.values())))
        return Seen(held, gaps=total - seen)

    def own(self, message: Any) -> Origin | None:
        """The event that a record was made of, if it is one of the batch."""
        origin = self.origin(dict(message.headers() or []).get(ORIGIN_HEADER))
        return origin if origin is not None and self._is_own(origin) else None

    def origin(self, header: bytes | None) -> Origin | None:
        """What an origin header says; None where it is none of this read."""
        prefix = f"{self.prefix}/".encode()
        if not header or not header.startswith(prefix):
            return None
        before, _, last = header[len(prefix) :].decode(errors="replace").rpartition("/")
        topic, _, number = before.rpartition("/")
        at, mark, nth = last.partition(COPY_MARK)
        numbers = [number, at, *([nth] if mark else [])]
        if not all(each.isascii() and each.isdecimal() for each in numbers):
            return None
        return Origin(Copies(TopicPartition(topic, int(number)), int(nth or 0)), int(at))

    def _is_own(self, origin: Origin) -> bool:
        for item in self.planned.ranges:
            if item.key == origin.copies.key:
                end = item.start + WIDEST if self.planned.open_ended else item.end
                return item.start <= origin.offset < end
        return False


def _bits(offsets: Iterable[int]) -> Bits:
    numbers = sorted(offsets)
    start = numbers[0] // 8 * 8
    data = bytearray((numbers[-1] - start) // 8 + 1)
    for number in numbers:
        data[(number - start) // 8] |= 1 << (number - start) % 8
    return Bits(start, bytes(data))


def _is_record(message: Any) -> bool:
    """False where it tells the end of the log. Raises KafkaException."""
    if message.error() and message.error().code() != KafkaError._PARTITION_EOF:
        raise KafkaException(message.error())
    return not message.error()
