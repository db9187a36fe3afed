"""Flume's components as ours, as data: one entry for each type, with what its properties become.

A property that no rule names goes to our key of the same name in snake_case, with `_ms` where Flume counts
milliseconds, where the component has such a key. Sources: the user guide and the `configure` methods of Flume 1.11.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from pipelines.domain.definitions.parts.component import Kind


@dataclass(frozen=True)
class Rule:
    """What a property becomes: the first of these keys that the component has, the unit of a number, the separator of a
    list, and our words for Flume's."""

    keys: tuple[str, ...]
    unit: str = ""
    separator: str = ""
    words: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class FlumeType:
    """A component type of Flume.

    `ours` is our type, or None where there is none; then `advice` says what to do instead. With an `ours`, it says
    where that differs. `defaults` are Flume's values of properties that are not written, where ours differ or are
    required. `needless` are properties that need no equivalent, with the reason. `batch` is the property of the batch
    size, with its default.
    """

    kind: Kind
    names: tuple[str, ...]
    ours: str | None
    rules: Mapping[str, Rule] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)
    needless: Mapping[str, str] = field(default_factory=dict)
    batch: tuple[str, int] | None = None
    advice: str = ""


def _to(*keys: str, unit: str = "", separator: str = "", words: Mapping[str, str] | None = None) -> Rule:
    return Rule(keys, unit, separator, words or {})


_BATCHES = "Spark decides how many events it moves at once, within delivery.max_events_per_batch"
_BACKOFF = "Headgate waits without it: batches follow delivery.trigger_interval_ms"
_POSITIONS = "positions are in Headgate's ledger"
_OWN_DIRECTORY = "the log lies in the host's state directory"
_READING = {
    "batchSize": _BATCHES,
    "batchDurationMillis": _BATCHES,
    "backoffSleepIncrement": _BACKOFF,
    "maxBackoffSleep": _BACKOFF,
    "maxBackoff": _BACKOFF,
}
_ZOOKEEPER = "Kafka has had no offsets in ZooKeeper since 0.9"
_PUSH = "Let its clients post to an http source, or write to Kafka and read the topic."
_STORE = "Write to Kafka and let Kafka Connect fill the store, or use a file, postgres or opensearch sink."

_IN_MEMORY = {
    "keep-alive": "a batch never waits for space",
    "byteCapacity": "a batch is as large as Spark has room for",
    "byteCapacityBufferPercentage": "a batch is as large as Spark has room for",
}
_CODECS = {
    "gzipcodec": "gzip",
    "org.apache.hadoop.io.compress.GzipCodec": "gzip",
    "snappycodec": "snappy",
    "org.apache.hadoop.io.compress.SnappyCodec": "snappy",
}
_TLS = "a certificate and its key are PEM files here; set tls_certificate and tls_key, or the port speaks no TLS"

