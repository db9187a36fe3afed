"""Records of a Kafka topic, exactly once: what the topic has of a batch is not written again.

Every record tells its origin in one header, `headgate.origin: pipeline/source/channel/topic/partition/offset`, with
`+1` and so on where a record has become several events. One header, since six halve the throughput.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaException
from pyspark.sql import Column

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.ledger.journal import Planned, SinkPosition
from pipelines.domain.ledger.ledger import Counts
from pipelines.domain.runs.protocol import AgentFinding
from workers.agent.base.event import ORIGIN_HEADER
from workers.agent.base.located import Search, Wanted
from workers.agent.graph.batch import Attempt
from workers.agent.graph.component import (
    REACH_TIMEOUT,
    Look,
    Place,
    Resolution,
    SinkBuilder,
    Unverifiable,
)
from workers.agent.graph.together import Passes, together, written_by_kept_plan
from workers.agent.kafka import cluster_warnings, producers
from workers.agent.kafka import records as kafka_records
from workers.agent.kafka.admin import KafkaCluster
from workers.agent.kafka.locating import Locator, headers_at
from workers.agent.kafka.short_tail import SHORT, ShortTail, records
from workers.agent.kafka.tail import Tail
from workers.agent.positions.checkpoint import Offsets
from workers.agent.spark import repeats
from workers.agent.spark.session import is_local

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_CHECK_SECONDS = 300.0
"""How old the list of partitions may be: as old as the producer's own (metadata.max.age.ms)."""
_LOST_EXECUTOR = 15.0
"""Seconds in which a cluster has ended an executor that its driver has lost: a worker kills it after ten."""
_COUNT_TIMEOUT = 60.0
_ENDS_TIMEOUT = 5.0
"""Seconds: a batch waits for the ends before its write begins, and nothing is shown meanwhile."""
_CLIENT = "kafka."
_SERIALIZER = "org.apache.kafka.common.serialization.ByteArraySerializer"
_MAX_REQUEST_SIZE = 1 << 20
"""The Kafka client's default."""


class TopicGone(Unverifiable):
    """The log that had something of a batch is not there any more, so that it has nothing twice, either."""


