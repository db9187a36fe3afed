"""Records of Kafka topics, read by Spark from explicit offsets."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaError, KafkaException
from pyspark.sql import Column
from pyspark.sql import functions as f

from pipelines.domain.base.positions import PartitionPosition, SourceIdentity, TopicPartition
from pipelines.domain.ledger.ledger import Cause
from pipelines.domain.runs.protocol import AgentFinding
from workers.agent.base import flume_avro
from workers.agent.base.batch_limits import BatchLimits
from workers.agent.base.event import Event
from workers.agent.base.findings import refuse
from workers.agent.base.located import Marked, Search
from workers.agent.graph.component import Place, SourceBuilder
from workers.agent.kafka import cluster_warnings
from workers.agent.kafka.admin import NOT_COORDINATED, TIMEOUT, KafkaCluster
from workers.agent.kafka.locating import Locator, headers_at
from workers.agent.kafka.records import PROVIDER
from workers.agent.positions.checkpoint import Offsets
from workers.agent.positions.guard import LogRange, Mirrored

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_INSPECTION_TIMEOUT = 2.0
_FORMATS = {"headgate": PROVIDER, "spark": "kafka"}
_READER = {
    "failOnDataLoss": "true",
    "includeHeaders": "true",
    "kafkaConsumer.pollTimeoutMs": "10000",
    # A broker that is away is waited for here, interruptibly, instead of ending the query.
    "fetchOffset.numRetries": "1000000",
    "fetchOffset.retryIntervalMs": "1000",
    # A consumer that asked for more than there was has to hear of it before it can look elsewhere.
    "kafka.fetch.max.wait.ms": "1",
    # Spark's own reader asks for both ends of the log after each poll: a third of the time with the default of 500
    # records. More than this and the records of a poll outlive a collection of young objects, which doubles what that
    # takes.
    "kafka.max.poll.records": "2000",
    # Records of a transaction that was given up were never meant to be seen.
    "kafka.isolation.level": "read_committed",
}
_REQUEST_TIMEOUT_MS = 5000
_WARNED_AT = (1 / 8, 1 / 16, 1 / 32)
"""Parts of the retention time; the smallest that holds is told."""


class Builder(SourceBuilder):
    """Reads the topics of one source."""

    reads_past = True

    def __init__(self, spec: Any, place: Place) -> None:
        super().__init__(spec, place)
        self._cluster = KafkaCluster.of(spec.bootstrap_servers, spec.options, place.reach)
        self._found: list[TopicPartition] = []

    @property
    def causes(self) -> frozenset[Cause]:
        """Every record is an event, unless it has to be one of Flume's."""
        return super().causes if self.spec.parse_as_flume_event else frozenset()

    def probe(self) -> None:
        """Every topic exists and may be read; what may lose data later is a warning."""
        partitions = self._partitions()
        topics = sorted({topic for topic, _ in partitions})
        self.warnings = cluster_warnings.of_source(self._cluster, topics, self.place.path)
        if self.place.kafka_reader == "spark":
            self.warnings.append(_slower_reader(self.place.path))

    def out_of_reach(self) -> list[AgentFinding]:
        """Brokers of the cluster."""
        return self._cluster.out_of_reach(self.place.path)

    def _partitions(self) -> list[TopicPartition]:
        topics = self.spec.topics or self._matching()
        self._found = self._cluster.partitions(topics, self.place.path, "READ")
        return self._found

    def stay_ready(self, _spark: SparkSession) -> None:
        """The group is asked for its commits at the promotion, with the pipeline waiting."""
        for partition in self._found[:1]:
            self._cluster.get_ready_to_ask(self.spec.group_id, partition)

    def _matching(self) -> list[str]:
        """Topics that exist now and match the pattern. Raises Refused where there are none."""
        try:
            known = self._cluster.topics()
        except KafkaException as error:
            raise self._cluster.refusal(self.place.path, self.spec.topics_pattern, error) from error
        found = [topic for topic in known if re.fullmatch(self.spec.topics_pattern, topic)]
        if not found:
            message = f"No topic matches {self.spec.topics_pattern}."
            raise refuse(
                f"{self.place.path}.topics_pattern", "TOPIC_MISSING", message, "Create one, or correct the pattern."
            )
        return found

    @property
    def _reads_committed(self) -> bool:
        level = self.spec.options.get("isolation.level", _READER["kafka.isolation.level"])
        return bool(level == "read_committed")

    def _ends(self, partitions: Iterable[TopicPartition], timeout: float = TIMEOUT) -> Offsets:
        lookup = self._cluster.latest_committed if self._reads_committed else self._cluster.latest
        return lookup(partitions, timeout)

    def log_ranges(self) -> dict[TopicPartition, LogRange]:
        """First and end offset of every partition. Raises Refused where the cluster is away."""
        try:
            partitions = self._partitions()
            starts = self._cluster.earliest(partitions)
            ends = self._ends(partitions)
            return {key: LogRange(starts[key], ends[key]) for key in partitions}
        except KafkaException as error:
            what = ", ".join(self.spec.topics) or self.spec.topics_pattern
            raise self._cluster.refusal(self.place.path, what, error) from error
        except KeyError as error:
            message = f"The broker did not report where {error} starts and ends."
            raise refuse(self.place.path, "POSITION_UNKNOWN", message, "Try again.", retryable=True) from error

    def first_positions(
        self, partitions: list[TopicPartition], log: dict[TopicPartition, LogRange]
    ) -> tuple[Offsets, str]:
        """`start_from`, made explicit."""
        start = self.spec.start_from
        if start == "earliest":
            return {key: log[key].start for key in partitions}, "start_from: earliest"
        if start == "latest":
            return {key: log[key].end for key in partitions}, "start_from: latest"
        if start == "group":
            return self._taken_over(partitions), f"start_from: group {self.spec.group_id}"
        if hasattr(start, "timestamp"):
            found = self._cluster.at(partitions, start.timestamp)
            return {key: found.get(key, log[key].end) for key in partitions}, f"start_from: timestamp {start.timestamp}"
        return self._explicit(partitions), "start_from: offsets"

    def _taken_over(self, partitions: list[TopicPartition]) -> Offsets:
        """What the group has committed; it is never guessed."""
        found = self._cluster.surely_committed(self.spec.group_id, partitions)
        if missing := [key for key in partitions if key not in found]:
            names = ", ".join(f"{topic}/{number}" for topic, number in missing)
            message = f"The group {self.spec.group_id} has no commit for {names}."
            advice = "Correct group_id, or write start_from: {offsets: …} with every partition."
            raise refuse(f"{self.place.path}.start_from", "GROUP_LOST", message, advice)
        return {key: commit.offset for key, commit in found.items()}

    def _explicit(self, partitions: list[TopicPartition]) -> Offsets:
        given = {
            (topic, int(number)): offset
            for topic, numbers in self.spec.start_from.offsets.items()
            for number, offset in numbers.items()
        }
        missing = sorted(set(partitions) - given.keys())
        if missing:
            names = ", ".join(f"{topic}/{number}" for topic, number in missing)
            raise refuse(
                f"{self.place.path}.start_from.offsets",
                "START_OFFSETS_INCOMPLETE",
                f"{names} has no given offset.",
                "Give one for every partition.",
            )
        return {key: given[key] for key in partitions}

    def ends(self, partitions: list[TopicPartition]) -> Offsets:
        """End offsets, asked of the brokers."""
        return self._ends(partitions, _INSPECTION_TIMEOUT)

    def acknowledge(self, positions: list[PartitionPosition]) -> None:
        """Commit to the declared group, marked as ours."""
        self._cluster.commit(self.spec.group_id, positions, self._mark)

    @property
    def _mark(self) -> str:
        return f"headgate {self.place.pipeline_id}"

    def identity(self) -> SourceIdentity:
        """The ids of the cluster and of the topics that are read. Raises Refused where the cluster is away."""
        topics = self.spec.topics or self._matching()
        try:
            ids = self._cluster.topic_ids(topics)
            return SourceIdentity(source=self.place.source, cluster_id=self._cluster.cluster_id(), topics=ids)
        except KafkaException as error:
            raise self._cluster.refusal(self.place.path, ", ".join(topics), error) from error

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        """The ids of these topics now."""
        return self._cluster.topic_ids(topics, _INSPECTION_TIMEOUT)

    def mirrored(self, partitions: list[TopicPartition], *, surely: bool) -> dict[TopicPartition, Mirrored] | None:
        """What the declared group says, and whether it was us who wrote it; None where nobody can or may say.

        Raises Refused where nobody answers.
        """
        lookup = self._cluster.surely_committed if surely else self._cluster.commits
        try:
            found = lookup(self.spec.group_id, partitions)
        except KafkaException as error:
            if error.args[0].code() in {KafkaError.GROUP_AUTHORIZATION_FAILED, *NOT_COORDINATED}:
                return None
            raise self._cluster.refusal(self.place.path, self.spec.group_id, error) from error
        return {key: Mirrored(commit.offset, commit.metadata == self._mark) for key, commit in found.items()}

    def at_time(self, partitions: list[TopicPartition], milliseconds: int) -> Offsets:
        """By the records' timestamps."""
        found = self._cluster.at(partitions, milliseconds)
        missing = [key for key in partitions if key not in found]
        return {**found, **self._ends(missing)}

    def expiring(self, positions: list[PartitionPosition]) -> dict[TopicPartition, float]:
        """Positions that retention by time may pass, with the seconds in which: an eighth of it or less."""
        found: dict[TopicPartition, float] = {}
        for topic, retention in self._retentions({position.topic for position in positions}).items():
            own = [position for position in positions if position.topic == topic]
            for part in _WARNED_AT:
                oldest = round((time.time() - retention * (1 - part)) * 1000)
                firsts = self._cluster.at([position.key for position in own], oldest)
                passed = [at.key for at in own if at.offset < firsts.get(at.key, at.offset + 1)]
                found |= dict.fromkeys(passed, retention * part)
        return found

    def _retentions(self, topics: set[str]) -> dict[str, float]:
        """Seconds after which records are deleted, of the topics where they are."""
        settings = self._cluster.settings_of(topics)
        return {
            topic: int(known["retention.ms"]) / 1000
            for topic, known in settings.items()
            if "delete" in known["cleanup.policy"] and int(known["retention.ms"]) > 0
        }

    def stream(self, spark: SparkSession, starts: Offsets, limits: BatchLimits) -> tuple[DataFrame, Event]:
        """Spark's Kafka source, from `starts` where the checkpoint is new."""
        return self._endless(spark, _FORMATS[self.place.kafka_reader], starts, _bounds(limits))

    def flow(self, spark: SparkSession, starts: Offsets) -> tuple[DataFrame, Event]:
        """The same without a limit, by Spark's own reader: the only one that real-time mode takes."""
        return self._endless(spark, "kafka", starts, {})

    def _endless(
        self, spark: SparkSession, kind: str, starts: Offsets, limit: dict[str, str]
    ) -> tuple[DataFrame, Event]:
        options = {
            **self._options(),
            **self._subscription(),
            "startingOffsets": _json(starts),
            **limit,
        }
        return self._with_event(spark.readStream.format(kind).options(**options).load())

    def _subscription(self) -> dict[str, str]:
        if self.spec.topics:
            return {"subscribe": ",".join(self.spec.topics)}
        return {"subscribePattern": self.spec.topics_pattern}

    def open_beside(self) -> None:
        """Everybody who may read its topics can do that."""

    def other_log(self, before: SourceBuilder) -> str:
        """Another cluster."""
        if found := super().other_log(before):
            return found
        own, earlier = self.identity(), before.identity()
        if earlier is None or own.cluster_id == earlier.cluster_id:
            return ""
        return "The revisions read this source from different clusters"

    def records(self, spark: SparkSession, starts: Offsets, ends: Offsets) -> DataFrame:
        """A batch read of exactly these ranges."""
        numbers: dict[str, list[int]] = {}
        for topic, number in ends:
            numbers.setdefault(topic, []).append(number)
        start_at = {key: starts.get(key, 0) for key in ends}
        options = {
            **self._options(),
            "assign": json.dumps(numbers),
            "startingOffsets": _json(start_at),
            "endingOffsets": _json(ends),
        }
        return spark.read.format(_FORMATS[self.place.kafka_reader]).options(**options).load()

    def headers_at(self, key: TopicPartition, offset: int) -> dict[str, bytes]:
        """As Kafka has them."""
        return headers_at(self._cluster, key, offset) or {}

    def locate(self, spark: SparkSession, marked: Marked, seconds: float) -> Search:
        """In the part of the partition that was written then, and in the rest of it."""
        options = self._cluster.jvm_options(self.spec.options)
        locator = Locator(self._cluster, options, marked.value, seconds, marked.header)
        return locator.search(spark, [marked.key], marked.since, marked.until)

    def given(self, frame: DataFrame) -> tuple[DataFrame, Event]:
        """With the headers that this source adds."""
        return self._with_event(frame)

    def _with_event(self, frame: DataFrame) -> tuple[DataFrame, Event]:
        origin, envelope = self._origin_headers(), self.spec.parse_as_flume_event
        frame = flume_avro.parse(frame, origin.keys()) if envelope else frame
        event = Event(key=f.col("key"), body=f.col("value"), carried=f.col("headers"))
        for name, value in origin.items():
            event = event if envelope else event.without_headers([name])
            event = event.with_header(name, value, preserve_existing=True)
        if envelope:
            event = event.failed_where(f.col("undecodable").isNotNull(), self.place.path, f.col("undecodable"))
        return frame, event

    def _origin_headers(self) -> dict[str, Column]:
        """Headers that are asked for, by name. A record without a key gets none for it."""
        wanted = {
            self.spec.topic_header: f.col("topic"),
            self.spec.partition_header: f.col("partition").cast("string"),
            self.spec.offset_header: f.col("offset").cast("string"),
            self.spec.timestamp_header: f.unix_millis("timestamp").cast("string"),
            self.spec.key_header: f.col("key").cast("string"),
        }
        return {name: value for name, value in wanted.items() if name}

    def _options(self) -> dict[str, str]:
        # The client refuses an API timeout that is shorter than one request.
        request = int(self.spec.options.get("request.timeout.ms", _REQUEST_TIMEOUT_MS))
        return {
            **_READER,
            "kafka.request.timeout.ms": str(request),
            "kafka.default.api.timeout.ms": str(2 * request),
            **self._cluster.jvm_options(self.spec.options),
            "groupIdPrefix": self.spec.group_id,
        }


def _bounds(limits: BatchLimits) -> dict[str, str]:
    """A batch that can be full is read at once; any other waits until the interval has passed since the last one."""
    most = {"maxOffsetsPerTrigger": str(limits.most)}
    if not limits.interval:
        return most
    delay = f"{round(limits.interval * 1000)}ms"
    return {**most, "minOffsetsPerTrigger": str(limits.enough), "maxTriggerDelay": delay}


def _slower_reader(path: str) -> AgentFinding:
    return AgentFinding(
        path=path,
        code="KAFKA_READER_SPARK",
        message="The host's setting makes this source use Spark's own reader, which is slower.",
        suggestion="Remove HEADGATE_KAFKA_READER from the worker's environment, then restart the pipeline.",
    )


def _json(offsets: Offsets) -> str:
    by_topic: dict[str, dict[str, int]] = {}
    for (topic, number), offset in offsets.items():
        by_topic.setdefault(topic, {})[str(number)] = offset
    return json.dumps(by_topic)