SOURCES = (
    FlumeType(
        "source",
        ("kafka", "org.apache.flume.source.kafka.KafkaSource"),
        "kafka",
        rules={
            "kafka.bootstrap.servers": _to("bootstrap_servers"),
            "kafka.topics.regex": _to("topics_pattern"),
            "kafka.topics": _to("topics", separator=","),
            "kafka.consumer.group.id": _to("group_id"),
            "topic": _to("topics", separator=","),
            "groupId": _to("group_id"),
            "useFlumeEventFormat": _to("parse_as_flume_event"),
        },
        needless=_READING
        | {
            "zookeeperConnect": _ZOOKEEPER,
            "migrateZookeeperOffsets": _ZOOKEEPER,
            "auto.commit.enabled": _POSITIONS,
        },
        batch=("batchSize", 1000),
    ),
    FlumeType(
        "source",
        ("taildir", "org.apache.flume.source.taildir.TaildirSource"),
        "taildir",
        rules={"filegroups": _to(), "idleTimeout": _to("idle_timeout", unit="ms")},
        defaults={"idleTimeout": "120000"},
        needless=_READING
        | {
            "positionFile": _POSITIONS,
            "writePosInterval": _POSITIONS,
            "maxBatchCount": _BATCHES,
            "cachePatternMatching": "directories are listed anew for each batch",
        },
        batch=("batchSize", 100),
    ),
    FlumeType(
        "source",
        ("exec", "org.apache.flume.source.ExecSource"),
        "exec",
        rules={
            "restartThrottle": _to("restart_throttle_ms", unit="ms"),
            "batchTimeout": _to("batch_timeout_ms", unit="ms"),
            "logStdErr": _to("log_stderr"),
        },
        batch=("batchSize", 20),
        advice="What it printed before the ingest buffer had it cannot be read again; taildir loses nothing.",
    ),
    FlumeType(
        "source",
        ("spooldir", "org.apache.flume.source.SpoolDirectorySource"),
        "spooldir",
        rules={
            "spoolDir": _to("directory"),
            "recursiveDirectorySearch": _to("recursive"),
            "fileSuffix": _to("completed_suffix"),
            "deletePolicy": _to("completed", words={"never": "rename", "immediate": "delete"}),
            "deserializer.maxLineLength": _to("max_line_bytes"),
            "pollDelay": _to("scan_interval", unit="ms"),
        },
        needless=_READING
        | {
            "trackerDir": _POSITIONS,
            "trackingPolicy": _POSITIONS,
            "bufferMaxLines": "it has no effect in Flume",
            "bufferMaxLineLength": "it is replaced by deserializer.maxLineLength in Flume",
        },
        batch=("batchSize", 100),
    ),
    FlumeType(
        "source",
        ("http", "org.apache.flume.source.http.HTTPSource"),
        "http",
        rules={
            "handler": _to(
                "handler",
                words={
                    "org.apache.flume.source.http.JSONHandler": "json",
                    "org.apache.flume.source.http.BLOBHandler": "blob",
                    "org.apache.flume.sink.solr.morphline.BlobHandler": "blob",
                },
            )
        },
        needless={
            "enableSSL": _TLS,
            "ssl": _TLS,
            "keystore": _TLS,
            "keystorePassword": _TLS,
            "keystore-password": _TLS,
        },
        advice="Without bind only its own machine reaches it; Flume listens on all addresses.",
    ),
    FlumeType(
        "source",
        ("seq", "org.apache.flume.source.SequenceGeneratorSource"),
        "sequence",
        rules={"totalEvents": _to("limit")},
        defaults={"rate": "0"},
        needless=_READING,
        batch=("batchSize", 1),
    ),
    FlumeType("source", ("avro", "org.apache.flume.source.AvroSource"), None, advice=_PUSH),
    FlumeType("source", ("thrift", "org.apache.flume.source.ThriftSource"), None, advice=_PUSH),
    FlumeType("source", ("netcat", "org.apache.flume.source.NetcatSource"), None, advice=_PUSH),
    FlumeType("source", ("netcatudp", "org.apache.flume.source.NetcatUdpSource"), None, advice=_PUSH),
    FlumeType("source", ("syslogtcp", "org.apache.flume.source.SyslogTcpSource"), None, advice=_PUSH),
    FlumeType(
        "source", ("multiport_syslogtcp", "org.apache.flume.source.MultiportSyslogTCPSource"), None, advice=_PUSH
    ),
    FlumeType("source", ("syslogudp", "org.apache.flume.source.SyslogUDPSource"), None, advice=_PUSH),
    FlumeType("source", ("jms", "org.apache.flume.source.jms.JMSSource"), None, advice=_PUSH),
    FlumeType("source", ("scribe", "org.apache.flume.source.scribe.ScribeSource"), None, advice=_PUSH),
    FlumeType("source", ("stress", "org.apache.flume.source.StressSource"), None, advice="Use a sequence source."),
)