class Builder(SinkBuilder):
    """Writes one channel to one topic, or to several by a header."""

    def __init__(self, spec: Any, place: Place) -> None:
        super().__init__(spec, place)
        self._cluster = KafkaCluster.of(spec.bootstrap_servers, spec.options, place.reach)
        self._made: dict[tuple[str, bool, bool], list[Column]] = {}
        self._checked = time.monotonic()
        self._abandoned = 0
        self._ids: dict[str, str] = {}
        self._ended: Offsets = {}

    def probe(self) -> None:
        """Every topic exists and may be written; what may lose data later is a warning."""
        self._partitions = self._check()
        topics = sorted({topic for topic, _ in self._partitions})
        self.warnings = cluster_warnings.of_sink(self._cluster, topics, self.place.path)

    def out_of_reach(self) -> list[AgentFinding]:
        """Brokers of the cluster."""
        return self._cluster.out_of_reach(self.place.path)

    @cached_property
    def _partitions(self) -> list[TopicPartition]:
        return self._check()

    def _check_again(self) -> None:
        known, self._partitions = self._partitions, self._check()
        if self._partitions != known:
            self._made.clear()
            for stale in ("_refused", "_largest"):
                self.__dict__.pop(stale, None)

    def _check(self) -> list[TopicPartition]:
        self._checked = time.monotonic()
        topics = self._topics()
        found = self._cluster.partitions(topics, self.place.path, "WRITE")
        self._ids = self._cluster.topic_ids(topics)
        return found

    def _topics(self) -> list[str]:
        named = {self.spec.topic, *self.spec.allowed_topics}
        prefix = self.spec.allowed_topic_prefix
        also = self._starting_with(prefix) if prefix else []
        return sorted({*named, *also})

    def _starting_with(self, prefix: str) -> list[str]:
        try:
            return [topic for topic in self._cluster.topics() if topic.startswith(prefix)]
        except KafkaException as error:
            raise self._cluster.refusal(self.place.path, prefix, error) from error

    @cached_property
    def _largest(self) -> int:
        """The size of a record that client and every topic take."""
        limits = [int(self.spec.options.get("max.request.size", _MAX_REQUEST_SIZE))]
        topics = {topic for topic, _ in self._partitions}
        limits += [
            int(settings["max.message.bytes"])
            for settings in self._cluster.settings_of(sorted(topics)).values()
            if "max.message.bytes" in settings
        ]
        return min(limits)

    def refuses(self) -> Column | None:
        """Topics that are not allowed, partitions that do not exist, records that are too large."""
        return self._refused

    @cached_property
    def _refused(self) -> Column:
        return kafka_records.refuses(self.spec, self._partitions, self._largest, len(self.place.pipeline))

    def ends(self) -> list[SinkPosition]:
        """End offsets of the topics. Topics that a prefix allows, and now and then partitions, are looked for again; so
        are all where one is shorter than it was."""
        if self.spec.allowed_topic_prefix or time.monotonic() - self._checked > _CHECK_SECONDS:
            self._check_again()
        found = self._cluster.latest(self._partitions, _ENDS_TIMEOUT)
        if _shorter(self._ended, found):
            self._check_again()
            found = self._cluster.latest(self._partitions, _ENDS_TIMEOUT)
        self._ended = found
        return [
            SinkPosition(topic=key.topic, partition=key.partition, offset=at, topic_id=self._ids.get(key.topic, ""))
            for key, at in sorted(found.items())
        ]

    def reach(self) -> None:
        """The leaders of the partitions answer."""
        self._cluster.latest(self._partitions, REACH_TIMEOUT)

    def write(self, attempt: Attempt) -> Counts:
        """Spark writes and waits for all acknowledgements."""
        planned = attempt.planned
        columns = self._columns(planned.source, planned.channel, copies=attempt.copies)
        self._save([(attempt, columns)], self._options(), lambda counted: attempt.in_columns(columns, counted))
        return attempt.counts

    @property
    def written_with(self) -> tuple[str, ...]:
        """By one producer: it has the client's options, the user of the cluster among them, and the bounds of a
        write."""
        own = {name: value for name, value in self._options().items() if name not in ("topic", "kafka.client.id")}
        return *(f"{name}={value}" for name, value in sorted(own.items())), str(self.write_deadline)

    def write_together(self, passes: Sequence[tuple[SinkBuilder, Attempt]]) -> None:
        """By a column with the topic."""
        own = [(attempt, sink._whole_columns(attempt)) for sink, attempt in passes if isinstance(sink, Builder)]
        options = {name: value for name, value in self._options().items() if name != "topic"}
        self._save(own, options, lambda counted: together(own, counted))

    def _save(self, passes: Passes, options: dict[str, str], records: Callable[[str | None], DataFrame]) -> None:
        if not written_by_kept_plan(passes, options, lambda counted: repeats.refused(records(counted))):
            own = repeats.refused(records(None))
            own.write.format(kafka_records.PROVIDER).mode("append").options(**options).save()

    def _whole_columns(self, attempt: Attempt) -> list[Column]:
        planned = attempt.planned
        return self._columns(planned.source, planned.channel, copies=attempt.copies, whole=True)

    def warm_up(self, attempt: Attempt) -> None:
        """Without a record Spark makes no producer, so one is made that sends nothing."""
        self.write(attempt)
        jvm: Any = attempt.spark.sparkContext._jvm
        options = self._options().items()
        settings = {name.removeprefix(_CLIENT): value for name, value in options if name.startswith(_CLIENT)}
        settings |= dict.fromkeys(("key.serializer", "value.serializer"), _SERIALIZER)
        producer = jvm.org.apache.kafka.clients.producer.KafkaProducer(settings)
        try:
            producer.partitionsFor(self.spec.topic)
        finally:
            producer.close()

    def stream(self, written: Callable[[Sequence[Column]], DataFrame], source: str, channel: str) -> DataStreamWriter:
        """Spark writes each record at once: in real-time mode nothing lingers."""
        records = written(self._columns(source, channel))
        return records.writeStream.format("kafka").options(**{**self._options(), "kafka.linger.ms": "0"})

    def _columns(self, source: str, channel: str, *, copies: bool = False, whole: bool = False) -> list[Column]:
        prefix = _origin_prefix(self.place.pipeline, source, channel)
        known = self._made.get((prefix, copies, whole))
        if known is None:
            known = kafka_records.columns(self.spec, prefix, len(self._partitions), copies=copies, whole=whole)
            self._made[prefix, copies, whole] = known
        return known

    @property
    def _timeouts(self) -> tuple[int, int, int]:
        """Milliseconds for a write, for one request, and for a delivery. The client refuses a delivery timeout that is
        shorter than linger and one request together."""
        write = max(1000, round(self.spec.write_timeout * 1000))
        request = int(self.spec.options.get("request.timeout.ms", max(500, min(10_000, write // 2))))
        return write, request, write + self.spec.linger_ms + request

    def _options(self) -> dict[str, str]:
        write, request, delivery = self._timeouts
        return {
            "kafka.client.id": self._client_id,
            "kafka.batch.size": str(512 * 1024),
            "kafka.buffer.memory": str(64 * 1024 * 1024),
            "kafka.request.timeout.ms": str(request),
            **self._cluster.jvm_options(self.spec.options),
            **({} if self.spec.topic_header else {"topic": self.spec.topic}),
            "includeHeaders": "true",
            "kafka.acks": "all",
            "kafka.enable.idempotence": "true",
            "kafka.compression.type": self.spec.compression,
            "kafka.linger.ms": str(self.spec.linger_ms),
            "kafka.max.block.ms": str(write),
            "kafka.delivery.timeout.ms": str(delivery),
        }

    @property
    def _client_id(self) -> str:
        """Another one after each attempt that failed, since its producers are closed."""
        attempt = f".{self._abandoned}" if self._abandoned else ""
        return f"headgate.{self.place.pipeline}.{self.place.path}{attempt}"

    def abandon(self, spark: SparkSession) -> float:
        """Close the producers of this JVM at once, whatever they still have to send. Those of executors cannot be
        reached: they give up at their delivery timeout."""
        client, self._abandoned = self._client_id, self._abandoned + 1
        if is_local(spark.sparkContext):
            producers.close(spark, client)
            return 0.0
        return max(_LOST_EXECUTOR, self._timeouts[-1] / 1000)

    def look(
        self, planned: Planned, spark: SparkSession, since: Offsets | None, told: Callable[[int, int], None]
    ) -> Look:
        """Read the topics from the noted ends on; of partitions that are newer than the note, from the beginning."""
        starts, ends = self._tail(planned, since)
        short = self._short_tail(planned)
        if sum(max(0, end - starts[key]) for key, end in ends.items()) <= SHORT:
            seen = short.read(starts, ends, told)
        else:
            reader = self._cluster.jvm_options(self.spec.options)
            seen = Tail(reader, planned, short.prefix).read(spark, starts, ends, told)
        if seen.gaps and self._is_compacted({topic for topic, _ in starts}):
            raise Unverifiable(f"the topic is compacted, and {seen.gaps:,} of its records are gone")
        return Look(seen.held, ends)

    def _tail(self, planned: Planned, since: Offsets | None = None) -> tuple[Offsets, Offsets]:
        """Where the records of a batch may be. Raises Unverifiable where some of them may be gone."""
        noted = planned.ends_of(self.place.name)
        if not noted:
            raise Unverifiable("the ends of the topic were not noted before the batch")
        self._require_same_topics(noted)
        starts = {**dict.fromkeys(self._check(), 0), **(since or {item.key: item.offset for item in noted})}
        ends, firsts = self._cluster.latest(starts), self._cluster.earliest(starts)
        if deleted := sum(max(0, firsts[key] - starts[key]) for key in starts):
            raise Unverifiable(f"{deleted:,} records of the topic were deleted since")
        if lost := _shorter(starts, ends):
            raise TopicGone(f"{lost:,} records of the topic were lost since")
        return starts, ends

    def _require_same_topics(self, noted: Sequence[SinkPosition]) -> None:
        known = {item.topic: item.topic_id for item in noted if item.topic_id}
        now = self._cluster.topic_ids(known)
        if others := sorted(topic for topic, each in known.items() if now.get(topic) != each):
            raise TopicGone(f"the topic {', '.join(others)} was deleted since, with what it had of the batch")

    def origin_at(self, key: TopicPartition, offset: int) -> bytes | None:
        """By the header that says where a record came from."""
        if key.topic not in self._topics():
            raise Unverifiable
        found = headers_at(self._cluster, key, offset)
        if found is None:
            raise Unverifiable(f"{key.topic}/{key.partition} has no record at offset {offset}")
        return found.get(ORIGIN_HEADER)

    def locate(self, spark: SparkSession, wanted: Wanted, seconds: float) -> Search:
        """By the header that says where a record came from."""
        prefix = _origin_prefix(self.place.pipeline, wanted.source, wanted.channel)
        origin = f"{prefix}/{wanted.topic}/{wanted.partition}/{wanted.offset}"
        options = self._cluster.jvm_options(self.spec.options)
        partitions = self._cluster.partitions(self._topics(), self.place.path, "READ")
        locator = Locator(self._cluster, options, origin, seconds, once=wanted.once)
        return locator.search(spark, partitions, wanted.since, wanted.until)

    def _is_compacted(self, topics: set[str]) -> bool:
        found = self._cluster.settings_of(sorted(topics))
        return any("compact" in settings.get("cleanup.policy", "") for settings in found.values())

    def resolve(self, planned: Planned) -> Resolution:
        """Count, from the noted end offsets on, the records whose origin lies in the batch's ranges; of partitions that
        are newer than the note, from the beginning."""
        bound = planned.bound
        try:
            count, complete = self._count(planned, *self._tail(planned))
        except TopicGone:
            return Resolution(0) if planned.open_ended else Resolution(bound, complete=False)
        except (KafkaException, Unverifiable):
            return Resolution(delivered_before=bound, complete=False)
        return Resolution(count if complete else max(bound, count), complete)

    def _count(self, planned: Planned, starts: Offsets, ends: Offsets) -> tuple[int, bool]:
        """Records of the batch, and whether they are all."""
        tail, settings = self._short_tail(planned), self._cluster.settings
        count, unseen = 0, sum(max(0, end - starts[key]) for key, end in ends.items())
        try:
            for message in records(settings, starts, ends, _COUNT_TIMEOUT):
                count, unseen = count + (tail.own(message) is not None), unseen - 1
        except TimeoutError:
            return count, False
        return count, not (unseen and self._is_compacted({topic for topic, _ in starts}))

    def _short_tail(self, planned: Planned) -> ShortTail:
        prefix = _origin_prefix(self.place.pipeline, planned.source, planned.channel)
        return ShortTail(self._cluster.settings, planned, prefix)


def _shorter(before: Offsets, now: Offsets) -> int:
    """How many offsets logs have lost at their ends."""
    return sum(max(0, at - now.get(key, at)) for key, at in before.items())


def _origin_prefix(pipeline: str, source: str, channel: str) -> str:
    return f"{pipeline}/{source}/{channel}"
