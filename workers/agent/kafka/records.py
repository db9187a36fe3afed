"""Kafka records made of events: topic, partition, key, value and headers, and which events can be none."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as f

from pipelines.domain.base.positions import TopicPartition
from workers.agent.base import event_values, flume_avro
from workers.agent.base.event import COPY_MARK, HEADERS_TYPE, ORIGIN_HEADER

PROVIDER = "org.apache.spark.sql.kafka010.HeadgateKafkaProvider"
"""Who reads and writes them: the source and the sink of the module for the agents' JVM (workers/agent/jvm)."""
_BATCH_OVERHEAD = 61
_RECORD_OVERHEAD = 21
_HEADER_OVERHEAD = 10
_ORIGIN_OVERHEAD = 400
"""Source, channel, topic, numbers and the header's name, at their longest."""
_RUN = 1000
"""Records without a key of one partition that go to the same partition before the next one has its turn."""
_LEGAL_TOPIC = r"^[A-Za-z0-9._-]{1,249}$"


def columns(
    spec: Any, origin_prefix: str, partitions: int = 1, *, copies: bool = False, whole: bool = False
) -> list[Column]:
    """What Spark's Kafka sink writes of events. `origin_prefix`: of the header that says where a record came from;
    `partitions`: how many the one topic has that is written to; `copies`: a record can be several events; `whole`: with
    the topic, which is never null and comes first, and the partition, whatever the definition chooses."""
    origin = event_values.origin()
    if copies:
        nth = f.concat(f.lit(COPY_MARK), f.col("copy").cast("string"))
        origin = f.concat(origin, f.when(f.col("copy") > 0, nth).otherwise(f.lit("")))
    place = f.concat_ws("/", f.lit(origin_prefix), origin)
    pair = f.struct(f.lit(ORIGIN_HEADER).alias("key"), place.cast("binary").alias("value"))
    own = f.array(pair).cast(HEADERS_TYPE)
    headers = own if spec.use_flume_event_format else f.concat(f.col("headers"), own)
    value = flume_avro.encoded() if spec.use_flume_event_format else f.col("body")
    found = [key(spec).alias("key"), value.alias("value"), headers.alias("headers")]
    to = _partition(spec, partitions)
    if whole:
        to = f.lit(None).cast("int") if to is None else to
        found.insert(0, (topic(spec) if spec.topic_header else f.lit(spec.topic)).alias("topic"))
    elif spec.topic_header:
        found.append(topic(spec).alias("topic"))
    return found if to is None else [*found, to.alias("partition")]


def _partition(spec: Any, partitions: int) -> Column | None:
    """None: the client decides."""
    if _chooses_partition(spec):
        return partition(spec)
    in_turn = partitions > 1 and spec.key != "body" and not spec.topic_header
    return _in_turn(spec, partitions) if in_turn else None


def _in_turn(spec: Any, partitions: int) -> Column:
    """Partitions of records without a key: tasks fill different ones. The client would have all of them fill the same
    one, and wait for each other (KIP-480)."""
    turn = f.col("partition") + f.expr(f"offset div {_RUN}")
    return f.when(key(spec).isNull(), f.pmod(turn, f.lit(partitions)).cast("int"))


def key(spec: Any) -> Column:
    """The record's key."""
    kind, _, name = spec.key.partition(".")
    if kind == "header":
        return event_values.header(name).cast("binary")
    return {"record": f.col("key"), "body": f.col("body"), "none": f.lit(None).cast("binary")}[kind]


def topic(spec: Any) -> Column:
    """The topic that an event's header chooses, or the one of the definition."""
    chosen = event_values.header(spec.topic_header)
    return f.coalesce(f.when(f.length(chosen) > 0, chosen), f.lit(spec.topic))


def partition(spec: Any) -> Column:
    """The partition that an event's header or the definition chooses; null: the key decides."""
    fixed = f.lit(spec.partition).cast("int")
    if not spec.partition_header:
        return fixed
    return f.coalesce(event_values.header(spec.partition_header).try_cast("int"), fixed)


def _chooses_partition(spec: Any) -> bool:
    return spec.partition_header is not None or spec.partition is not None


def refuses(spec: Any, partitions: list[TopicPartition], largest: int, pipeline_length: int) -> Column:
    """Why an event can never be a record of these topics; null where it can."""
    causes = []
    if spec.topic_header:
        causes.append(_wrong_topic(spec))
    if spec.partition_header:
        causes.append(_no_number(spec))
    if _chooses_partition(spec):
        causes.append(_wrong_partition(spec, partitions))
    size = _size(spec) + _ORIGIN_OVERHEAD + pipeline_length
    words = f.concat(f.lit("The record has "), size.cast("string"), f.lit(f" bytes, more than {largest}."))
    return f.coalesce(*causes, f.when(size > largest, words))


def _wrong_topic(spec: Any) -> Column:
    chosen = topic(spec)
    allowed = chosen.isin(spec.topic, *spec.allowed_topics)
    if spec.allowed_topic_prefix:
        allowed = allowed | (chosen.startswith(spec.allowed_topic_prefix) & chosen.rlike(_LEGAL_TOPIC))
    words = f.concat(f.lit("The topic "), f.substring(chosen, 1, 100), f.lit(" is not allowed."))
    return f.when(~allowed, words)


def _no_number(spec: Any) -> Column:
    written = event_values.header(spec.partition_header)
    words = f.concat(f.lit("The partition "), f.substring(written, 1, 20), f.lit(" is not a number."))
    return f.when(written.isNotNull() & written.try_cast("int").isNull(), words)


def _wrong_partition(spec: Any, partitions: list[TopicPartition]) -> Column:
    counts: dict[str, int] = {}
    for name, _ in partitions:
        counts[name] = counts.get(name, 0) + 1
    chosen = partition(spec)
    known = f.create_map(*[f.lit(item) for pair in sorted(counts.items()) for item in pair])
    count = f.try_element_at(known, topic(spec)) if spec.topic_header else f.lit(counts.get(spec.topic, 0))
    words = f.concat(f.lit("The topic has no partition "), chosen.cast("string"), f.lit("."))
    return f.when((chosen < 0) | (chosen >= count), words)


def _size(spec: Any) -> Column:
    """The size of a record as the client estimates it, but for the header of the origin.

    Source: AbstractRecords.estimateSizeInBytesUpperBound. The headers are joined to one text to be measured: that costs
    less than a function over an array.
    """
    names, values = f.col("headers.key"), f.col("headers.value").cast("array<string>")
    headers = f.octet_length(f.concat_ws("", names, values)) + _HEADER_OVERHEAD * f.size("headers")
    parts = [f.coalesce(f.octet_length(part), f.lit(0)) for part in (key(spec), f.col("body"))]
    return parts[0] + parts[1] + headers + _BATCH_OVERHEAD + _RECORD_OVERHEAD