CHANNELS = (
    FlumeType(
        "channel",
        ("memory", "org.apache.flume.channel.MemoryChannel"),
        "memory",
        needless=_IN_MEMORY,
    ),
    FlumeType(
        "channel",
        ("file", "org.apache.flume.channel.file.FileChannel"),
        "file",
        rules={
            "keep-alive": _to("keep_alive", unit="s"),
        },
        needless={
            "checkpointDir": _OWN_DIRECTORY,
            "dataDirs": _OWN_DIRECTORY,
            "backupCheckpointDir": _OWN_DIRECTORY,
            "useDualCheckpoints": "the log needs no checkpoint of its own; its position is in the ledger",
            "checkpointInterval": "the log needs no checkpoint of its own; its position is in the ledger",
            "checkpointOnClose": "the log needs no checkpoint of its own; its position is in the ledger",
            "use-log-replay-v1": "it is for logs of old versions of Flume",
            "use-fast-replay": "it is for logs of old versions of Flume",
        },
    ),
    FlumeType(
        "channel",
        ("kafka", "org.apache.flume.channel.kafka.KafkaChannel"),
        "kafka",
        rules={
            "kafka.bootstrap.servers": _to("bootstrap_servers"),
            "kafka.topic": _to("topic"),
            "kafka.consumer.group.id": _to("group_id"),
            "kafka.producer.compression.type": _to("compression"),
            "brokerList": _to("bootstrap_servers"),
            "topic": _to("topic"),
            "groupId": _to("group_id"),
        },
        defaults={"kafka.topic": "flume-channel"},
        needless={
            "parseAsFlumeEvent": "the channel reads only what it has written itself",
            "pollTimeout": _BACKOFF,
            "zookeeperConnect": _ZOOKEEPER,
            "migrateZookeeperOffsets": _ZOOKEEPER,
            "kafka.pollTimeout": _BACKOFF,
        },
    ),
    FlumeType(
        "channel",
        ("spillablememory", "org.apache.flume.channel.SpillableMemoryChannel"),
        "file",
        rules={"overflowCapacity": _to("capacity")},
        needless={
            "memoryCapacity": "every event goes to the log",
            "overflowTimeout": "every event goes to the log",
            "checkpointDir": _OWN_DIRECTORY,
            "dataDirs": _OWN_DIRECTORY,
        },
        advice="A file channel keeps what a spillable memory channel loses.",
    ),
    FlumeType(
        "channel",
        ("jdbc", "org.apache.flume.channel.jdbc.JdbcChannel"),
        "file",
        rules={"maximum.capacity": _to("capacity")},
        advice="A file channel takes the place of the embedded database.",
    ),
    FlumeType(
        "channel",
        ("org.apache.flume.channel.PseudoTxnMemoryChannel",),
        "memory",
        needless=_IN_MEMORY,
        advice="A memory channel has real transactions.",
    ),
)

SINKS = (
    FlumeType(
        "sink",
        ("kafka", "org.apache.flume.sink.kafka.KafkaSink"),
        "kafka",
        rules={
            "kafka.bootstrap.servers": _to("bootstrap_servers"),
            "kafka.topic": _to("topic"),
            "brokerList": _to("bootstrap_servers"),
            "topic": _to("topic"),
            "kafka.producer.linger.ms": _to("linger_ms", unit="ms"),
            "kafka.producer.compression.type": _to("compression"),
            "kafka.producer.delivery.timeout.ms": _to("write_timeout", unit="ms"),
            "partitionIdHeader": _to("partition_header"),
            "defaultPartitionId": _to("partition"),
        },
        defaults={"kafka.topic": "default-flume-topic"},
        needless={
            "kafka.producer.acks": "Headgate always waits for all replicas (acks=all)",
            "requiredAcks": "Headgate always waits for all replicas (acks=all)",
            "flumeBatchSize": _BATCHES,
            "batchSize": _BATCHES,
        },
        batch=("flumeBatchSize", 100),
    ),
    FlumeType(
        "sink",
        ("file_roll", "org.apache.flume.sink.RollingFileSink"),
        "file",
        rules={
            "sink.directory": _to("path"),
        },
        needless={"sink.batchSize": _BATCHES},
        batch=("sink.batchSize", 100),
        advice="Files appear under their names when a batch is complete, never while they are written.",
    ),
    FlumeType(
        "sink",
        ("hdfs", "org.apache.flume.sink.hdfs.HDFSEventSink"),
        "file",
        rules={
            "hdfs.path": _to("path"),
            "hdfs.codeC": _to("compression", words=_CODECS),
        },
        needless={
            "hdfs.batchSize": _BATCHES,
            "hdfs.fileType": "the format says how a file is written",
            "hdfs.writeFormat": "the format says how a file is written",
            "hdfs.useLocalTimeStamp": "the path has no times",
            "hdfs.inUsePrefix": "a file has a hidden name until it is complete",
            "hdfs.inUseSuffix": "a file has a hidden name until it is complete",
            "hdfs.idleTimeout": "files are closed by batch",
            "hdfs.closeTries": "files are closed by batch",
            "hdfs.retryInterval": "files are closed by batch",
            "hdfs.maxOpenFiles": "files are closed by batch",
            "hdfs.minBlockReplicas": "files are closed by batch",
            "hdfs.callTimeout": "write_deadline limits a whole batch",
            "hdfs.threadsPoolSize": "Spark's cores write",
            "hdfs.rollTimerPoolSize": "Spark's cores write",
        },
        batch=("hdfs.batchSize", 100),
        advice="Files appear under their names when a batch is complete, never while they are written.",
    ),
    FlumeType(
        "sink",
        ("http", "org.apache.flume.sink.http.HttpSink"),
        "http",
        rules={
            "endpoint": _to("url"),
            "connectTimeout": _to("connect_timeout", unit="ms"),
            "requestTimeout": _to("read_timeout", unit="ms"),
        },
        advice="What is rejected permanently becomes dead letters; what fails is retried, and nothing is dropped.",
    ),
    FlumeType(
        "sink",
        ("elasticsearch", "org.apache.flume.sink.elasticsearch.ElasticSearchSink"),
        "opensearch",
        rules={"hostNames": _to("hosts", separator=","), "indexName": _to("index")},
        needless={
            "batchSize": _BATCHES,
            "clusterName": "HTTP has no name of a cluster",
            "indexType": "documents no longer have types",
            "client": "it is always HTTP",
        },
        batch=("batchSize", 100),
        advice="Flume adds the day to the name of the index; here the index is one index, alias or data stream.",
    ),
    FlumeType(
        "sink",
        ("logger", "org.apache.flume.sink.LoggerSink"),
        "logger",
        rules={"maxBytesToLog": _to("max_bytes_to_log")},
        needless={"batchSize": _BATCHES},
    ),
    FlumeType(
        "sink",
        ("null", "org.apache.flume.sink.NullSink"),
        "null",
        needless={"batchSize": _BATCHES},
        batch=("batchSize", 100),
    ),
    FlumeType(
        "sink",
        ("avro", "org.apache.flume.sink.AvroSink"),
        None,
        advice="Two agents in a row are one pipeline here, or two with a Kafka topic between.",
    ),
    FlumeType(
        "sink",
        ("thrift", "org.apache.flume.sink.ThriftSink"),
        None,
        advice="Two agents in a row are one pipeline here, or two with a Kafka topic between.",
    ),
    FlumeType("sink", ("hive", "org.apache.flume.sink.hive.HiveSink"), None, advice=_STORE),
    FlumeType("sink", ("hbase", "org.apache.flume.sink.hbase.HBaseSink"), None, advice=_STORE),
    FlumeType("sink", ("hbase2", "org.apache.flume.sink.hbase2.HBase2Sink"), None, advice=_STORE),
    FlumeType("sink", ("asynchbase", "org.apache.flume.sink.hbase.AsyncHBaseSink"), None, advice=_STORE),
    FlumeType(
        "sink", ("morphline_solr", "org.apache.flume.sink.solr.morphline.MorphlineSolrSink"), None, advice=_STORE
    ),
    FlumeType("sink", ("irc", "org.apache.flume.sink.irc.IRCSink"), None, advice=_STORE),
    FlumeType("sink", ("org.apache.flume.sink.kite.DatasetSink",), None, advice=_STORE),
)

_HEADER_NAME = _to("header_name")

INTERCEPTORS = (
    FlumeType(
        "interceptor",
        ("timestamp", "org.apache.flume.interceptor.TimestampInterceptor$Builder"),
        "timestamp",
        rules={"headerName": _HEADER_NAME, "header": _HEADER_NAME},
    ),
    FlumeType(
        "interceptor",
        ("host", "org.apache.flume.interceptor.HostInterceptor$Builder"),
        "host",
    ),
    FlumeType(
        "interceptor",
        ("static", "org.apache.flume.interceptor.StaticInterceptor$Builder"),
        "static",
        defaults={"key": "key", "value": "value"},
    ),
    FlumeType(
        "interceptor",
        ("regex_filter", "org.apache.flume.interceptor.RegexFilteringInterceptor$Builder"),
        "regex_filter",
        defaults={"regex": ".*"},
    ),
    FlumeType(
        "interceptor",
        ("regex_extractor", "org.apache.flume.interceptor.RegexExtractorInterceptor$Builder"),
        "regex_extractor",
        rules={"serializers": _to()},
    ),
    FlumeType(
        "interceptor",
        ("search_replace", "org.apache.flume.interceptor.SearchAndReplaceInterceptor$Builder"),
        "search_replace",
    ),
    FlumeType(
        "interceptor",
        ("remove_header", "org.apache.flume.interceptor.RemoveHeaderInterceptor$Builder"),
        "remove_header",
        rules={"fromList": _to("from_list", separator=",")},
    ),
    FlumeType(
        "interceptor",
        ("uuid", "org.apache.flume.sink.solr.morphline.UUIDInterceptor$Builder"),
        "uuid",
        advice="An event has the same UUID when it is read again; Flume makes a new one.",
    ),
    FlumeType(
        "interceptor",
        ("org.apache.flume.sink.solr.morphline.MorphlineInterceptor$Builder",),
        None,
        advice="Use morph_json for JSON, or a python interceptor.",
    ),
)

SELECTORS = (
    FlumeType("selector", ("replicating", "org.apache.flume.channel.ReplicatingChannelSelector"), "replicating"),
    FlumeType("selector", ("multiplexing", "org.apache.flume.channel.MultiplexingChannelSelector"), "multiplexing"),
    FlumeType(
        "selector", ("load_balancing", "org.apache.flume.channel.LoadBalancingChannelSelector"), "load_balancing"
    ),
)

PROCESSORS = (
    FlumeType("processor", ("default", "org.apache.flume.sink.DefaultSinkProcessor"), "default"),
    FlumeType(
        "processor",
        ("failover", "org.apache.flume.sink.FailoverSinkProcessor"),
        "failover",
        rules={"maxpenalty": _to("max_penalty_ms", unit="ms")},
    ),
    FlumeType(
        "processor",
        ("load_balance", "org.apache.flume.sink.LoadBalancingSinkProcessor"),
        "load_balance",
        rules={
            "selector": _to("selector"),
            "selector.maxTimeOut": _to("max_timeout_ms", unit="ms"),
        },
    ),
)

ALL = (*SOURCES, *CHANNELS, *SINKS, *INTERCEPTORS, *SELECTORS, *PROCESSORS)


@cache
def find(kind: Kind, written: str) -> FlumeType | None:
    """The type that is meant: a short name in any case, or a class name exactly; None for a class of somebody's own."""
    for candidate in ALL:
        if candidate.kind == kind and (written in candidate.names or written.lower() == candidate.names[0]):
            return candidate
    return None


def snake_case(key: str) -> str:
    """`preserveExisting` as `preserve_existing`, `useIP` as `use_ip`, `keep-alive` as `keep_alive`."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", key)
    return re.sub(r"[^A-Za-z0-9]+", "_", parted).lower()
